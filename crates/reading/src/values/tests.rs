//! Functions in several languages, in one form.

use super::*;

fn bodies(path: &str, text: &str) -> Vec<Body> {
    let whole = [Span { start: 0, end: text.len() }];
    let bodies = Body::parse_touching(Language::from_path(path).unwrap(), text, &whole).unwrap();
    bodies.into_iter().filter(|body| !body.is_module).collect()
}

/// Returns the uses of a name in the first function of a text.
fn uses(path: &str, text: &str, name: &str) -> String {
    let bodies = bodies(path, text);
    let events = bodies[0].events();
    let of_name = events.iter().filter(|event| event.name == name);
    let words = of_name.map(|event| {
        let act = match &event.act {
            Act::Called => "called".to_owned(),
            Act::Indexed => "indexed".to_owned(),
            Act::Member(name, is_called) => format!(".{name}{}", if *is_called { "()" } else { "" }),
            Act::OptionalMember => "?.".to_owned(),
            Act::Read => "read".to_owned(),
            Act::Written => "written".to_owned(),
        };
        format!(
            "{act}{}",
            if event.is_nested {
                " later"
            } else if event.is_certain {
                ""
            } else {
                " maybe"
            }
        )
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn uses_are_the_same_in_every_language() {
    let expected = "written, .a(), .b, indexed, read, read maybe, read later";
    for (path, text) in [
        ("a.py", "def f():\n    x = g()\n    x.a()\n    h(x.b, x[0], x, y and x)\n    k(lambda: x)\n"),
        ("a.ts", "function f() { const x = g(); x.a(); h(x.b, x[0], x, y && x); k(() => x); }"),
        ("a.go", "package a\nfunc f() { x := g(); x.a(); h(x.b, x[0], x, y && x); k(func() { z(x) }) }"),
        ("A.java", "class A { void f() { X x = g(); x.a(); h(x.b, x[0], x, y && x); k(() -> x); } }"),
        ("A.cs", "class A { void f() { var x = g(); x.a(); h(x.b, x[0], x, y && x); k(() => x); } }"),
        ("a.php", "<?php function f() { $x = g(); $x->a(); h($x->b, $x[0], $x, $y && $x); k(fn() => $x); }"),
        ("a.rb", "def f\n  x = g()\n  x.a()\n  h(x.b, x[0], x, y && x)\n  k { x }\nend\n"),
    ] {
        // A member of Ruby is a call.
        let found = uses(path, text, "x").replace(".b()", ".b");
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn an_operator_that_lets_null_through_is_no_use() {
    for (path, text) in [
        ("a.ts", "function f() { x?.a; }"),
        ("a.ts", "function f() { x?.a(); }"),
        ("a.php", "<?php function f() { $x?->a(); }"),
        ("a.php", "<?php function f() { $x?->a; }"),
        ("a.rb", "def f\n  x&.a()\nend\n"),
        ("A.cs", "class A { void f() { x?.a(); } }"),
    ] {
        assert_eq!(uses(path, text, "x"), "?.", "{text}");
    }
}

#[test]
fn conditions_about_null_are_read_in_every_language() {
    for (path, text, expected) in [
        ("a.py", "def f():\n    if x is None: g()\n", Some((true, true))),
        ("a.py", "def f():\n    if x is not None and y: g()\n", Some((false, false))),
        ("a.py", "def f():\n    if not x: g()\n", None),
        ("a.ts", "function f() { if (!x) g(); }", Some((true, true))),
        ("a.ts", "function f() { if (x !== undefined) { g() } }", Some((false, true))),
        ("a.ts", "function f() { if (x == null || y) { g() } }", None),
        ("a.go", "package a\nfunc f() { if x == nil { g() } }", Some((true, true))),
        ("A.java", "class A { void f() { if (null == x) g(); } }", Some((true, true))),
        ("A.cs", "class A { void f() { if (x is null) { g(); } } }", Some((true, true))),
        ("a.php", "<?php function f() { if (!$x) { g(); } }", Some((true, true))),
        ("a.rb", "def f\n  unless x.nil?\n    g\n  end\nend\n", Some((false, true))),
    ] {
        let bodies = bodies(path, text);
        let test = bodies[0].block.statements[0].null_test.clone();
        assert_eq!(test.map(|test| (test.is_null, test.is_whole)), expected, "{text}");
    }
}

#[test]
fn binds_say_what_they_take_and_from_where() {
    for (path, text, targets, callee) in [
        ("a.py", "def f():\n    x, y = await g.h(1)\n", "x,y", "g.h"),
        ("a.ts", "async function f() { const x = await g.h(1); }", "x", "g.h"),
        ("a.go", "package a\nfunc f() { x, _ := g.h(1) }", "x,_", "g.h"),
        ("A.java", "class A { void f() { X x = new H(1); } }", "x", "H"),
        ("A.cs", "class A { async void f() { var x = await g.h(1); } }", "x", "g.h"),
        ("a.php", "<?php function f() { $x = $g->h(1); }", "x", "g.h"),
        ("a.rb", "def f\n  x = g.h(1)\nend\n", "x", "g.h"),
        ("a.c", "void f(void) { char *x = h(1); }", "x", "h"),
    ] {
        let bodies = bodies(path, text);
        let bind = bodies[0].block.statements[0].bind.clone().unwrap();
        let names: Vec<&str> = bind.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!((names.join(",").as_str(), bind.callee.as_str()), (targets, callee), "{text}");
        assert!(!bind.is_compound, "{text}");
    }
}

#[test]
fn blocks_are_those_of_branches_loops_and_handlers() {
    for (path, text) in [
        (
            "a.py",
            "def f():\n    try:\n        a()\n    except E:\n        b()\n    for x in y:\n        if z:\n            c()\n        else:\n            d()\n",
        ),
        (
            "a.ts",
            "function f() { try { a() } catch (e) { b() } for (const x of y) { if (z) { c() } else { d() } } }",
        ),
        (
            "A.java",
            "class A { void f() { try { a(); } catch (E e) { b(); } for (X x : y) { if (z) { c(); } else { d(); } } } }",
        ),
        (
            "A.cs",
            "class A { void f() { try { a(); } catch (E e) { b(); } foreach (var x in y) { if (z) { c(); } else { d(); } } } }",
        ),
        (
            "a.rb",
            "def f\n  begin\n    a()\n  rescue E\n    b()\n  end\n  for x in y do\n    if z\n      c()\n    else\n      d()\n    end\n  end\nend\n",
        ),
        (
            "a.php",
            "<?php function f() { try { a(); } catch (E $e) { b(); } foreach ($y as $x) { if ($z) { c(); } else { d(); } } }",
        ),
    ] {
        let bodies = bodies(path, text);
        let blocks = bodies[0].blocks();
        let callees: Vec<String> = blocks
            .iter()
            .map(|(block, is_tried)| {
                let calls = block.statements.iter().flat_map(|statement| &statement.calls);
                let names: Vec<&str> = calls.map(|call| call.callee.as_str()).collect();
                format!("{}{}", names.join(","), if *is_tried { "!" } else { "" })
            })
            .collect();
        assert_eq!(callees, ["", "a!", "b!", "", "c", "d"], "{path}");
    }
}

#[test]
fn fates_say_what_becomes_of_a_result() {
    for (path, text) in [
        ("a.py", "async def f():\n    a()\n    x = await b()\n    c().d()\n    e()[1]\n    g(h())\n"),
        ("a.ts", "async function f() { a(); const x = await b(); (await c()).d(); e()[1]; g(h()); }"),
        ("a.go", "package a\nfunc f() { a(); x := b(); c().d(); y = e()[1]; g(h()) }"),
        ("A.java", "class A { void f() { a(); X x = b(); c().d(); y = e()[1]; g(h()); } }"),
        ("A.cs", "class A { async void f() { await a(); var x = b(); c().d(); y = e()[1]; g(h()); } }"),
        ("a.php", "<?php function f() { a(); $x = b(); c()->d(); e()[1]; g(h()); }"),
        ("a.rb", "def f\n  a()\n  x = b()\n  c().d()\n  e()[1]\n  g(h())\nend\n"),
    ] {
        let bodies = bodies(path, text);
        let fates: Vec<String> = bodies[0]
            .calls()
            .iter()
            .map(|call| format!("{} {:?}", call.callee.replace("(await", "").replace("())", "()"), call.fate))
            .collect();
        let expected = [
            "a Dropped",
            "b Bound",
            "c Member(\"d\", true)",
            "c().d Dropped",
            "e Indexed(\"1\")",
            "h Argument(\"g\")",
            "g Dropped",
        ];
        assert_eq!(fates, expected, "{path}");
    }
}
