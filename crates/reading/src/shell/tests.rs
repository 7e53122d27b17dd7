//! Words, surroundings and fates of commands.

use super::*;

const ERREXIT: Options = Options { errexit: true, pipefail: false, nounset: false, noexec: false };
const STRICT: Options = Options { pipefail: true, ..ERREXIT };
const NONE: Options = Options { errexit: false, ..ERREXIT };

/// Renders each command as a line: assignments, effective words, and the loss of a failure with the text that causes
/// it.
fn rendered(text: &str, options: Options) -> Vec<String> {
    let script = Script::parse(text, options);
    let mut lines: Vec<String> = script.commands.iter().map(|command| line(command, text)).collect();
    lines.extend(script.broken.iter().map(|span| format!("broken {:?}", span.of(text))));
    lines
}

fn line(command: &Command, text: &str) -> String {
    let mut line = String::new();
    for assignment in &command.assignments {
        line.push_str(&format!("{}={} ", assignment.name, assignment.value.text()));
    }
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    line.push_str(&words.join(" "));
    for redirection in &command.redirections {
        line.push_str(&format!(" {}{}", redirection.operator, redirection.target.text()));
    }
    let mut line = line.trim().to_owned();
    if let Some(Lost { loss, span }) = command.lost {
        line.push_str(&format!(" | {loss:?} {}", span.of(text)));
    }
    line
}

#[track_caller]
fn check(text: &str, options: Options, expected: &[&str]) {
    assert_eq!(rendered(text, options), expected, "{text}");
}

#[test]
fn words_have_no_quotes_and_keep_their_expansions() {
    check("make  \"a b\"'c'\\d $'e\\tf' \"g\\\"h\"\n", NONE, &["make a bcd e\tf g\"h"]);
    check("a >x b 2>&1 c\nX=1 Y=$z d\n", ERREXIT, &["a b c >x >&1", "X=1 Y=$z d"]);
    check("X=1 Y=2\nmake test\n", ERREXIT, &["X=1", "Y=2", "make test"]);
    check("mo\\\nke \\\n  a\n", ERREXIT, &["moke a"]);
    let script = Script::parse("run \"a $b\" 'c $d' ${{ e }}f", NONE);
    let constant: Vec<Option<&str>> = script.commands[0].words.iter().map(Word::constant).collect();
    assert_eq!(constant, [Some("run"), None, Some("c $d"), None]);
}

#[test]
fn wrappers_stand_before_the_program() {
    for text in [
        "sudo -u root -E make test",
        "env -i X=1 Y=2 make test",
        "/usr/bin/time -f %e timeout -k 5 10m nice -n 5 make test",
        "command make test",
        "xargs -n 1 make test",
        "exec nohup make test",
    ] {
        check(text, ERREXIT, &["make test"]);
    }
    for text in ["command -v make", "exec 3<x", "time"] {
        assert_eq!(Script::parse(text, NONE).commands[0].program, 0, "{text}");
    }
}

#[test]
fn a_failure_that_ends_nothing_is_lost() {
    let cases: &[(&str, Options, &[&str])] = &[
        ("make", NONE, &["make"]),
        ("make\nexit 0", ERREXIT, &["make", "exit 0"]),
        ("make\nexit 0", NONE, &["make | Followed exit 0", "exit 0"]),
        ("make || true", ERREXIT, &["make | OrElse true", "true"]),
        ("make ||\n  :", ERREXIT, &["make | OrElse :", ":"]),
        ("make || { echo no; }", ERREXIT, &["make | OrElse { echo no; }", "echo no"]),
        ("make || exit 0", ERREXIT, &["make | OrElse exit 0", "exit 0"]),
        ("make || exit 1", ERREXIT, &["make", "exit 1"]),
        ("make || { echo no; exit 1; }", ERREXIT, &["make", "echo no", "exit 1"]),
        ("make || echo no && exit 1", ERREXIT, &["make", "echo no", "exit 1"]),
        ("make || make", ERREXIT, &["make | Fallback make", "make"]),
        ("make; true", NONE, &["make | Followed true", "true"]),
        ("make; true", ERREXIT, &["make", "true"]),
        ("make | tee x", ERREXIT, &["make | Pipe tee x", "tee x"]),
        ("make | tee x", STRICT, &["make", "tee x"]),
        ("set -o pipefail\nmake | tee x", ERREXIT, &["set -o pipefail", "make", "tee x"]),
        ("set +e\nmake\necho", ERREXIT, &["set +e", "make | ErrexitOff set +e", "echo"]),
        (
            "set +e\nmake\ns=$?\nset -e\nexit $s",
            ERREXIT,
            &["set +e", "make", "s=$? | ErrexitOff set +e", "set -e | ErrexitOff set +e", "exit $s"],
        ),
        ("if ! make; then :; fi", ERREXIT, &["make | Condition if ! make; then :; fi", ":"]),
        ("if ! make; then exit 1; fi", ERREXIT, &["make", "exit 1"]),
        ("if make; then :; else exit 1; fi", ERREXIT, &["make", ":", "exit 1"]),
        ("while ! make; do :; done", ERREXIT, &["make", ":"]),
        ("until make; do :; done", ERREXIT, &["make", ":"]),
        ("while make; do :; done", ERREXIT, &["make | LoopCondition while make; do :; done", ":"]),
        (
            "until make; do break; done",
            ERREXIT,
            &["make | LoopCondition until make; do break; done", "break"],
        ),
        ("make | tee x\nexit ${PIPESTATUS[0]}", ERREXIT, &["make", "tee x", "exit ${PIPESTATUS[0]}"]),
        ("make | tee x\n[ ${PIPESTATUS[0]} = 0 ]", ERREXIT, &["make", "tee x", "[ ${PIPESTATUS[0]} = 0 ]"]),
        (
            "make | tee x\necho ${PIPESTATUS[0]}",
            ERREXIT,
            &["make | Pipe tee x", "tee x", "echo ${PIPESTATUS[0]}"],
        ),
        (
            "make | tee x\ns=${PIPESTATUS[0]}\necho $s",
            ERREXIT,
            &["make | Pipe tee x", "tee x", "s=${PIPESTATUS[0]}", "echo $s"],
        ),
        ("make | tee x\necho $?", ERREXIT, &["make | Pipe tee x", "tee x", "echo $?"]),
        ("make &\necho", ERREXIT, &["make | Background make", "echo"]),
        ("make &\nwait $!", ERREXIT, &["make", "wait $!"]),
        ("! make", ERREXIT, &["make | Negated !"]),
        ("! make && exit 1", ERREXIT, &["make", "exit 1"]),
        ("make && echo\necho", ERREXIT, &["make | AndLeft echo", "echo", "echo"]),
        ("make && echo", ERREXIT, &["make", "echo"]),
        ("(make; echo) || true", ERREXIT, &["make | OrElse true", "echo | OrElse true", "true"]),
        ("(make; echo)", ERREXIT, &["make", "echo"]),
        ("echo $(make)", ERREXIT, &["echo $(make)", "make | Substitution $(make)"]),
        ("x=$(make)", ERREXIT, &["x=$(make)", "make"]),
        ("export x=$(make)", ERREXIT, &["x=$(make) export", "make | Substitution x=$(make)"]),
        ("f() { make; }\nf || true", ERREXIT, &["make | OrElse true", "f | OrElse true", "true"]),
        ("f() { make; }\nf", ERREXIT, &["make", "f"]),
        ("trap 'exit 0' EXIT\nmake", ERREXIT, &["trap exit 0 EXIT", "make | Trap trap 'exit 0' EXIT"]),
        ("for i in a; do make; done", NONE, &["make | Followed do make; done"]),
        (
            "cat <<E && a || true\n$(b)\nE\n",
            ERREXIT,
            &[
                "cat <<E | OrElse true",
                "b | Substitution <<E && a || true\n$(b)\nE",
                "a | OrElse true",
                "true",
            ],
        ),
        ("a && b >x || true", ERREXIT, &["a | OrElse true", "b >x | OrElse true", "true"]),
    ];
    for (text, options, expected) in cases {
        check(text, *options, expected);
    }
}

#[test]
fn scripts_inside_of_scripts_are_commands_at_their_places() {
    for text in [
        "bash -c 'make test'",
        "sudo sh -ec \"make test\"",
        "docker run --rm image bash -lc 'make test'",
        "eval make test",
        "bash <<'EOF'\nmake test\nEOF\n",
        "bash -s <<-EOF\n\tmake test\n\tEOF\n",
        "sh <<< 'make test'",
        "cat <<EOF | sh\nmake test\nEOF\n",
        "cat <<'EOF' | sudo bash -s\nmake test\nEOF\n",
        "echo 'make test' | sh",
        "printf '%s' 'make test' | bash",
        "cat > a.sh <<'EOF'\nmake test\nEOF\nsh a.sh",
        "cat <<EOF > a.sh\nmake test\nEOF\nchmod +x a.sh\n./a.sh",
        "tee a.sh <<EOF\nmake test\nEOF\n. ./a.sh",
        "echo 'make test' > a.sh && bash a.sh",
        "bash -c \"bash -c 'make test'\"",
        "bash -c \"bash -c \\\"make test\\\"\"",
    ] {
        let script = Script::parse(text, ERREXIT);
        let last = script.commands.last().unwrap();
        let words: Vec<&str> = last.effective().iter().map(|word| word.span.of(text)).collect();
        assert_eq!((words, last.interpreted_by.is_some()), (vec!["make", "test"], true), "{text}");
        assert!(last.lost.is_none(), "{text}");
        let mut around = script.surroundings(last).map(|(surrounding, _)| surrounding);
        assert!(around.any(|surrounding| *surrounding == Surrounding::Interpreted), "{text}");
    }
    check(
        "bash -c 'make; true' || :",
        ERREXIT,
        &["bash -c make; true | OrElse :", "make | Followed true", "true | OrElse :", ":"],
    );
    assert_eq!(Script::parse("bash build.sh <<< x", NONE).commands.len(), 1);
    for text in
        ["cat <<EOF | sort\nmake test\nEOF\n", "cat > a.sh <<EOF\nmake test\nEOF\nsh b.sh", "cat x | sh"]
    {
        let script = Script::parse(text, NONE);
        assert!(script.commands.iter().all(|command| command.interpreted_by.is_none()), "{text}");
    }
}

#[test]
fn commands_of_a_text_in_a_file_or_a_pipe_are_written() {
    for (text, is_written) in [
        ("sh -c 'make'", false),
        ("sh <<EOF\nmake\nEOF\n", false),
        ("sh <<< make", false),
        ("echo make | sh", true),
        ("echo make > a.sh\nsh a.sh", true),
        ("echo 'sh -c make' | sh", true),
    ] {
        let script = Script::parse(text, NONE);
        let last = script.commands.last().unwrap();
        assert_eq!((last.program(), last.is_written), (Some("make"), is_written), "{text}");
    }
}

#[test]
fn expressions_of_github_are_words() {
    check(
        "make ${{ inputs.a || 'b' }} && echo '${{ x }}'",
        ERREXIT,
        &["make ${{ inputs.a || 'b' }}", "echo ${{ x }}"],
    );
    let text = "if [ \"${{ a }}\" = b ]; then\n  ${{ c }} d\nfi\nfor i in ${{ e }}; do f; done\n";
    let script = Script::parse(text, ERREXIT);
    assert!(script.broken.is_empty());
    let command =
        script.commands.iter().find(|command| command.words[0].span.of(text) == "${{ c }}").unwrap();
    assert_eq!((command.program(), command.arguments()[0].text()), (None, "d"));
}

#[test]
fn a_command_knows_what_stands_around_it() {
    let text = "f() { if a; then (b | c) && d & fi; }";
    let script = Script::parse(text, NONE);
    let [in_if, in_pipeline, behind_and] = ["a", "b", "d"].map(|program| -> Vec<Surrounding> {
        let command = script.commands.iter().find(|command| command.program() == Some(program)).unwrap();
        script.surroundings(command).map(|(surrounding, _)| surrounding.clone()).collect()
    });
    let function = Surrounding::Function("f".to_owned());
    assert_eq!(in_if, [Surrounding::IfCondition, function.clone()]);
    assert_eq!(
        in_pipeline,
        [
            Surrounding::Pipeline { last: false },
            Surrounding::Subshell,
            Surrounding::AndLeft,
            Surrounding::Background,
            Surrounding::Branch,
            function,
        ]
    );
    assert_eq!(behind_and[0], Surrounding::AndRight);
}

#[test]
fn interpreters_that_are_no_shell_are_named_so() {
    for (command, expected) in [
        ("bash", Interpreter::Shell(STRICT)),
        ("sh", Interpreter::Shell(ERREXIT)),
        ("bash {0}", Interpreter::Shell(NONE)),
        ("bash --noprofile --norc -eo pipefail {0}", Interpreter::Shell(STRICT)),
        ("/usr/bin/env bash -e", Interpreter::Shell(ERREXIT)),
        ("pwsh", Interpreter::Other),
        ("powershell", Interpreter::Other),
        ("cmd", Interpreter::Other),
        ("python", Interpreter::Other),
        ("", Interpreter::Other),
    ] {
        assert_eq!(Interpreter::of_command(command), expected, "{command}");
    }
    assert_eq!(Interpreter::of_shebang("#!/bin/sh -e\nx"), Some(Interpreter::Shell(ERREXIT)));
    assert_eq!(Interpreter::of_shebang("#!/usr/bin/env bash\n"), Some(Interpreter::Shell(NONE)));
    assert_eq!(Interpreter::of_shebang("#!/usr/bin/python3\n"), Some(Interpreter::Other));
    assert_eq!(Interpreter::of_shebang("make\n"), None);
}

#[test]
fn what_cannot_be_parsed_is_a_broken_place() {
    assert!(!Script::parse("if a; then", NONE).broken.is_empty());
    assert!(!Script::parse("a )", NONE).broken.is_empty());
    assert_eq!(Script::parse(&"a".repeat(MAX_BYTES + 1), NONE).broken.len(), 1);
    for piece in ["(", "{ ", "$(", "if a; then ", "a && ", "a | ", "\"$(", "${x:-", "<<E "] {
        let script = Script::parse(&piece.repeat(10_000), NONE);
        assert!(!script.broken.is_empty(), "{piece}");
    }
}

mod random {
    use proptest::prelude::*;

    use super::*;

    const PIECES: &[&str] = &[
        "a",
        "é",
        " ",
        "\n",
        "\\",
        "\\\n",
        "'",
        "\"",
        "`",
        "$(",
        ")",
        "(",
        "{ ",
        "}",
        "${x",
        "${{ ",
        " }}",
        "$",
        "|",
        "||",
        "&&",
        "&",
        ";",
        "! ",
        "if ",
        "then ",
        "fi",
        "while ",
        "do ",
        "done",
        "<<E",
        "\nE\n",
        "<<-'E'",
        "<<<",
        ">x",
        "2>&1",
        "x=",
        "bash -c ",
        "eval ",
        "set +e\n",
        "$?",
        "case x in",
        ";;",
        "esac",
        "f() {",
        "#",
        "[[ ",
        " ]]",
        "((",
        "))",
        "$'\\n'",
        "true",
        "exit 0",
        "trap ",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn places_stand_inside_of_the_text(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
            let text = pieces.concat();
            let script = Script::parse(&text, ERREXIT);
            let mut spans = script.broken.clone();
            for command in &script.commands {
            spans.push(command.span);
            spans.extend(command.lost.map(|lost| lost.span));
            spans.extend(command.words.iter().flat_map(|word| word.expansions.iter().chain([&word.span])));
            spans.extend(script.surroundings(command).map(|(_, span)| span));
            }
            for span in spans {
            prop_assert!(text.get(span.start..span.end).is_some(), "{:?} {:?}", text, span);
            }
        }
    }
}
