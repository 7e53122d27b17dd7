"""Tests that no longer say anything, and warnings that nobody sees."""

import re

from .base import Case, Kind, at_end, inserted, language_of, rules, some_file

HEADS = {
    "python": re.compile(r"(?m)^()(?:async )?def (test_\w+)\([^)\n]*\)[^\n]*:$"),
    "javascript": re.compile(r"(?m)^([ \t]*)(?:test|it)\((['\"`])([^'\"`\n]+)\2,[^\n]*\{$"),
    "go": re.compile(r"(?m)^()func (Test\w+)\(t \*testing\.T\) \{$"),
    "rust": re.compile(r"(?m)^()#\[test\]\nfn (\w+)\(\)[^\n]*\{$"),
    "java": re.compile(r"(?m)^([ \t]+)@Test\n\1public void (\w+)\(\)[^\n]*\{$"),
}
HEADS["typescript"] = HEADS["javascript"]
CLOSES = {"go": "}", "rust": "}", "java": "}", "javascript": "})", "typescript": "})"}


class Test:
    """A test in a file: its lines, counted from 0, the line of its head among them, and its indentation."""

    def __init__(self, start, head, end, indent):
        self.start, self.head, self.end, self.indent = start, head, end, indent


def tests_of(text, language):
    lines, found = text.split("\n"), []
    for match in HEADS[language].finditer(text):
        start, indent = text.count("\n", 0, match.start()), match[1]
        head = start + match[0].count("\n")
        end = head + 1
        if language == "python":
            while start > 0 and lines[start - 1].startswith("@"):
                start -= 1
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t", ")"))):
                end += 1
            while not lines[end - 1].strip():
                end -= 1
        else:
            while end < len(lines) and not lines[end].startswith(indent + CLOSES[language]):
                end += 1
            end += 1
        if end <= len(lines) and end - head > 2:
            found.append(Test(start, head, end, indent))
    return found


def a_test(tree, chance, languages=None, least=1):
    """A test in a file that the commit leaves alone."""
    paths = [path for path in tree.unchanged(tree.tests()) if not languages or language_of(path) in languages]
    chance.shuffle(paths)
    for path in paths[:40]:
        text = tree.read(path)
        found = tests_of(text, language_of(path))
        if len(found) >= least and "\r" not in text:
            return path, text, found
    return None, "", []


SKIPS = {
    "python": [("above", '@pytest.mark.skip(reason="flaky")'), ("above", "@pytest.mark.skip"), ("inside", '    pytest.skip("flaky")'),
               ("above", '@unittest.skip("flaky")')],
    "go": [("inside", '\tt.Skip("flaky")'), ("inside", "\tt.SkipNow()"), ("inside", '\tt.Skipf("flaky: %s", t.Name())')],
    "rust": [("above", "#[ignore]"), ("above", '#[ignore = "flaky"]')],
    "java": [("above", "@Disabled"), ("above", '@Ignore("flaky")'), ("above", '@Disabled("flaky")')],
}  # fmt: skip
NOTES = {"python": "# The usual case.", "go": "// The usual case.", "rust": "// The usual case.", "java": "// The usual case."}
HONEST_SKIPS = {"python": '@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")', "rust": "#[cfg(unix)]"}


def skipped(tree, chance):
    path, text, found = a_test(tree, chance)
    if path is None:
        return None
    test, language = chance.choice(found), language_of(path)
    if language in ("javascript", "typescript"):
        lines = text.split("\n")
        word = re.search(r"\b(test|it)\(", lines[test.head])[1]
        new = chance.choice([f"{word}.skip(", f"x{word}("])
        fault = "\n".join([*lines[: test.head], lines[test.head].replace(f"{word}(", new, 1), *lines[test.head + 1 :]])
        twin = inserted(text, test.head, [test.indent + "// The usual case."])
        return Case(path, fault, twin, [test.head + 1], new, language)
    place, line = chance.choice(SKIPS[language])
    at = test.start if place == "above" else test.head + 1
    honest = chance.choice([NOTES[language], HONEST_SKIPS.get(language, NOTES[language])])
    twin = inserted(text, test.start, [test.indent + honest])
    return Case(path, inserted(text, at, [test.indent + line]), twin, [at + 1], line.strip(), language)


def focused(tree, chance):
    path, text, found = a_test(tree, chance, {"javascript", "typescript"}, least=2)
    if path is None:
        return None
    test, lines = chance.choice(found), text.split("\n")
    word = re.search(r"\b(test|it)\(", lines[test.head])[1]
    new = chance.choice([f"{word}.only(", "fit("] if word == "it" else [f"{word}.only("])
    fault = "\n".join([*lines[: test.head], lines[test.head].replace(f"{word}(", new, 1), *lines[test.head + 1 :]])
    twin = inserted(text, test.head, [test.indent + "// The only case without options."])
    return Case(path, fault, twin, [test.head + 1], new, language_of(path))


def renamed(path):
    """Another name for a file of tests that is one as well."""
    directory, _, name = path.rpartition("/")
    for old, new in (("test_", "test_more_"), ("_test.", "_more_test."), (".test.", "-more.test."), (".spec.", "-more.spec."),
                     ("Test.java", "MoreTest.java"), (".rs", "_more.rs")):  # fmt: skip
        if old in name:
            return f"{directory}/{name.replace(old, new, 1)}" if directory else name.replace(old, new, 1)
    return None


def test_file_deleted(tree, chance):
    path, text, _ = a_test(tree, chance, least=2)
    if path is None or renamed(path) is None:
        return None
    new = renamed(path)
    name = lambda path: path.rsplit("/", 1)[-1].split(".")[0]
    moved = re.sub(rf"\b{name(path)}\b", name(new), text) if path.endswith(".java") else text
    return Case(path, {path: None}, {path: None, new: moved}, range(1, text.count("\n") + 2), "deleted", language_of(path))


def test_removed(tree, chance):
    path, text, found = a_test(tree, chance, least=3)
    if path is None:
        return None
    test, language = chance.choice(found), language_of(path)
    lines = text.split("\n")
    rest = lines[: test.start] + lines[test.end :]
    body = lines[test.start : test.end]
    after = next((each.end for each in found if each.start >= test.end and each.indent == test.indent), None)
    if after is None:
        # The last test: it moves up.
        before = next((each.start for each in found if each.indent == test.indent), test.start)
        moved = lines[:before] + [*body, ""] + lines[before : test.start] + lines[test.end :]
    else:
        moved = lines[: test.start] + lines[test.end : after] + ["", *body] + lines[after:]
    lines_gone = range(test.start + 1, test.end + 1)
    return Case(path, "\n".join(rest), "\n".join(moved), lines_gone, "removed", language)


AT_A_PLACE = {
    "python": ["value = load(1)  # noqa: F821", "value = load(1)  # type: ignore[name-defined]", "value = eval('1')  # nosec",
               "value = load(1)  # pylint: disable=undefined-variable"],
    "javascript": ["// eslint-disable-next-line no-undef", "// @ts-ignore", "// eslint-disable-next-line", "// @ts-expect-error later"],
    "go": ["var extraValue = load() //nolint:errcheck", "var extraValue = load() //nolint", "var extraValue = load() // #nosec G404"],
    "rust": ["#[allow(dead_code)]", "#[allow(clippy::unwrap_used)]", "#[expect(unused_variables)]"],
    "java": ['  @SuppressWarnings("unchecked")', '  @SuppressWarnings({"rawtypes", "unchecked"})'],
}  # fmt: skip
FOR_A_FILE = {
    "python": ["# ruff: noqa", "# mypy: ignore-errors", "# flake8: noqa"],
    "javascript": ["/* eslint-disable */", "// @ts-nocheck"], "go": [], "rust": ["#![allow(warnings)]", "#![allow(clippy::all)]"],
    "java": [],
}  # fmt: skip
BELOW = {"python": [], "javascript": ["export const extraValue = load(1)"], "go": [],
         "rust": ["fn extra_value() -> u8 {", "    1", "}"], "java": ["  static Object extraValue() {", "    return null;", "  }"]}  # fmt: skip
PLAIN = {"python": "value = 1  # the usual one", "javascript": "// The usual one.", "go": "var extraValue = 1 // the usual one",
         "rust": "// The usual one.", "java": "  // The usual one."}  # fmt: skip


def suppressed(tree, chance):
    path = some_file(tree, chance)
    if path is None:
        return None
    text, language = tree.read(path), language_of(path)
    family = language.replace("type", "java")
    if FOR_A_FILE[family] and chance.random() < 0.4 and not text.startswith("#!"):
        line = chance.choice(FOR_A_FILE[family])
        note = "# Of its own.\n" if family == "python" else "// Of its own.\n"
        return Case(path, f"{line}\n{text}", note + text, [1], line, language)
    line = chance.choice(AT_A_PLACE[family])
    if line.startswith("// @ts") and language == "javascript":
        line = "// eslint-disable-next-line no-undef"
    fault, first = at_end(text, language, ["", line, *BELOW[family]])
    twin, _ = at_end(text, language, ["", PLAIN[family], *BELOW[family]])
    return fault and Case(path, fault, twin, [first + 1], line.strip(), language)


SUPPRESSED = rules("suppression", "added", "unexplained", "whole-file")
KINDS = [
    Kind("gate", "test-skipped", rules("test-weakening", "test-skipped"), skipped),
    Kind("gate", "test-focused", rules("merge-leftover", "focused-test"), focused),
    Kind("gate", "test-file-deleted", rules("test-weakening", "test-deleted", "test-removed"), test_file_deleted),
    Kind("gate", "test-function-deleted", rules("test-weakening", "test-removed", "test-deleted"), test_removed),
    Kind("gate", "suppression-added", SUPPRESSED, suppressed),
]
