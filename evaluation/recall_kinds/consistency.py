"""What a repository does one way everywhere, done another way; only where a plain count says that it does."""

from .base import Case, Kind, at_end, language_of, rules
from .habits import FUNCTIONS, TYPES, family

WORDS = [("load", "late", "item"), ("merge", "old", "parts"), ("find", "next", "entry"), ("count", "open", "files")]
ENDINGS = {"python": "py", "javascript": "ts", "go": "go", "rust": "rs", "java": "java"}
FUNCTION = {
    "python": ["", "", "def {}(value):", '    """Give the value back."""', "    return value"],
    "javascript": ["", "/** Gives the value back. */", "export function {}(value) {{", "  return value", "}}"],
    "typescript": ["", "/** Gives the value back. */", "export function {}(value: string): string {{", "  return value", "}}"],
    "go": ["", "// {0} gives the value back.", "func {0}(value string) string {{", "\treturn value", "}}"],
    "rust": ["", "/// Gives the value back.", "pub fn {}(value: u8) -> u8 {{", "    value", "}}"],
    "java": ["", "  /** Gives the value back. */", "  static String {}(String value) {{", "    return value;", "  }}"],
}
TYPE = {
    "python": ["", "", "class {}:", '    """Holds a value."""', "", "    value = 1"],
    "javascript": ["", "/** Holds a value. */", "export class {} {{", "  value = 1", "}}"],
    "typescript": ["", "/** Holds a value. */", "export interface {} {{", "  value: string", "}}"],
    "go": ["", "// {0} holds a value.", "type {0} struct {{", "\tvalue string", "}}"],
    "rust": ["", "/// Holds a value.", "pub struct {} {{", "    pub value: u8,", "}}"],
    "java": ["", "  /** Holds a value. */", "  static class {} {{", "    String value;", "  }}"],
}
OTHERS = {"snake": ["camel", "pascal"], "camel": ["snake", "pascal"], "pascal": ["snake", "camel"], "mixed": ["snake"],
          "kebab": ["camel", "snake", "pascal"], "lower": ["camel", "pascal"]}  # fmt: skip


def written(words, style):
    capitals = [word.capitalize() for word in words]
    return {"snake": "_".join(words), "kebab": "-".join(words), "camel": words[0] + "".join(capitals[1:]), "pascal": "".join(capitals),
            "mixed": words[0] + "".join(capitals[1:]), "lower": "".join(words)}[style]  # fmt: skip


def a_file(tree, chance, languages):
    """A file of product code that defines something, in one of some languages."""
    habits = tree.lab.habits()
    paths = [path for path in tree.product() if family(language_of(path)) in languages and path in habits.texts]
    paths = [path for path in paths if len(FUNCTIONS[family(language_of(path))].findall(habits.texts[path])) > 1]
    return chance.choice(paths) if paths else None


def named(patterns, lines_of):
    """A kind that gives something a name of another style."""

    def make(tree, chance):
        under, habits = tree.lab.conventions(), tree.lab.habits()
        style_of = {language: habits.style(patterns, language) for language in habits.languages() if language in patterns}
        path = a_file(tree, chance, [language for language, style in style_of.items() if style])
        if path is None:
            return None
        text, language = tree.read(path), language_of(path)
        style, words = style_of[family(language)], chance.choice(WORDS)
        # A class in Python that begins small is one of its own; a function that begins with a capital is one as well.
        other = chance.choice(OTHERS[style])
        write = lambda style: [line.format(written(words, style)) for line in lines_of[language]]
        fault, first = at_end(text, language, write(other))
        twin, _ = at_end(text, language, write(style))
        place = next(at for at, line in enumerate(write(other)) if written(words, other) in line and not line.startswith("//"))
        return fault and Case(path, fault, twin, [first + place], f"{other} for {style}", language, under)

    return make


def new_file(tree, path, body):
    """A new file that begins as its neighbours do."""
    language, habits = language_of(path), tree.lab.habits()
    header = ""
    if habits.has_header(family(language)):
        text = next(text for text in habits.texts_in(family(language)) if "opyright" in text or "icensed" in text)
        lines = text.split("\n")
        end = next((at + 1 for at, line in enumerate(lines) if "*/" in line), None) if language not in ("python",) else None
        if end is None or not lines[0].startswith("/*"):
            end = next(at for at, line in enumerate(lines) if not line.startswith(("#", "//")))
        header = "\n".join(lines[:end]) + "\n\n"
    return header + body


BODY = {
    "python": '"""Holds a value."""\n\n\ndef total(value):\n    """Give the value back."""\n    return value\n',
    "javascript": "/** Gives the value back. */\nexport function total(value: string): string {\n  return value\n}\n",
    "go": "package {package}\n\n// total gives the value back.\nfunc total(value string) string {\n\treturn value\n}\n",
    "rust": "//! Holds a value.\n\n/// Gives the value back.\npub fn total(value: u8) -> u8 {\n    value\n}\n",
    "java": "package {package};\n\n/** Holds a value. */\npublic class {name} {\n  static String total(String value) {\n    return value;\n  }\n}\n",
}


def body_of(tree, path, text):
    """The text with the package that the neighbours of a file are in."""
    directory = path.rpartition("/")[0]
    package = "main"
    for neighbour, known in tree.lab.habits().texts.items():
        if neighbour.rpartition("/")[0] == directory and neighbour.endswith(path[path.rindex(".") :]):
            line = next((line for line in known.split("\n") if line.startswith("package ")), "package main")
            package = line.removeprefix("package ").rstrip(";").strip()
    name = path.rpartition("/")[2].split(".")[0]
    return text.replace("{package}", package).replace("{name}", name)


def file_named(tree, chance):
    habits = tree.lab.habits()
    choices = []
    for language, ending in ENDINGS.items():
        style = habits.file_style(ending) if language != "java" else None
        if style:
            choices.append((language, ending, style))
    if not choices:
        return None
    language, ending, style = chance.choice(choices)
    words = chance.choice([("late", "items"), ("old", "parts"), ("next", "entry")])
    other = chance.choice(OTHERS[style])
    at = lambda style: f"{habits.busiest(ending)}/{written(words, style)}.{ending}".lstrip("/")
    body = new_file(tree, at(style), body_of(tree, at(style), BODY[language]))
    return Case(at(other), body, {at(style): body}, [1], f"{other} for {style}", language, tree.lab.conventions())


TESTS = {
    "python": ("test_{}.py", "def test_total():\n    assert sum([1, 2]) == 3\n"),
    "javascript": ("{}.test.ts", 'import { expect, test } from "vitest"\n\ntest("adds", () => {\n  expect(1 + 2).toBe(3)\n})\n'),
    "go": ("{}_test.go", 'package {package}\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\tif 1+2 != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n'),
    "java": ("{}Test.java", "package {package};\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\n"
             "public class {name} {\n  @Test\n  public void testTotal() {\n    assertEquals(3, 1 + 2);\n  }\n}\n"),
}  # fmt: skip


def test_misplaced(tree, chance):
    habits = tree.lab.habits()
    places = {language: habits.test_place(language) for language in habits.languages() if language in TESTS}
    choices = sorted(language for language, place in places.items() if place)
    if not choices:
        return None
    language = chance.choice(choices)
    place, (form, text) = places[language], TESTS[language]
    name = form.format("LateItems" if language == "java" else "late")
    here = habits.busiest(ENDINGS[language])
    if not here and place != "beside":
        return None
    theirs = sorted({path.rpartition("/")[0] for path in habits.tests if family(language_of(path)) == language
                     and (place == "beside" or place in path.split("/"))})  # fmt: skip
    right = chance.choice(theirs)
    wrong = here if place != "beside" else f"{right}/tests".lstrip("/")
    put = lambda directory: {f"{directory}/{name}".lstrip("/"): new_file(tree, f"{directory}/{name}", body_of(tree, f"{here}/{name}", text))}
    return Case(next(iter(put(wrong))), put(wrong), put(right), [1], f"not in {place}", language, tree.lab.conventions())


def unlicensed(tree, chance):
    habits = tree.lab.habits()
    choices = sorted(language for language in habits.languages() if habits.has_header(language))
    if not choices:
        return None
    language = chance.choice(choices)
    ending = ENDINGS[language]
    directory = habits.busiest(ending)
    path = f"{directory}/{'LateItems' if language == 'java' else 'leftover'}.{ending}".lstrip("/")
    body = body_of(tree, path, BODY[language])
    return Case(path, body, new_file(tree, path, body), [1], "a new file", language, tree.lab.conventions())


UNDOCUMENTED = {
    "python": (["", "", "class {}:", "    value = 1"], 2), "go": (["", "func {}(value string) string {{", "\treturn value", "}}"], 1),
    "javascript": (["", "export class {} {{", "  value = 1", "}}"], 1), "typescript": (["", "export class {} {{", "  value = 1", "}}"], 1),
    "rust": (["", "pub struct {} {{", "    pub value: u8,", "}}"], 1),
}  # fmt: skip


def undocumented(tree, chance):
    habits = tree.lab.habits()
    path = a_file(tree, chance, [language for language in habits.languages() if habits.documents(language)])
    if path is None or language_of(path) not in UNDOCUMENTED:
        return None
    text, language = tree.read(path), language_of(path)
    lines, place = UNDOCUMENTED[language]
    name = written(chance.choice(WORDS), "pascal")
    honest = FUNCTION if language == "go" else TYPE
    fault, first = at_end(text, language, [line.format(name) for line in lines])
    twin, _ = at_end(text, language, [line.format(name) for line in honest[language]])
    return fault and Case(path, fault, twin, [first + place], "public", language, tree.lab.conventions())


# For each language: functions that let an error go, with the lines of the fault, and one that does not.
DROPPED = {
    "python": ([["try:", "    return value()", "»except:", "    return None"], ["try:", "    return value()", "»except Exception:", "    pass"]],
               ["try:", "    return value()", "except KeyError as error:", "    raise ValueError(value) from error"]),
    "javascript": ([['»throw "late"'], ["»throw `late ${value}`"]], ['throw new Error("late")']),
    "go": ([["_, err := os.Open(value)", "»_ = err"]], ["if _, err := os.Open(value); err != nil {", "\tpanic(err)", "}"]),
    "rust": ([["»value.parse::<u8>().unwrap();"]], ["value.parse::<u8>()?;"]),
    "java": ([["try {", "  value.length();", "»} catch (RuntimeException error) {", "}"],
              ["try {", "  value.length();", "»} catch (RuntimeException error) {", "  error.printStackTrace();", "}"]],
             ["try {", "  value.length();", "} catch (RuntimeException error) {", "  throw new IllegalStateException(error);", "}"]),
}  # fmt: skip
FRAMES = {
    "python": (["", "", "def late(value):", '    """Run it."""'], "    ", []),
    "javascript": (["", "/** Runs it. */", "export function late(value) {"], "  ", ["}"]),
    "typescript": (["", "/** Runs it. */", "export function late(value: string): void {"], "  ", ["}"]),
    "go": (["", "// late runs it.", "func late(value string) {"], "\t", ["}"]),
    "rust": (["", "fn late(value: &str) -> anyhow::Result<()> {"], "    ", ["    Ok(())", "}"]),
    "java": (["", "  private static void late(String value) {"], "    ", ["  }"]),
}


def error_dropped(tree, chance):
    habits = tree.lab.habits()
    path = a_file(tree, chance, [language for language in habits.languages() if habits.minds_errors(language)])
    if path is None:
        return None
    text, language = tree.read(path), language_of(path)
    faults, honest = DROPPED[family(language)]
    head, indent, tail = FRAMES[language]
    chosen = chance.choice(faults)
    write = lambda lines: [*head, *(indent + line.replace("»", "") for line in lines), *tail]
    fault, first = at_end(text, language, write(chosen))
    twin, _ = at_end(text, language, write(honest))
    lines = [first + len(head) + at for at, line in enumerate(chosen) if line.startswith("»")]
    return fault and Case(path, fault, twin, lines, chosen[-1 if len(chosen) == 1 else -2].strip("» "), language, tree.lab.conventions())


NAMES = rules("consistency", "symbol-name")
KINDS = [
    Kind("consistency", "function-name", NAMES, named(FUNCTIONS, FUNCTION)),
    Kind("consistency", "type-name", NAMES, named(TYPES, TYPE)),
    Kind("consistency", "file-name", rules("consistency", "file-name"), file_named),
    Kind("consistency", "test-misplaced", rules("consistency", "test-placement"), test_misplaced),
    Kind("consistency", "licence-missing", rules("consistency", "licence-header"), unlicensed),
    Kind("consistency", "public-undocumented", rules("consistency", "public-doc"), undocumented),
    Kind("consistency", "error-idiom", rules("consistency", "error-idiom"), error_dropped),
]
