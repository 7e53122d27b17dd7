"""Imports that cross a line, or lead nowhere. What compilers refuse by themselves is left to them."""

import posixpath
import re

from .base import Case, Kind, inserted, language_of, line_at, rules
from .edges import defined, definition, edges_of, import_line, is_ecma

FOLLOWED = {"python", "javascript", "typescript", "go", "rust"}
SCRIPTS = {"python", "javascript", "typescript"}


def first_import(text, language):
    """The line, from 0, before which an import may stand."""
    pattern = {"python": r"^(?:from|import) (?!__future__)", "go": r'^import "|^\t"|^import \(', "rust": r"^use "}.get(language, r"^import ")
    found = re.finditer(pattern, text, re.M)
    # Prose in a docstring may begin like an import.
    starts = [match.start() for match in found if text.count('"""', 0, match.start()) % 2 == 0]
    return text.count("\n", 0, starts[0]) if starts else None


def directory(path):
    return posixpath.dirname(path)


def apart(one, other):
    """Whether two directories are different and neither holds the other."""
    return one and other and not (one + "/").startswith(other + "/") and not (other + "/").startswith(one + "/")


def crossing(edge, text, target_text):
    """The import the other way: from the target to the importer."""
    back, to = edge.target, edge.importer
    if language_of(back) == "go":
        return None
    if language_of(back) == "rust":
        module = re.sub(r"(/mod)?\.rs$", "", to.split("src/", 1)[1]).replace("/", "::")
        names = re.findall(r"(?m)^pub (?:fn|struct|enum) (\w+)", text)
        return f"use crate::{module}::{names[0]};" if names and module not in ("main", "lib") else None
    names = defined(text, to)
    return import_line(back, to, names[0], target_text) if names else None


def put_import(path, text, line):
    at = first_import(text, language_of(path))
    return (None, 0) if at is None or "\r" in text else (inserted(text, at, [line]), at + 1)


def reverse(tree, chance):
    """The policy says who does not import whom."""
    edges, texts = edges_of(tree, FOLLOWED)
    known = {(edge.importer, edge.target) for edge in edges}
    chance.shuffle(edges)
    for edge in edges[:200]:
        if (edge.target, edge.importer) in known or edge.target not in texts or edge.target == edge.importer:
            continue
        line = crossing(edge, texts[edge.importer], texts[edge.target])
        fault, number = put_import(edge.target, texts[edge.target], line) if line else (None, 0)
        if not fault or line in texts[edge.target]:
            continue
        low, high = directory(edge.target), directory(edge.importer)
        wide = apart(low, high) and not any(directory(a).startswith(low) and directory(b).startswith(high) for a, b in known)
        globs = (f"{low}/**", f"{high}/**") if wide else (edge.target, edge.importer)
        policy = f'[[import-boundary]]\nfrom = ["{globs[0]}"]\nmust-not-import = ["{globs[1]}"]\nreason = "one way only"\n'
        note = "# Both ways." if language_of(edge.target) == "python" else "// Both ways."
        twin = put_import(edge.target, texts[edge.target], note)[0]
        return Case(edge.target, fault, twin, [number], "declared for " + ("directories" if wide else "files"), language_of(edge.target),
                    {".qa-skill/policy.toml": policy})  # fmt: skip
    return None


def reverse_of_habit(tree, chance):
    """Nobody said it, and everybody keeps it."""
    edges, texts = edges_of(tree, SCRIPTS)
    ways, own = {}, {}
    for edge in edges:
        parts, other = directory(edge.importer).split("/"), directory(edge.target).split("/")
        shared = next((at for at, (a, b) in enumerate(zip(parts, other)) if a != b), min(len(parts), len(other)))
        for end in range(1, len(parts) + 1):
            own["/".join(parts[:end])] = own.get("/".join(parts[:end]), 0) + 1
        if shared < min(len(parts), len(other)):
            ways.setdefault(("/".join(parts[: shared + 1]), "/".join(other[: shared + 1])), []).append(edge)
    one_way = sorted(way for way, found in ways.items() if len(found) >= 8 and way[::-1] not in ways and own.get(way[1], 0) >= 15)
    chance.shuffle(one_way)
    for way in one_way:
        edge = chance.choice(ways[way])
        if edge.target not in texts or "type" in edge.match[0].split("{")[0]:
            continue
        line = crossing(edge, texts[edge.importer], texts[edge.target])
        fault, number = put_import(edge.target, texts[edge.target], line) if line else (None, 0)
        if fault:
            twin = put_import(edge.target, texts[edge.target], "# Both ways." if language_of(edge.target) == "python" else "// Both ways.")[0]
            return Case(edge.target, fault, twin, [number], f"{way[1]} imports {way[0]}", language_of(edge.target), tree.lab.conventions())
    return None


def word(name):
    return rf"(?<![\w$]){re.escape(name)}(?![\w$])"


def removed_in_use(tree, chance):
    """Something that others import gets another name in its own file alone."""
    edges, texts = edges_of(tree, SCRIPTS)
    unchanged = set(tree.unchanged(tree.paths))
    chance.shuffle(edges)
    for edge in edges[:200]:
        text = texts.get(edge.target, "")
        names = [name for name in edge.names if definition(text, name, edge.target) and not name.startswith("_")]
        if not names or edge.target not in unchanged or edge.target == edge.importer:
            continue
        name = chance.choice(names)
        new = name + "Renamed" if is_ecma(edge.target) else name + "_renamed"
        everywhere = [path for path in tree.paths if language_of(path) in SCRIPTS and is_ecma(path) == is_ecma(edge.target)]
        everywhere = {path: text for path, text in tree.read_all(everywhere).items() if name in text} if len(everywhere) < 6000 else {}
        if not everywhere or sum(map(len, everywhere.values())) > 4_000_000:
            continue
        # Not where it is a part of a path.
        swap = lambda text: re.sub(rf"(?<![/-]){word(name)}(?!\.[cm]?[jt]sx?\b)", new, text)
        twin = {path: swap(text) for path, text in everywhere.items() if swap(text) != text}
        line = line_at(text, definition(text, name, edge.target).start())
        return Case(edge.target, {edge.target: swap(text)}, twin, [line], "renamed", language_of(edge.target))
    return None


def imports_test(tree, chance):
    tests = [path for path in tree.tests() if language_of(path) in SCRIPTS]
    chance.shuffle(tests)
    for test in tests[:20]:
        names = [name for name in defined(tree.read(test), test)]
        paths = [path for path in tree.product(SCRIPTS) if is_ecma(path) == is_ecma(test)]
        near = [path for path in paths if path.split("/")[:2] == test.split("/")[:2]] or (paths if not is_ecma(test) else [])
        if not near or is_ecma(test) and not names:
            continue
        path = chance.choice(near)
        text, name = tree.read(path), names[0] if names else "run"
        fault, number = put_import(path, text, import_line(path, test, name, text))
        twin, _ = put_import(path, text, "# As ever." if not is_ecma(path) else "// As ever.")
        if fault:
            return Case(path, fault, twin, [number], test.rsplit("/", 1)[-1], language_of(path))
    tests = [path for path in tree.tests() if is_ecma(path)]
    chance.shuffle(tests)
    for test in tests[:5]:
        near = [path for path in tree.product(SCRIPTS) if is_ecma(path) and path.split("/")[:2] == test.split("/")[:2]]
        if near:
            path = chance.choice(near)
            text = tree.read(path)
            line = import_line(path, test, "run", text)
            line = "import " + line.split(" from ")[1]
            fault, number = put_import(path, text, line)
            twin, _ = put_import(path, text, "// As ever.")
            if fault:
                return Case(path, fault, twin, [number], "for its effects", language_of(path))
    return None


def missing_module(tree, chance):
    edges, texts = edges_of(tree, FOLLOWED - {"rust"})
    chance.shuffle(edges)
    for edge in edges[:200]:
        text = texts[edge.importer]
        last = re.search(r"([A-Za-z_]\w+)((?:\.\w+)?)$", edge.written)
        if not last or "\r" in text or language_of(edge.importer) == "python" and not edge.written.startswith(".") and "." not in edge.written:
            continue
        name, at = last[1], edge.at + last.start(1)
        wrong = chance.choice([name[:-1] + ("x" if name[-1] != "x" else "y") + name[-1], name + "s", name[:-1]])
        fault = text[:at] + wrong + text[at + len(name) :]
        end = text.find("\n", edge.match.end())
        note = "  # As ever." if language_of(edge.importer) == "python" else " // As ever."
        twin = text[:end] + note + text[end:] if end > 0 else text + note
        path = posixpath.join(directory(edge.importer), wrong)
        if any(each.rsplit(".", 1)[0].endswith(path.lstrip("./")) or f"/{wrong}/" in f"/{each}" or f"/{wrong}." in f"/{each}" for each in tree.paths):
            continue
        return Case(edge.importer, fault, twin, [line_at(text, edge.at)], "misspelt", language_of(edge.importer))
    return None


def respelt(name, chance):
    """A name with two letters the other way round."""
    places = [at for at in range(len(name) - 1) if name[at].isalpha() and name[at + 1].isalpha() and name[at] != name[at + 1]]
    at = chance.choice(places)
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


UNKNOWN = {
    "python": (["pandas", "sqlalchemy", "celery", "pymongo"], "import {}", "import os"),
    "javascript": (["left-pad-it", "lodash.zipwith", "node-uuid-4", "moment-lite"], 'import extra from "{}";', 'import fs from "node:fs";'),
    "go": (["github.com/streadway/amqp", "github.com/lib/pq", "gopkg.in/redis.v5"], 'import extra "{}"', 'import extra "os"'),
}
LIKE = {"python": ["requests", "numpy", "jinja2", "urllib3", "django"], "javascript": ["express", "vitest", "esbuild", "lodash", "webpack"],
        "go": ["github.com/spf13/pflag"]}  # fmt: skip


def unknown_package(tree, chance):
    paths = [path for path in tree.product(SCRIPTS | {"go"})]
    chance.shuffle(paths)
    for path in paths[:20]:
        language = language_of(path)
        family = language.replace("type", "java")
        text = tree.read(path)
        at = first_import(text, language)
        names, form, honest = UNKNOWN[family]
        like = family != "go" and chance.random() < 0.4
        name = respelt(chance.choice(LIKE[family]), chance) if like else chance.choice(names)
        if language == "go":
            head = re.search(r"(?m)^package \w+\n", text)
            at = text.count("\n", 0, head.end()) if head else None
        if at is None or "\r" in text:
            continue
        fault, twin = (inserted(text, at, [line]) for line in (form.format(name), honest))
        return Case(path, fault, twin, [at + 1], "lookalike" if like else "unknown", language)
    return None


BOUNDARY = rules("import-boundary", "forbidden-edge")
KINDS = [
    Kind("architecture", "reverse-import-declared", BOUNDARY, reverse),
    Kind("architecture", "reverse-import-mined", rules("consistency", "import-direction"), reverse_of_habit),
    Kind("architecture", "public-item-removed", rules("unresolved-import", "left-behind", "missing-name"), removed_in_use),
    Kind("architecture", "product-imports-test", rules("import-boundary", "product-imports-test"), imports_test),
    Kind("architecture", "missing-module", rules("unresolved-import", "missing-module"), missing_module),
    Kind("architecture", "unknown-package", rules("phantom-dependency", "undeclared-package", "lookalike-package"), unknown_package),
]
