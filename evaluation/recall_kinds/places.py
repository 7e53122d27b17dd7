"""Places in real files for faults that are more than a line at the end: functions, tests, and code in all languages."""

import pathlib
import re

from .base import LANGUAGES, NOT_PRODUCT, Case, Kind

ENDINGS = {**LANGUAGES, "cjs": "javascript", "jsx": "javascript", "cs": "csharp", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "h": "cpp",
           "rb": "ruby", "php": "php", "kt": "kotlin"}  # fmt: skip
TESTS = re.compile(
    r"(^|/)(test_[^/]*|[^/]*_test)\.py$|\.(test|spec)\.[mc]?[jt]sx?$|_test\.go$|Tests?\.(java|kt|php)$|(Tests?|Specs)\.cs$"
    r"|(^|/)tests/[^/]*\.rs$|(_test|_spec|/spec_\w+|/test_\w+)\.rb$|(^|/)tests?/[\w./-]+\.[mc]?[jt]s$"
)
SAMPLES = re.compile(r"(^|/)([Ss]amples?|[Ss]nippets|metrics)/")
LEFT_OUT = re.compile(r"(^|/)(fixtures?|__fixtures__|testdata|vendor|node_modules|playgrounds?|bench\w*|examples?|templates?|helpers?|support)(/|$)")


class Lenses:
    """All rules of some lenses."""

    def __init__(self, *names):
        self.names = names

    def __contains__(self, rule):
        return rule.split("/")[0] in self.names


def dialect_of(path):
    return ENDINGS.get(path.rsplit(".", 1)[-1])


def fits(dialect, wanted):
    """Returns whether code of one language may stand in a file of another."""
    return dialect == wanted or dialect == "typescript" and wanted == "javascript"


def product(tree, wanted):
    paths = [path for path in tree.paths if dialect_of(path) and not NOT_PRODUCT.search(path) and not TESTS.search(path)]
    paths = [path for path in paths if not re.search(r"[Tt]ests?/", path) and not SAMPLES.search(path)]
    return [path for path in paths if any(fits(dialect_of(path), each) for each in wanted)]


def tests(tree, wanted):
    return [path for path in tree.paths if TESTS.search(path) and not LEFT_OUT.search(path)
            and any(fits(dialect_of(path), each) for each in wanted)]  # fmt: skip


def indented(lines, indent):
    return [indent + line if line else line for line in lines]


def appended(text, dialect, lines):
    """A text with functions at its end, inside the last type where functions stand in types, and the first line's number."""
    body, tail = text.rstrip(), []
    if "\r" in text:
        return None, 0
    if dialect in ("java", "csharp", "php"):
        depth = 2 if dialect == "csharp" and re.search(r"(?m)^namespace [\w.]+\s*\{?\s*$", body) else 1
        if dialect == "php" and not re.search(r"(?m)^(final |abstract |readonly )*(class|trait) ", body):
            depth = 0
        for _ in range(depth):
            if not body.endswith("}"):
                return None, 0
            at = body.rindex("\n") if "\n" in body else 0
            tail.insert(0, body[at + 1 :])
            body = body[:at].rstrip()
        lines = indented(lines, "    " * depth if depth else "")
    gap = ["", ""] if dialect == "python" else [""]
    return "\n".join([body, *gap, *lines, *tail]) + "\n", body.count("\n") + 2 + len(gap)


IMPORTED = {"go": r"(?m)^package \w+$", "java": r"(?m)^package [\w.]+;$", "kotlin": r"(?m)^package [\w.]+$", "php": r"(?m)^namespace [\w\\]+;$"}


def with_imports(text, dialect, lines):
    """A text with the imports that a page asks for, behind the line of its package, and their number of lines."""
    if not lines:
        return text, 0
    package = re.search(IMPORTED[dialect], text) if dialect in IMPORTED else None
    if package is None:
        return "\n".join([*lines, text]), len(lines)
    return text[: package.end()] + "\n\n" + "\n".join(lines) + text[package.end() :], len(lines) + 1


def planted(variants):
    """A function that makes cases of some variants: language, code with the fault, code without it, and code before both."""

    def make(tree, chance):
        for language, fault, twin, base in chance.sample(variants, len(variants)):
            paths = product(tree, {language})
            changed = set(tree.changed())
            paths = [path for path in paths if path in changed] or paths
            if not paths:
                continue
            path = chance.choice(paths)
            dialect = dialect_of(path)
            text, _ = with_imports(tree.read(path), dialect, [line[2:] for line in fault if line.startswith("^ ")])
            code = [line for line in fault if not line.startswith("^ ")]
            bad, first = appended(text, dialect, [line.replace("»", "") for line in code])
            good, _ = appended(text, dialect, twin)
            if bad is not None:
                lines = [first + at for at, line in enumerate(code) if "»" in line]
                under = {path: appended(text, dialect, base)[0]} if base else None
                return Case(path, bad, good, lines, " ".join(line.strip() for line in code if "»" in line)[:90], dialect, under)
        return None

    return make


def pages(name):
    """The pages of a class."""
    here = pathlib.Path(__file__).parent / "pages"
    return "".join(path.read_text(encoding="utf-8") for path in sorted(here.glob(f"{name}-*.txt")))


def written(group, rules, page):
    """The kinds of a page: `## name`, below it `@ language`, the fault with `»` at its lines, `---` and the twin. What stands
    above `===` is laid under both; a line behind `^` is an import that both get."""
    kinds = []
    for part in re.split(r"(?m)^## ", page)[1:]:
        name, _, body = part.partition("\n")
        variants = []
        for block in re.split(r"(?m)^@ ", body)[1:]:
            language, _, code = block.partition("\n")
            sides, _, twin = code.rstrip("\n").partition("\n---\n")
            base, _, fault = sides.rpartition("\n===\n")
            assert "»" in fault and twin and "»" not in twin, (name, language)
            assert language in set(ENDINGS.values()), language
            variants.append((language, fault.split("\n"), twin.split("\n"), base.split("\n") if base else []))
        kinds.append(Kind(group, name, rules, planted(variants)))
    return kinds


HEADS = {
    "python": re.compile(r"^([ \t]*)(?:async )?def (\w+)\([^\n]*\)[^\n]*:$"),
    "javascript": re.compile(r"^([ \t]*)(?:export )?(?:default )?(?:async )?(?:function )?([A-Za-z_]\w*)\([^()\n]*\)[^\n=(]*\{$"),
    "go": re.compile(r"^()func (?:\([^)]*\) )?(\w+)\([^\n]*\{$"),
    "rust": re.compile(r"^([ ]*)(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)[^\n]*\{$"),
    "java": re.compile(r"^([ ]+)(?:public |private |protected |static |final )+(?!class|new)[\w<>\[\], ?]+ (\w+)\([^\n]*\{$"),
    "csharp": re.compile(r"^([ ]+)(?:public |private |protected |internal |static |override |async )+(?!class|new)[\w<>\[\], ?]+ (\w+)\([^\n]*\)$"),
    "php": re.compile(r"^([ ]*)(?:public |private |protected |static |final )*function (\w+)\([^\n]*\)[^\n]*$"),
    "ruby": re.compile(r"^([ ]*)def (?:self\.)?(\w+[?!]?)(?:\([^\n]*\))?$"),
    "kotlin": re.compile(r"^([ ]*)(?:public |private |internal |override |inline )*fun (?:<[^>]*> )?(?:\w+\.)?(\w+)\([^\n]*\{$"),
    "cpp": re.compile(r"^([ ]*)(?:static |inline |constexpr )*[\w:<>&*]+ (\w+)\([^;\n]*\)[^;\n]*$"),
}
HEADS["typescript"] = HEADS["javascript"]
NO_NAMES = {"if", "for", "while", "switch", "catch", "constructor", "describe", "it", "test", "with", "return", "super"}


class Function:
    """A function in a file: lines from 0, the first and last line of its body, its indentation."""

    def __init__(self, name, head, start, end, indent, step):
        self.name, self.head, self.start, self.end, self.indent, self.step = name, head, start, end, indent, step

    def replaced(self, text, lines):
        old = text.split("\n")
        return "\n".join(old[: self.start] + indented(lines, self.indent + self.step) + old[self.end :])

    def body(self, text):
        return text.split("\n")[self.start : self.end]


def functions(text, dialect, least=3):
    """The functions of a file whose bodies have at least some lines, innermost ones too."""
    lines, found = text.split("\n"), []
    for at, line in enumerate(lines):
        match = HEADS[dialect].match(line)
        if not match or match[2] in NO_NAMES:
            continue
        indent, start = match[1], at + 1
        if dialect in ("csharp", "php", "cpp") and not line.endswith("{"):
            if lines[at + 1 : at + 2] != [indent + "{"]:
                continue
            start += 1
        end = start
        if dialect == "python":
            while end < len(lines) and (not lines[end].strip() or re.match(indent + r"[ \t]", lines[end])):
                end += 1
            while end > start and not lines[end - 1].strip():
                end -= 1
        else:
            close = indent + ("end" if dialect == "ruby" else "}")
            while end < len(lines) and lines[end] != close:
                end += 1
            if end == len(lines):
                continue
        body = [each for each in lines[start:end] if each.strip()]
        if len(body) >= least and re.match(r"[ \t]", body[0]):
            step = re.match(r"[ \t]*", body[0])[0].removeprefix(indent) or "    "
            found.append(Function(match[2], at, start, end, indent, step))
    return found


def a_function(tree, chance, wanted, suits, least=3):
    """A function of product code that suits, in a file that the commit leaves alone."""
    paths = tree.unchanged(product(tree, wanted))
    chance.shuffle(paths)
    for path in paths[:30]:
        text, dialect = tree.read(path), dialect_of(path)
        if "\r" in text:
            continue
        here = [each for each in functions(text, dialect, least) if suits(text.split("\n")[each.head], "\n".join(each.body(text)), dialect)]
        if here:
            return path, text, dialect, chance.choice(here)
    return None


TEST_HEADS = {
    "python": re.compile(r"^([ \t]*)(?:async )?def (test_\w+)\([^\n]*:$"),
    "javascript": re.compile(r"^([ \t]*)(?:test|it)\((['\"`][^\n]*['\"`]),[^\n]*\{$"),
    "go": re.compile(r"^()func (Test\w+)\(t \*testing\.T\) \{$"),
    "rust": re.compile(r"^([ ]*)(?:async )?fn (\w+)\(\)[^\n]*\{$"),
    "java": re.compile(r"^([ ]+)public void (\w+)\(\)[^\n]*\{$"),
    "csharp": re.compile(r"^([ ]+)public (?:async )?(?:void|Task) (\w+)\(\)$"),
    "php": re.compile(r"^([ ]+)public function (test\w+)\(\)[^\n]*$"),
    "ruby": re.compile(r"^([ ]+)(?:it|specify|test) ([\"'][^\n]*[\"']) do$"),
    "kotlin": re.compile(r"^([ ]+)@Test fun (\w+)\(\) \{$"),
}
TEST_HEADS["typescript"] = TEST_HEADS["javascript"]
ASSERTION = {
    "python": re.compile(r"^(\s+)assert ([^#\n]+?) == ([^#\n]+)$"),
    "javascript": re.compile(r"^(\s+)expect\((.+)\)\.(?:toBe|toEqual|toStrictEqual)\((.+)\);?$"),
    "go": re.compile(r"^(\s+)(?:assert|require)\.Equal\(t, ([^,]+), ([^,]+)\)$"),
    "rust": re.compile(r"^(\s+)assert_eq!\(([^,\n]+), ([^,\n]+)\);$"),
    "java": re.compile(r"^(\s+)assert(?:Equals|That)\(([^,\n]+)(?:, |\)\.isEqualTo\()([^,\n]+)\);$"),
    "csharp": re.compile(r"^(\s+)([\w.]+)\.ShouldBe\(([^\n]+)\);$"),
    "php": re.compile(r"^(\s+)self::assertSame\(([^,\n]+), ([^,\n]+)\);$"),
    "ruby": re.compile(r"^(\s+)([^\n]+)\.must_equal ([^\n]+)$"),
}
ASSERTION["typescript"] = ASSERTION["javascript"]


class Test(Function):
    """A test, and its assertions of equality that stand on one line: the line from 0, and the match."""

    def __init__(self, *words, asserts):
        super().__init__(*words)
        self.asserts = asserts


def a_test(tree, chance, wanted, asserts=1):
    """A test with assertions in a file that the commit leaves alone."""
    paths = tree.unchanged(tests(tree, wanted & set(ASSERTION)))
    chance.shuffle(paths)
    for path in paths[:30]:
        text, dialect = tree.read(path), dialect_of(path)
        lines, found = text.split("\n"), []
        if "\r" in text:
            continue
        for at, line in enumerate(lines):
            head = TEST_HEADS[dialect].match(line)
            if not head or dialect == "rust" and "#[test]" not in "".join(lines[max(at - 3, 0) : at]):
                continue
            start = at + (2 if dialect in ("csharp", "php") else 1)
            end = start
            while end < len(lines) and (not lines[end].strip() or re.match(head[1] + r"[ \t]", lines[end])):
                end += 1
            while end > start and not lines[end - 1].strip():
                end -= 1
            here = [(each, ASSERTION[dialect].match(lines[each])) for each in range(start, end)]
            here = [(each, match) for each, match in here if match and balanced(match[2]) and balanced(match[3])]
            if len(here) >= asserts and end > start:
                step = re.match(r"[ \t]*", lines[start])[0].removeprefix(head[1]) or "    "
                found.append(Test(head[2], at, start, end, head[1], step, asserts=here))
        if found:
            return path, text, dialect, chance.choice(found)
    return None


def balanced(text):
    return all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}")) and not text.endswith(("(", "["))


def with_line(text, at, new):
    """A text with the line `at`, from 0, replaced by others."""
    lines = text.split("\n")
    return "\n".join(lines[:at] + new + lines[at + 1 :])
