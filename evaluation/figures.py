#!/usr/bin/env python3
"""Figures of style over Rust sources without their tests, ours beside those of other projects.

    python3 evaluation/figures.py [--list FIGURE] [DIRECTORY ...]

Each directory is a column; without one, the column is this repository (`src` and `crates/*/src`). `--list` prints the
places that a figure counts, for the first directory, in place of the table.
"""

import argparse
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
VAGUE = "read of said get run check make do take look told find"
QUESTIONS = "What Whether How Which Where Why When Something One"

TOKEN = re.compile(
    r"""(?P<doc>//[/!][^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>\b(?:b|c)?r(?P<hash>\#*)".*?"(?P=hash))"""
    r"""|(?P<string>\b[bc]?"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*")|(?P<char>b?'(?:[^'\\\n]|\\[^\n]{1,9}?)')""",
    re.DOTALL,
)
GATED = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")
TEST_FN = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case)\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")
FUNCTION = re.compile(r"\bfn\s+(\w+)")

# Figures that are matches in code, with strings and comments blanked.
PATTERNS = {
    "closures": re.compile(r"\blet\s+(?:mut\s+)?\w+(?:\s*:[^=;]+)?\s*=\s*(?:move\s+)?\|"),
    "map_or": re.compile(r"\.map_or(?:_else)?\("),
    "is_some_and": re.compile(r"\.is_(?:some|ok|err)_and\(|\.is_none_or\("),
    "nested": re.compile(r"\bVec<\s*Vec<|\bOption<\s*Option<"),
    "mixed": re.compile(r"\bOption<\s*Vec<|\bVec<\s*Option<"),
}
DOCS = {
    "one noun": re.compile(r"(?:The|A|An|Its|This|Their) [\w`'-]+\.?$"),
    "questions": re.compile(rf"(?:{QUESTIONS.replace(' ', '|')})\b"),
}


def blank(text):
    """Returns `text` with spaces for what is in comments and strings, and the blocks of doc comments."""
    docs, last_end = [], None

    def replace(match):
        nonlocal last_end
        found = match.group()
        if match.lastgroup == "doc" and not found.startswith("////"):
            continues = last_end is not None and not text[last_end : match.start()].strip()
            if continues:
                docs[-1][1].append(found[3:].strip())
            else:
                docs.append((match.start(), [found[3:].strip()]))
            last_end = match.end()
        return re.sub(r"[^\n]", " ", found) if match.lastgroup != "char" else "'x'".ljust(len(found))

    return TOKEN.sub(replace, text), docs


def close(code, start, pair="{}"):
    """Returns the position behind the bracket that closes the one at `start`."""
    depth = 0
    for match in re.compile("[" + re.escape(pair) + "]").finditer(code, start):
        depth += 1 if match.group() == pair[0] else -1
        if depth == 0:
            return match.end()
    return len(code)


def item_end(code, start):
    """Returns the position behind the item that begins at `start`."""
    match = re.compile(r"[;{]").search(code, start)
    if match is None:
        return len(code)
    return match.end() if match.group() == ";" else close(code, match.start())


def sources(directory):
    """Reads the sources below a directory without files that only tests have."""
    roots = [directory / "src"] + sorted(directory.glob("crates/*/src"))
    paths = sorted(path for root in roots for path in root.rglob("*.rs"))
    texts = {path: path.read_text() for path in paths}
    tests = set()
    for path, text in texts.items():
        for match in re.finditer(r"#\[cfg\((?:all\()?(?:any\()?test\b[^\]]*\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", text):
            folder = path.parent if path.stem in ("lib", "main", "mod") else path.parent / path.stem
            tests |= {folder / f"{match[1]}.rs", folder / match[1]}
    is_test = lambda path: any(part in tests for part in [path, *path.parents])
    named = lambda path: path.stem in ("test", "tests") or path.stem.endswith("_tests") or "tests" in path.parts[len(directory.parts):]
    return {path: text for path, text in texts.items() if not is_test(path) and not named(path)}


class File:
    """One source file: its code without tests, and its functions."""

    def __init__(self, path, text):
        code, docs = blank(text)
        kept = bytearray(b"\1" * len(code))
        for pattern in (GATED, TEST_FN):
            for match in pattern.finditer(code):
                end = item_end(code, match.end())
                kept[match.start() : end] = bytes(end - match.start())
        self.path, self.text = path, text
        self.code = "".join(c if k or c == "\n" else " " for c, k in zip(code, kept))
        self.docs = [(at, lines) for at, lines in docs if kept[at]]
        starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self.lines = sum(1 for start in starts if start < len(text) and kept[start])
        self.functions = []
        for match in FUNCTION.finditer(self.code):
            opening = re.compile(r"\(").search(self.code, match.end())
            parameters_end = close(self.code, opening.start(), "()")
            body = re.compile(r"[;{]").search(self.code, parameters_end)
            # The `;` of an array type is not the end of a declaration.
            while body and body.group() == ";" and self.code.count("[", parameters_end, body.start()) > self.code.count("]", parameters_end, body.start()):
                body = re.compile(r"[;{]").search(self.code, body.end())
            length = 0
            if body and body.group() == "{":
                length = self.code.count("\n", match.start(), close(self.code, body.start())) + 1
            self.functions.append((match.start(), match[1], self.code[opening.end() : parameters_end - 1], length))

    def line(self, at):
        return self.text.count("\n", 0, at) + 1


def tuple_parameters(parameters):
    """Counts parameters whose type is a tuple; `()` is none."""
    return len(re.findall(r":\s*&?(?:'\w+\s+)?(?:mut\s+)?\((?=[^()]*(?:\([^()]*\)[^()]*)*,)", parameters))


def measure(directory):
    files = [File(path, text) for path, text in sources(directory).items()]
    places = {name: [] for name in [*PATTERNS, *DOCS, "tuples", "vague"]}
    functions, docs = [], 0
    for file in files:
        for name, pattern in PATTERNS.items():
            places[name] += [(file, match.start()) for match in pattern.finditer(file.code)]
        for at, lines in file.docs:
            docs += 1
            for name, pattern in DOCS.items():
                if pattern.match(lines[0]) and (name == "questions" or len(lines) == 1):
                    places[name].append((file, at))
        for at, name, parameters, length in file.functions:
            functions.append(length)
            places["tuples"] += [(file, at)] * tuple_parameters(parameters)
            if name in VAGUE.split():
                places["vague"].append((file, at))
    return files, functions, docs, places


def column(directory):
    files, functions, docs, places = measure(directory)
    lines = [file.lines for file in files]
    bodies = sorted(length for length in functions if length)
    count = {name: len(found) for name, found in places.items()}
    return {
        "files": str(len(files)),
        "lines": str(sum(lines)),
        "functions": str(len(functions)),
        "closures bound to a name / 100 functions": f"{100 * count['closures'] / len(functions):.1f}",
        "map_or, map_or_else / 1,000 lines": f"{1000 * count['map_or'] / sum(lines):.1f}",
        "is_some_and, is_none_or / 1,000 lines": f"{1000 * count['is_some_and'] / sum(lines):.1f}",
        "Vec<Vec>, Option<Option>": str(count["nested"]),
        "Option<Vec>, Vec<Option>": str(count["mixed"]),
        "tuple parameters": str(count["tuples"]),
        "vague names / 100 functions": f"{100 * count['vague'] / len(functions):.1f} ({count['vague']})",
        "one-noun comments": str(count["one noun"]),
        "doc comments": str(docs),
        "that begin with a question word": f"{100 * count['questions'] / max(docs, 1):.1f} % ({count['questions']})",
        "lines of a file: median, most": f"{statistics.median(lines):.0f}, {max(lines)}",
        "lines of a function: median, 90 %, most": f"{statistics.median(bodies):.0f}, {bodies[len(bodies) * 9 // 10]}, {bodies[-1]}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=[*PATTERNS, *DOCS, "tuples", "vague"])
    parser.add_argument("directories", nargs="*", type=pathlib.Path, default=[ROOT])
    arguments = parser.parse_args()
    directories = [directory.resolve() for directory in arguments.directories]
    if arguments.list:
        for file, at in measure(directories[0])[3][arguments.list]:
            line = file.line(at)
            print(f"{file.path.relative_to(directories[0])}:{line}: {file.text.splitlines()[line - 1].strip()}")
        return
    columns = {directory.name: column(directory) for directory in directories}
    print("| | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name in next(iter(columns.values())):
        print(f"| {name} | " + " | ".join(values[name] for values in columns.values()) + " |")


if __name__ == "__main__":
    main()
