"""Text that reads differently from what it is, and what a merge left behind."""

from .base import Case, Kind, at_end, inserted, language_of, rules, some_file

COMMENT = {"python": "# ", "javascript": "// ", "typescript": "// ", "go": "// ", "rust": "// ", "java": "  // "}
TEXT = {
    "python": 'LEVEL = "{}"', "javascript": 'export const level = "{}";', "typescript": 'export const level = "{}";',
    "go": 'var level = "{}"', "rust": 'pub const LEVEL: &str = "{}";', "java": '  static final String LEVEL = "{}";',
}  # fmt: skip
FUNCTION = {
    "python": ["def {}(value):", "    return value"],
    "javascript": ["export function {}(value) {{", "  return value;", "}}"],
    "typescript": ["export function {}(value: string) {{", "  return value;", "}}"],
    "go": ["func {}(value string) string {{", "\treturn value", "}}"],
    "rust": ["pub fn {}(value: u8) -> u8 {{", "    value", "}}"],
    "java": ["  static String {}(String value) {{", "    return value;", "  }}"],
}


def appended(tree, chance, fault, twin, variant, languages=None):
    """Lines at the end of a file; `fault` and `twin` take the language. The fault is on the first of them."""
    path = some_file(tree, chance, languages)
    if path is None:
        return None
    text, language = tree.read(path), language_of(path)
    bad, first = at_end(text, language, ["", *fault(language)])
    good, _ = at_end(text, language, ["", *twin(language)])
    return bad and Case(path, bad, good, [first + 1], variant, language)


def bidi(tree, chance):
    override, isolate, end = chr(0x202E), chr(0x2066), chr(0x2069)
    hidden = chance.choice([override + isolate + " if admin" + end, isolate + "check only" + end + override, override + "nimda"])
    if chance.random() < 0.5:
        write = lambda text: lambda language: [COMMENT[language] + text]
        return appended(tree, chance, write(f"Allowed for users {hidden}"), write("Allowed for users if admin"), "comment")
    write = lambda text: lambda language: [TEXT[language].format(text)]
    return appended(tree, chance, write("user" + hidden), write("user"), "text")


LOOKALIKES = {"a": 0x430, "e": 0x435, "o": 0x43E, "c": 0x441, "p": 0x440, "i": 0x456}


def homoglyph(tree, chance):
    name = chance.choice(["isAdmin", "checkAccess", "validate", "process", "escape"])
    letter = chance.choice([each for each in name if each in LOOKALIKES])
    imitated = name.replace(letter, chr(LOOKALIKES[letter]), 1)
    write = lambda name: lambda language: [line.format(name) for line in FUNCTION[language]]
    return appended(tree, chance, write(imitated), write(name), f"{letter} of another script")


def invisible(tree, chance):
    mark = chance.choice([0x200B, 0x2060, 0x200D, 0x00AD, 0x3164, 0xFEFF])
    # A letter that is empty may stand in a name; the others stand where a compiler does not look.
    if mark == 0x3164:
        write = lambda name: lambda language: [line.format(name) for line in FUNCTION[language]]
        return appended(tree, chance, write("check" + chr(mark)), write("checkAll"), "in a name")
    write = lambda text: lambda language: [TEXT[language].format(text)]
    return appended(tree, chance, write("adm" + chr(mark) + "in"), write("admin"), f"U+{mark:04X} in a text")


def conflict(tree, chance):
    path = some_file(tree, chance)
    if path is None:
        return None
    text = tree.read(path)
    lines = text.split("\n")
    plain = [at for at, line in enumerate(lines) if line.strip() and at > 0]
    if not plain or "\r" in text:
        return None
    at = chance.choice(plain)
    mine, other = lines[at] + " ", lines[at]
    form = chance.choice(["two", "three", "left over"])
    label = chance.choice(["feature/cache", "origin/main", "Updated upstream"])
    open_, middle, close = "<" * 7 + " HEAD", "=" * 7, ">" * 7 + " " + label
    block = {"two": [open_, mine, middle, other, close],
             "three": [open_, mine, "|" * 7 + " base", other, middle, other, close], "left over": [other, close]}[form]  # fmt: skip
    fault = "\n".join(lines[:at] + block + lines[at + 1 :])
    marks = [at + 1 + number for number, line in enumerate(block) if line in (open_, middle, close) or line.startswith("|" * 7)]
    return Case(path, fault, inserted(text, at, [""]), marks, form, language_of(path))


KINDS = [
    Kind("unicode", "bidi", rules("trojan-source", "bidi-control"), bidi),
    Kind("unicode", "homoglyph", rules("trojan-source", "mixed-script-identifier"), homoglyph),
    Kind("unicode", "invisible", rules("trojan-source", "invisible-character", "mixed-script-identifier"), invisible),
    Kind("conflict marker", "conflict-marker", rules("merge-leftover", "conflict-marker"), conflict),
]
