//! Tests of what stands in a loop, and of loops that wait in turn.

use super::*;

fn waits_in_turn(language: Language, text: &str) -> Vec<String> {
    parse(language, text).waits_in_turn.iter().map(|span| span.of(text).to_owned()).collect()
}

/// Checks every place with a mark: `again` stands in a loop, `once` does not.
#[track_caller]
fn check_flow(language: Language, text: &str) {
    let outline = parse(language, text);
    for (mark, again) in [("again", true), ("once", false)] {
        for (at, _) in text.match_indices(mark) {
            assert_eq!(outline.repeats(at).is_some(), again, "{language:?}: {}", &text[at..]);
        }
    }
}

#[test]
fn what_stands_in_a_loop_runs_again_and_what_stands_in_a_function_when_it_is_called() {
    check_flow(
        Language::Python,
        "once()\nfor x in once:\n    again(x)\n    f = lambda: once\n    def g():\n        once\n        while once:\n            again\nelse:\n    once\n[again(x) for x in once]\n",
    );
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        check_flow(
            language,
            "for (const x of once) { again(x); f(() => once); f(() => { while (g) again }); }\nfor (let i = once; ; ) again;\ndo { again } while (g);\nfunction f() { once }\nclass A { b = once; c() { once } }\n",
        );
    }
    check_flow(
        Language::Rust,
        "fn f() { once; for x in once { again; g(|| once); LazyLock::new(|| { loop { again } }) } while g() { again } }",
    );
    check_flow(
        Language::Go,
        "package a\nfunc f() { once(); for _, x := range once { again(x); g(func() { once(); for { again() } }) } }\n",
    );
    check_flow(
        Language::Java,
        "class A { void f() { once(); for (X x : once) { again(); g(() -> once()); } while (true) { again(); new B() { void h() { once(); } }; } } }",
    );
}

#[test]
fn a_loop_waits_in_turn_where_no_turn_needs_another() {
    for text in
        ["for (const x of xs) { await f(x) }", "for (const x of xs) { const y = await f(x); ys.push(y) }"]
    {
        assert_eq!(waits_in_turn(Language::TypeScript, text), ["await f(x)"], "{text}");
    }
    for other in [
        "for (const x of xs) { if (await f(x)) break }",
        "for (const x of xs) { y = await f(x, y) }",
        "for (const x of xs) { n += await f(x) }",
        "for await (const x of xs) { await f(x) }",
        "for (let i = 0; i < n; i++) { await f(i) }",
        "while (g()) { await f() }",
        "for (const x of xs) { try { await f(x) } catch {} }",
        "for (const x of xs) { h(async () => { await f(x) }) }",
        "for (const x of xs) { f(x) }",
        "for (const x in xs) { await f(x) }",
    ] {
        assert_eq!(waits_in_turn(Language::TypeScript, other), [""; 0], "{other}");
    }
    let text = "async def a():\n    for x in xs:\n        await f(x)\n";
    assert_eq!(waits_in_turn(Language::Python, text), ["await f(x)"]);
    for other in [
        "async def a():\n    async for x in xs:\n        await f(x)\n",
        "async def a():\n    for x in xs:\n        n += await f(x)\n",
        "async def a():\n    for x in xs:\n        if await f(x):\n            return x\n",
        "async def a():\n    while True:\n        await f()\n",
    ] {
        assert_eq!(waits_in_turn(Language::Python, other), [""; 0], "{other}");
    }
}
