"""Conventions that other hands break: headers, documentation, idioms and names that `consistency` leaves out."""

import re

from .base import Case, Kind, at_end, inserted, language_of
from .consistency import BODY, ENDINGS, a_file, body_of
from .habits import HEADER, PUBLIC, family
from .places import Lenses, functions

LENSES = Lenses("consistency")


def keeps(tree, language, good, bad, texts=None):
    """Whether at least 20 places, and 98 % of all, are written one way, counted with plain patterns."""
    texts = tree.lab.habits().texts_in(language) if texts is None else texts
    does, does_not = (sum(len(re.findall(pattern, text, re.M)) for text in texts) for pattern in (good, bad))
    return does >= 20 and does * 1000 >= (does + does_not) * 980


def header_of(text, language):
    """The first comment of a file, where it is a licence header."""
    lines = text.split("\n")
    if language == "python" or lines[0].startswith("//"):
        end = next((at for at, line in enumerate(lines) if not line.startswith(("#", "//"))), 0)
    else:
        end = next((at + 1 for at, line in enumerate(lines) if "*/" in line), 0)
    head = "\n".join(lines[:end])
    return head if HEADER.search(head) else ""


def with_header(change):
    """A new file whose header `change` makes another one; the twin has the header of its neighbours."""

    def make(tree, chance):
        habits = tree.lab.habits()
        for language in sorted(each for each in habits.languages() if habits.has_header(each)):
            directory = habits.busiest(ENDINGS[language])
            path = f"{directory}/{'LateItems' if language == 'java' else 'leftover'}.{ENDINGS[language]}".lstrip("/")
            heads = [header_of(text, language) for known, text in sorted(habits.texts.items()) if family(language_of(known)) == language]
            heads = [head for head in heads if head]
            if not heads:
                continue
            head = max(set(heads), key=heads.count)
            other = change(head)
            if other == head:
                continue
            body = "\n\n" + body_of(tree, path, BODY[language])
            return Case(path, other + body, head + body, range(1, other.count("\n") + 2), "a new file", language, tree.lab.conventions())
        return None

    return make


def other_licence(head):
    if "Apache" in head:
        return re.sub(r"Apache License, Version 2\.0|Apache License(?:, Version 2)?|Apache-2\.0", "MIT License", head)
    if "MIT" in head:
        return head.replace("MIT", "Apache-2.0")
    return re.sub(r"BSD[\w -]*", "GPL-3.0", head, count=1)


def other_holder(head):
    return re.sub(r"(?m)([Cc]opyright(?: \([cC]\))? ?[\d, -]*)[^\n]+$", r"\1Acme Holdings Inc.", head, count=1)


def header_cut(head):
    """The first line alone, without the licence."""
    lines = head.split("\n")
    keep = next(at for at, line in enumerate(lines) if HEADER.search(line)) + 1
    return "\n".join(lines[:keep] + ([lines[-1]] if lines[-1].strip() in ("*/", "-->") else [])) if len(lines) > keep + 2 else head


def header_gone(tree, chance):
    """A file loses its header; the twin's is older by a year."""
    habits = tree.lab.habits()
    paths = [path for path, text in habits.texts.items() if path in tree.paths and habits.has_header(family(language_of(path))) and header_of(text, family(language_of(path)))]
    paths = tree.unchanged(sorted(paths))
    if not paths:
        return None
    path = chance.choice(paths)
    text, language = tree.read(path), language_of(path)
    head = header_of(text, family(language))
    year = re.search(r"\b(19|20)\d\d\b", head)
    if not head or not year or "\r" in text:
        return None
    twin = text.replace(year[0], str(int(year[0]) - 1), 1)
    return Case(path, text[len(head) :].lstrip("\n"), twin, range(1, 4), "removed", language, tree.lab.conventions())


def documented_functions(language):
    return {"rust": (r"^\s*///[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*pub fn \w", r"(?<!\n)(?:^(?!\s*///|\s*#\[)[^\n]*)\n\s*pub fn \w"),
            "go": (r"^//[^\n]*\nfunc (?:\([^)]*\) )?[A-Z]", r"^(?!//)[^\n]*\nfunc (?:\([^)]*\) )?[A-Z]"),
            "python": (r'^def [a-z][^\n]*:\n\s+[rbu]?"""', r'^def [a-z][^\n]*:\n\s+(?![rbu]?""")\S')}[language]  # fmt: skip


def undocumented_function(tree, chance):
    """The comment of a public function goes from a file; in the twin it gets another word."""
    habits = tree.lab.habits()
    for language in [each for each in ("rust", "go", "python") if each in habits.languages()]:
        if not keeps(tree, language, *documented_functions(language)):
            continue
        path = a_file(tree, chance, [language])
        if path is None:
            continue
        text = tree.read(path)
        new = {"rust": ["", "pub fn late_total(value: u8) -> u8 {", "    value", "}"], "go": ["", "func LateTotal(value int) int {", "\treturn value", "}"],
               "python": ["", "", "def late_total(value):", "    return value"]}[language]  # fmt: skip
        good = {"rust": ["", "/// Gives the value back.", *new[1:]], "go": ["", "// LateTotal gives the value back.", *new[1:]],
                "python": [*new[:3], '    """Give the value back."""', *new[3:]]}[language]  # fmt: skip
        fault, first = at_end(text, language, new)
        return fault and Case(path, fault, at_end(text, language, good)[0], range(first, first + 4), "function", language, tree.lab.conventions())
    return None


def comment_for_docs(tree, chance):
    """What documents a type is a comment that no tool reads."""
    habits = tree.lab.habits()
    languages = [each for each in habits.languages() if each in ("rust", "javascript", "java", "python") and habits.documents(each)]
    path = a_file(tree, chance, languages)
    if path is None:
        return None
    text, language = tree.read(path), language_of(path)
    new = {"rust": (["", "// Holds a value.", "pub struct LateItem {", "    pub value: u8,", "}"], "/// Holds a value."),
           "javascript": (["", "/* Holds a value. */", "export class LateItem {", "  value = 1", "}"], "/** Holds a value. */"),
           "python": (["", "", "class LateItem:", "    # Holds a value.", "    value = 1"], '    """Holds a value."""'),
           "java": None}[family(language)]  # fmt: skip
    if new is None:
        return None
    lines, doc = new
    honest = [doc if "Holds" in line else line for line in lines]
    fault, first = at_end(text, language, lines)
    return fault and Case(path, fault, at_end(text, language, honest)[0], range(first, first + len(lines)), "a plain comment", language, tree.lab.conventions())


def doc_without_name(tree, chance):
    """Documentation in Go begins with the name that it documents."""
    if not keeps(tree, "go", r"^// (\w+) [^\n]*\nfunc (?:\([^)]*\) )?\1\(", r"^// (\w+)[^\n]*\nfunc (?:\([^)]*\) )?(?!\1\()[A-Z]\w*\("):
        return None
    path = a_file(tree, chance, ["go"])
    if path is None:
        return None
    text = tree.read(path)
    body = ["func LateTotal(value int) int {", "\treturn value", "}"]
    fault, first = at_end(text, "go", ["", "// Gives the value back.", *body])
    return Case(path, fault, at_end(text, "go", ["", "// LateTotal gives the value back.", *body])[0], [first + 1, first + 2], "doc without name", "go", tree.lab.conventions())


# For each kind: language, the usual form, the other form, the lines of the fault and of the twin.
IDIOMS = {
    "idiom-print": [
        ("python", r"\blog(?:ger|ging)?\.\w+\(", r"^\s+print\(", ["", "", "def late_total(value):", '    """Return the value."""', "    print(value)", "    return value"], "    logger.debug(value)"),
        ("rust", r"\b(?:log|tracing)?(?:::)?(?:debug|info|warn|error|trace)!\(", r"\bprintln!\(", ["", "fn late_total(value: u8) -> u8 {", '    println!("{value}");', "    value", "}"], '    debug!("{value}");'),
        ("java", r"\b(?:LOG|log|logger)\w*\.\w+\(", r"System\.out\.print", ["", "  static int lateTotal(int value) {", "    System.out.println(value);", "    return value;", "  }"], "    logger.debug(value);"),
    ],
    "idiom-require": [
        ("javascript", r"^import [^\n]* from ['\"]", r"\brequire\(['\"]", ["", "export function lateTotal(value) {", '  const path = require("node:path");', "  return path.join(value);", "}"], "  const path = value.path;"),
        ("javascript", r"^(?:const|var|let) [^\n]*= require\(['\"]", r"^import [^\n]* from ['\"]", ["", "import { join } from 'node:path';", "", "exports.late = join;"], "const { join } = require('node:path');"),
    ],
    "idiom-var": [
        ("javascript", r"^\s*(?:const|let) \w", r"^\s*var \w", ["", "export function lateTotal(value) {", "  var total = value;", "  return total;", "}"], "  const total = value;"),
        ("javascript", r"^\s*var \w", r"^\s*(?:const|let) \w", ["", "exports.lateTotal = function (value) {", "  let total = value;", "  return total;", "};"], "  var total = value;"),
    ],
    "idiom-equality": [
        ("javascript", r" [!=]==? null\b| [!=]== ", r" [!=]= (?!null|undefined)", ["", "export function lateIs(value) {", '  return value == "a";', "}"], '  return value === "a";'),
    ],
    "idiom-error-class": [
        ("javascript", r"\bthrow new \w+", r"\bthrow (?!new |err|error|e\b)", ["", "export function lateFail(value) {", "  throw value + ' is late';", "}"], "  throw new TypeError(value + ' is late');"),
        ("go", r"\bfmt\.Errorf\([^\n]*%w", r"\bfmt\.Errorf\([^\n]*%v\", err", ["", "// lateFail fails.", "func lateFail(err error) error {", '\treturn fmt.Errorf("late: %v", err)', "}"], '\treturn fmt.Errorf("late: %w", err)'),
        ("rust", r"\)\?[;.)]", r"\.unwrap\(\)", ["", "fn late_parse(value: &str) -> Result<u8, std::num::ParseIntError> {", "    Ok(value.parse::<u8>().unwrap())", "}"], "    Ok(value.parse::<u8>()?)"),
    ],
    "idiom-panic": [
        ("go", r"\breturn [^\n]*err\b", r"\bpanic\(", ["", "// lateOpen opens it.", "func lateOpen(name string) (*os.File, error) {", "\tfile, err := os.Open(name)", "\tif err != nil {", "\t\tpanic(err)", "\t}", "\treturn file, nil", "}"], "\t\treturn nil, err"),
    ],
    "idiom-annotations": [
        ("python", r"^\s*def \w+\([^)]*\) -> ", r"^\s*def \w+\([^)]*\):", ["", "", "def late_total(value):", '    """Return the value."""', "    return value"], "def late_total(value: int) -> int:"),
    ],
}  # fmt: skip


def idiom(rows):
    def make(tree, chance):
        habits = tree.lab.habits()
        for language, good, bad, lines, honest in rows:
            if language not in habits.languages() or not keeps(tree, language, good, bad):
                continue
            path = a_file(tree, chance, [language])
            if path is None:
                continue
            text, dialect = tree.read(path), language_of(path)
            at = max(range(len(lines)), key=lambda at: sum(word in honest for word in lines[at].split()) + (len(lines[at]) > 9) + bool(re.search(bad, lines[at], re.M)) * 9)
            twin_lines = [*lines[:at], honest, *lines[at + 1 :]]
            fault, first = at_end(text, dialect, lines)
            return fault and Case(path, fault, at_end(text, dialect, twin_lines)[0], [first + at], lines[at].strip(), dialect, tree.lab.conventions())
        return None

    return make


def constant_named(tree, chance):
    """Constants of a module are in capitals."""
    rows = {"python": (r"^[A-Z][A-Z0-9_]{2,} = [\d\"'(\[{]", r"^[a-z][A-Za-z0-9]*[A-Z]\w* = [\d\"'(\[{]", 'lateLimit = "10"', 'LATE_LIMIT = "10"'),
            "rust": (r"^(?:pub )?const [A-Z_]+:", r"^(?:pub )?const [a-z]\w*:", "pub const lateLimit: u8 = 10;", "pub const LATE_LIMIT: u8 = 10;"),
            "java": (r"static final \w+ [A-Z_]+ =", r"static final \w+ [a-z]\w* =", "  static final int lateLimit = 10;", "  static final int LATE_LIMIT = 10;")}  # fmt: skip
    for language, (good, bad, fault, twin) in rows.items():
        if language in tree.lab.habits().languages() and keeps(tree, language, good, bad):
            path = a_file(tree, chance, [language])
            text = path and tree.read(path)
            made, first = at_end(text, language, ["", fault]) if text else (None, 0)
            return made and Case(path, made, at_end(text, language, ["", twin])[0], [first + 1], fault, language, tree.lab.conventions())
    return None


ASSERTS = [
    ("python", r"^\s+assert ", r"self\.assert\w+\(", ["", "", "class TestLate(unittest.TestCase):", "    def test_late(self):", "        self.assertEqual(1 + 1, 2)"], ["", "", "class TestLate:", "    def test_late(self):", "        assert 1 + 1 == 2"]),
    ("javascript", r"\bexpect\(", r"\bassert(?:\.\w+)?\(", ["", 'it("is late", () => {', "  assert.equal(1 + 1, 2);", "});"], ["", 'it("is late", () => {', "  expect(1 + 1).toBe(2);", "});"]),
    ("go", r"\b(?:assert|require)\.\w+\(t", r"\bt\.(?:Fatal|Error)f?\(", ["", "func TestLate(t *testing.T) {", "\tif 1+1 != 2 {", '\t\tt.Fatal("late")', "\t}", "}"], ["", "func TestLate(t *testing.T) {", "\tassert.Equal(t, 2, 1+1)", "}"]),
    ("go", r"\bt\.(?:Fatal|Error)f?\(", r"\b(?:assert|require)\.\w+\(t", ["", "func TestLate(t *testing.T) {", "\tassert.Equal(t, 2, 1+1)", "}"], ["", "func TestLate(t *testing.T) {", "\tif 1+1 != 2 {", '\t\tt.Fatal("late")', "\t}", "}"]),
    ("java", r"\bassertThat\(", r"\bassertEquals\(", ["", "  @Test public void late() {", "    assertEquals(2, 1 + 1);", "  }"], ["", "  @Test public void late() {", "    assertThat(1 + 1).isEqualTo(2);", "  }"]),
]  # fmt: skip


def assertion_style(tree, chance):
    for language, good, bad, lines, honest in ASSERTS:
        paths = [path for path in tree.lab.habits().tests if path in tree.paths and family(language_of(path)) == language]
        texts = tree.read_all(paths) if paths else {}
        if not keeps(tree, language, good, bad, texts.values()):
            continue
        path = chance.choice(sorted(texts))
        fault, first = at_end(texts[path], language_of(path), lines)
        at = next(at for at, line in enumerate(lines) if re.search(bad, line))
        return fault and Case(path, fault, at_end(texts[path], language_of(path), honest)[0], [first + at, first + 1], lines[at].strip(), language, tree.lab.conventions())
    return None


def test_named(tree, chance):
    """A test whose name is written as no other is."""
    habits = tree.lab.habits()
    paths = [path for path in habits.tests if path.endswith(".py") and path in tree.paths]
    texts = tree.read_all(paths) if paths else {}
    if not texts or not keeps(tree, "python", r"^\s*def test_[a-z0-9_]+\(", r"^\s*def test\w*[A-Z]\w*\(", texts.values()):
        return None
    path = chance.choice(sorted(texts))
    fault, first = at_end(texts[path], "python", ["", "", "def test_lateTotal():", "    assert 1 + 1 == 2"])
    twin, _ = at_end(texts[path], "python", ["", "", "def test_late_total():", "    assert 1 + 1 == 2"])
    return fault and Case(path, fault, twin, [first + 2], "camel", "python", tree.lab.conventions())


def method_named(tree, chance):
    """A method in a real class, in another style than all functions."""
    rows = {"python": ("lateTotal", "late_total", "def {}(self):", "    return self"), "rust": ("lateTotal", "late_total", "fn {}(&self) -> u8 {{", "    1"),
            "javascript": ("late_total", "lateTotal", "{}(value) {{", "  return value")}  # fmt: skip
    habits = tree.lab.habits()
    good = {"python": r"^    def [a-z]+(?:_[a-z]+)+\(", "rust": r"^    (?:pub )?fn [a-z]+(?:_[a-z]+)+\(", "javascript": r"^  [a-z]+[A-Z]\w*\([^)]*\)[^;]*\{$"}
    bad = {"python": r"^    def [a-z]+[A-Z]\w*\(", "rust": r"^    (?:pub )?fn [a-z]+[A-Z]\w*\(", "javascript": r"^  [a-z]+_[a-z_]+\([^)]*\)[^;]*\{$"}
    for language in [each for each in rows if each in habits.languages() and keeps(tree, each, good[each], bad[each])]:
        paths = [path for path in tree.unchanged(sorted(set(habits.texts) & set(tree.paths))) if family(language_of(path)) == language]
        chance.shuffle(paths)
        for path in paths:
            text = tree.read(path)
            found = [each for each in functions(text, language_of(path)) if each.indent in ("    ", "  ") and "self" in text.split("\n")[each.head] + ("self" if language == "javascript" else "")]
            if not found or "\r" in text or language == "javascript" and not re.search(r"(?m)^(export )?class ", text):
                continue
            function = chance.choice(found)
            wrong, right, head, body = rows[language]
            tail = [] if language == "python" else [function.indent + "}"]
            lines = lambda name: ["", function.indent + head.format(name), function.indent + body, *tail]
            at = function.end + (0 if language == "python" else 1)
            return Case(path, inserted(text, at, lines(wrong)), inserted(text, at, lines(right)), [at + 2], wrong, language_of(path), tree.lab.conventions())
    return None


def sources_moved(tree, chance):
    """The directory of sources gets another name, and a new file in it breaks what names of files keep."""
    habits = tree.lab.habits()
    for language, ending in sorted(ENDINGS.items()):
        style = habits.file_style(ending) if language != "java" else None
        root = habits.busiest(ending).split("/")[0]
        moved = [path for path in tree.paths if root and path.startswith(root + "/")]
        if not style or not moved or len(moved) > 400:
            continue
        texts = tree.read_all(moved)
        moves = {path: None for path in texts} | {"sources" + path[len(root) :]: text for path, text in texts.items()}
        place = "sources" + habits.busiest(ending)[len(root) :]
        wrong, right = {"snake": ("LateItems", "late_items"), "kebab": ("LateItems", "late-items"), "lower": ("LateItems", "late"), "camel": ("late_items", "lateItems"), "pascal": ("late_items", "LateItems")}[style]
        name = lambda name: f"{place}/{name}.{ending}"
        body = body_of(tree, f"{habits.busiest(ending)}/x.{ending}", BODY[language])
        return Case(name(wrong), {**moves, name(wrong): body}, {**moves, name(right): body}, [1], f"{root} moved", language, tree.lab.conventions())
    return None


def documentation_dropped(tree, chance):
    """A public type loses its documentation; in the twin another word ends it."""
    habits = tree.lab.habits()
    paths = tree.unchanged(sorted(set(habits.texts) & set(tree.paths)))
    chance.shuffle(paths)
    for path in paths:
        language = family(language_of(path))
        if language == "python" or not habits.documents(language):
            continue
        text = tree.read(path)
        match = next((match for match in PUBLIC[language].finditer(text) if match[1] and match[1].startswith(("//", "    ///", "///"))), None)
        if match is None or "\r" in text:
            continue
        start = text.rindex("\n", 0, match.start()) + 1 if "\n" in text[: match.start()] else 0
        lines = text[:start].split("\n")
        while len(lines) > 1 and lines[-2].startswith("//"):
            lines.pop(-2)
        fault = "\n".join(lines) + text[match.start() + len(match[1]) :]
        twin = text[: match.start()] + match[1].rstrip("\n").rstrip(".") + " too.\n" + text[match.start() + len(match[1]) :]
        at = fault.count("\n", 0, len("\n".join(lines))) + 1
        return Case(path, fault, twin, [at, at + 1], match[2], language_of(path), tree.lab.conventions())
    return None


def kind(name, make):
    return Kind("convention", name, LENSES, make)


KINDS = [
    kind("header-other-licence", with_header(other_licence)),
    kind("header-other-holder", with_header(other_holder)),
    kind("header-cut-short", with_header(header_cut)),
    kind("header-removed", header_gone),
    kind("function-undocumented", undocumented_function),
    kind("documentation-removed", documentation_dropped),
    kind("comment-for-documentation", comment_for_docs),
    kind("documentation-without-name", doc_without_name),
    *(kind(name, idiom(rows)) for name, rows in IDIOMS.items()),
    kind("assertion-style", assertion_style),
    kind("constant-name", constant_named),
    kind("method-name", method_named),
    kind("test-name", test_named),
    kind("sources-moved", sources_moved),
]  # fmt: skip
