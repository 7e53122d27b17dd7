"""Which files of a repository import which, followed with plain patterns."""

import posixpath
import re

from .base import language_of

ECMA = re.compile(r"(?m)^import\s+(?:type\s+)?\{([^}]*)\}\s+from\s+(['\"])(\.[^'\"]*)\2")
PYTHON = re.compile(r"(?m)^from\s+(\.*[\w.]*)\s+import\s+(\([^)]*\)|[^\n(]*)")
GO = re.compile(r'(?m)^\s*(?:import )?(?:\w+ )?"([^"\n]+)"')
RUST = re.compile(r"(?m)^use (crate::[\w:]+)")
DEFINED = {
    "python": r"^(?:async )?(?:def|class) {}\b",
    "ecma": r"^export (?:async )?(?:abstract )?(?:function\*?|class|const|let|interface|type|enum) {}\b",
}


class Edge:
    """An import: who, whom, which names, how it is written and where."""

    def __init__(self, importer, target, names, written, at, match):
        self.importer, self.target, self.names = importer, target, names
        self.written, self.at, self.match = written, at, match


def is_ecma(path):
    return language_of(path) in ("javascript", "typescript")


def ecma_target(files, importer, written):
    path = posixpath.normpath(posixpath.join(posixpath.dirname(importer), written))
    stem = re.sub(r"\.(js|mjs)$", "", path)
    candidates = {path, *(f"{stem}.{end}" for end in ("ts", "tsx", "js", "mjs")), *(f"{path}/index.{end}" for end in ("ts", "tsx", "js", "mjs"))}
    found = sorted(candidates & files)
    return found[0] if len(found) == 1 else None


def python_target(files, importer, module):
    dots = len(module) - len(module.lstrip("."))
    rest = module[dots:].replace(".", "/")
    roots = ["", "src"]
    if dots:
        directory = posixpath.dirname(importer)
        for _ in range(dots - 1):
            directory = posixpath.dirname(directory)
        roots = [directory]
    paths = [posixpath.join(root, rest) if rest else root for root in roots]
    found = [each for path in paths for each in (f"{path}.py", f"{path}/__init__.py") if each in files]
    return found[0] if len(found) == 1 else None


def rust_target(files, importer, written):
    root = importer[: importer.index("src/") + 4] if "src/" in importer else None
    parts = written.split("::")[1:]
    for end in range(len(parts), 0, -1) if root is not None else ():
        for candidate in (root + "/".join(parts[:end]) + ".rs", root + "/".join(parts[:end]) + "/mod.rs"):
            if candidate in files and candidate != importer:
                return candidate, parts[end:]
    return None, []


def edges_of(tree, languages, paths=None):
    """The imports of files by others of the repository, as far as they can be followed."""
    files = set(tree.paths)
    texts = tree.read_all(paths or tree.product(languages))
    module = None
    if "go" in languages and "go.mod" in files:
        module = re.search(r"(?m)^module\s+(\S+)", tree.read("go.mod"))[1]
    found = []
    for path, text in texts.items():
        language = language_of(path)
        if is_ecma(path):
            for match in ECMA.finditer(text):
                target = ecma_target(files, path, match[3])
                names = re.findall(r"(?:^|,)\s*(?:type\s+)?([A-Za-z_$][\w$]*)(?=\s*(?:,|$))", re.sub(r"//.*", "", match[1]).strip())
                if target and language_of(target):
                    found.append(Edge(path, target, names, match[3], match.start(3), match))
        elif language == "python":
            for match in PYTHON.finditer(text):
                target = python_target(files, path, match[1])
                parts = re.sub(r"#.*", "", match[2]).strip("() \n").split(",")
                names = [part.strip() for part in parts if re.fullmatch(r"\w+", part.strip())]
                if target:
                    found.append(Edge(path, target, names, match[1], match.start(1), match))
        elif language == "go" and module:
            for match in GO.finditer(text):
                directory = match[1].removeprefix(module).lstrip("/")
                inside = [each for each in files if posixpath.dirname(each) == directory and each.endswith(".go") and "_test" not in each]
                if match[1].startswith(module) and inside:
                    found.append(Edge(path, sorted(inside)[0], [], match[1], match.start(1), match))
        elif language == "rust":
            for match in RUST.finditer(text):
                target, names = rust_target(files, path, match[1])
                if target:
                    found.append(Edge(path, target, names[-1:], match[1], match.start(1), match))
    return found, texts


def definition(text, name, path):
    """Where a name is defined, if it is once, at the top."""
    pattern = DEFINED["ecma" if is_ecma(path) else "python"].format(re.escape(name))
    found = list(re.finditer(pattern, text, re.M))
    return found[0] if len(found) == 1 else None


def defined(text, path):
    """A name that a file defines for others."""
    pattern = DEFINED["ecma" if is_ecma(path) else "python"].format(r"([A-Za-z]\w+)")
    return [match[1] for match in re.finditer(pattern, text, re.M)]


def import_line(importer, target, name, like):
    """The line that imports a name of a file, written as the files around do."""
    if is_ecma(importer):
        path = posixpath.relpath(target, posixpath.dirname(importer) or ".")
        stem = re.sub(r"\.(tsx?|m?js)$", "", path)
        stem = stem if stem.startswith(".") else "./" + stem
        ending = ".js" if re.search(r"from ['\"]\.[^'\"]*\.js['\"]", like) else ""
        ending = ".ts" if re.search(r"from ['\"]\.[^'\"]*\.ts['\"]", like) else ending
        quote = "'" if like.count("from '") >= like.count('from "') else '"'
        return f"import {{ {name} }} from {quote}{stem}{ending}{quote};"
    module = re.sub(r"(/__init__)?\.py$", "", target).removeprefix("src/").replace("/", ".")
    return f"from {module} import {name}"
