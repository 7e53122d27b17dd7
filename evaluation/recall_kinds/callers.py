"""Callers that a change leaves behind: in small modules laid under both sides, and in the repository's own functions."""

import posixpath
import re

from .base import Case, Kind
from .places import Lenses, dialect_of, functions, pages, product

LENSES = Lenses("broken-caller", "unresolved-import")


def sides_of(block):
    """The three sides of a case: texts by path, `None` for a file without lines, which goes away."""
    sides = {"base": {}, "fault": {}, "twin": {}}
    for part in re.split(r"(?m)^=== ", block)[1:]:
        head, _, text = part.partition("\n")
        side, path = head.split()
        sides[side][path] = text.strip("\n") + "\n" if text.strip() else None
    return sides


PACKAGE = {"go": r"(?m)^package (\w+)", "java": r"(?m)^package ([\w.]+);", "php": r"(?m)^namespace ([\w\\]+);", "csharp": r"(?m)^namespace ([\w.]+)"}


def directories(tree, language):
    """Directories of product code where small modules can stand, with the package that is declared there."""
    paths = product(tree, {language})
    if language == "python":
        paths = [path for path in paths if path.endswith("/__init__.py")]
    if language == "rust":
        paths = [path for path in paths if re.search(r"(^|/)src/(lib|main)\.rs$", path)]
    found = {}
    for path in sorted(paths, key=len):
        found.setdefault(posixpath.dirname(path), path)
    return found


def laid_under(variants):
    def make(tree, chance):
        for language, sides in chance.sample(variants, len(variants)):
            found = directories(tree, language)
            if not found:
                continue
            directory = chance.choice(sorted(found))
            near, text = found[directory], tree.read(found[directory])
            declared = re.search(PACKAGE[language], text) if language in PACKAGE else None
            if language in PACKAGE and not declared or "\r" in text:
                continue
            package = declared[1] if declared else ""
            if language == "javascript" and ("require(" in "".join(sides["base"].values())) and not re.search(r"require\(|module\.exports", text):
                continue
            place = lambda side: {posixpath.join(directory, path): each and each.replace("{package}", package) for path, each in side.items()}
            base, fault, twin = (place(sides[side]) for side in ("base", "fault", "twin"))
            clean = {path: each and each.replace("»", "") for path, each in fault.items()}
            marked = next(path for path, each in fault.items() if each and "»" in each)
            lines = [at + 1 for at, line in enumerate(fault[marked].split("\n")) if "»" in line]
            if language == "rust":
                modules = sorted(posixpath.basename(path)[:-3] for path in base)
                base[near] = text.rstrip("\n") + "\n" + "".join(f"mod {module};\n" for module in modules)
            twin = {**{path: base[path] for path in clean if path in base}, **twin}
            case = Case(marked, clean, twin, lines, f"laid under {language}", dialect_of(marked), base)
            case.everywhere = True
            return case
        return None

    return make


def laid(page):
    """The kinds of a page: `## kind`, `@ language`, then files as `=== base|fault|twin PATH`; `»` marks the fault."""
    kinds = []
    for part in re.split(r"(?m)^## ", page)[1:]:
        name, _, body = part.partition("\n")
        variants = [(block.partition("\n")[0], sides_of(block)) for block in re.split(r"(?m)^@ (?=\w+$)", body)[1:]]
        kinds.append(Kind("caller", name, LENSES, laid_under(variants)))
    return kinds


REAL = {"python": r"^def ", "typescript": r"^export (async )?function ", "javascript": r"^(export )?(async )?function ", "go": r"^func (?!\()",
        "rust": r"^pub(\(crate\))? (async )?fn ", "java": r"^\s+(public )?static ", "php": r"public static function ", "csharp": r"^\s+(public|internal) static "}  # fmt: skip
EMPTY = {"python": "None", "go": "nil", "rust": "()", "java": "null", "php": "null", "csharp": "null", "typescript": "undefined", "javascript": "undefined"}


def real(change):
    """A kind about a function of the repository that another file calls; `change` gives the texts of both sides."""

    def make(tree, chance):
        paths = [path for path in product(tree, set(REAL))]
        texts = tree.read_all([path for path in tree.paths if dialect_of(path)])
        untouched = set(tree.unchanged(paths))
        chance.shuffle(paths)
        for path in [path for path in paths if path in untouched][:40]:
            text, dialect = texts.get(path, ""), dialect_of(path)
            if dialect not in REAL or "\r" in text:
                continue
            lines = text.split("\n")
            for function in functions(text, dialect, least=1):
                if not re.search(REAL[dialect], lines[function.head]) or len(function.name) < 6:
                    continue
                word = re.compile(rf"\b{re.escape(function.name)}\b")
                users = {each: other for each, other in texts.items() if word.search(other)}
                if len(re.findall(rf"(?:def|func|fn|function|[\w>\]]) {function.name}\(", "\n".join(users.values()))) != 1:
                    continue
                callers = [each for each in users if each in untouched and each != path and re.search(rf"(?<!def )\b{function.name}\(", users[each])]
                if not callers or len(users) > 25 or any("\r" in other for other in users.values()):
                    continue
                made = change(path, text, function, dialect, users, word)
                if made:
                    case = Case(path, made[0], made[1], range(function.head + 1, function.head + 3), f"{function.name}", dialect)
                    case.everywhere = True
                    return case
        return None

    return make


def rename(path, text, function, dialect, users, word):
    new = function.name + ("_anew" if "_" in function.name else "Anew")
    return {path: word.sub(new, text)}, {each: word.sub(new, other) for each, other in users.items()}


def remove(path, text, function, dialect, users, word):
    """The function goes; in the twin it moves to the end of the file."""
    lines = text.split("\n")
    end = function.end + (0 if dialect == "python" else 1)
    if len(word.findall(text)) != 1 or dialect in ("java", "php", "csharp"):
        return None
    gone = "\n".join(lines[: function.head] + lines[end:])
    gap = ["", ""] if dialect == "python" else [""]
    return {path: gone}, {path: gone.rstrip("\n") + "\n" + "\n".join([*gap, *lines[function.head : end]]) + "\n"}


def require(path, text, function, dialect, users, word):
    """Another parameter in front; in the twin all callers give one."""
    lines = text.split("\n")
    head = lines[function.head]
    parameter = {"python": "extra", "javascript": "extra", "typescript": "extra: unknown", "go": "extra any", "rust": "extra: ()", "java": "Object extra",
                 "php": "$extra", "csharp": "object extra"}[dialect]  # fmt: skip
    opened = re.search(rf"\b{function.name}(<[^>]*>)?\(", head)
    if not opened:
        return None
    rest = head[opened.end() :]
    new = head[: opened.end()] + parameter + ("" if rest.startswith(")") else ", ") + rest
    changed = "\n".join([*lines[: function.head], new, *lines[function.head + 1 :]])
    call = re.compile(rf"\b{function.name}\((\)?)")
    # References that are no calls would keep another shape; such a function is left alone.
    strip = lambda other: re.sub(r"(?m)^.*\bimport\b.*$|^\s*use .*$|//.*$|#.*$", "", other)
    if any(len(word.findall(strip(other))) != len(call.findall(strip(other))) for other in users.values()):
        return None
    give = lambda match: f"{function.name}({EMPTY[dialect]}" + (")" if match[1] else ", ")
    after = {each: call.sub(give, other) for each, other in users.items()}
    after[path] = after[path].replace(call.sub(give, head), new)
    return {path: changed}, after


KINDS = [
    *laid(pages("callers")),
    Kind("caller", "real-renamed", LENSES, real(rename)),
    Kind("caller", "real-removed", LENSES, real(remove)),
    Kind("caller", "real-required-parameter", LENSES, real(require)),
]
