"""Reads a list of {path, text} and prints a list of {spelling: text}: each text as the formatters of its language write
it, and as it can be written by hand. A text that one refuses has no such spelling.

    formatters.py PROGRAMS PACKAGES

PROGRAMS are directories with colons between them that have ruff and taplo; black is a module of this Python, PACKAGES has
the packages of node. rustfmt, gofmt and clang-format are taken from the PATH, where they are there.
"""

import configparser
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tokenize
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ONE_AT_A_TIME = threading.Lock()


def command(*words):
    """Returns a function from a text to what a program makes of it on its standard output."""

    def run(text):
        result = subprocess.run(words, input=text.encode(), capture_output=True, timeout=60)
        return result.stdout.decode() if result.returncode == 0 else None

    return run


def black(**mode):
    def run(text):
        import black as formatter

        try:
            # Its parser has state that threads would share.
            with ONE_AT_A_TIME:
                return formatter.format_str(text, mode=formatter.Mode(**mode))
        except Exception:  # Which one depends on the version.
            return None

    return run


def by_hand_python(text):
    """Swaps the quotes of plain strings, breaks calls after each bracket and comma, and adds comments."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    place = lambda position: min(starts[min(position[0], len(starts)) - 1] + position[1], len(text))
    out, calls, name_end, at = [], [], None, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        string, start, end = token.string, place(token.start), place(token.end)
        if start < at or token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        out.append(text[at:start])
        plain = re.fullmatch(r"""([rbRBuU]*)(['"])([^'"\\\n{}]*)\2""", string)
        if token.type == tokenize.STRING and plain:
            other = "'" if plain[2] == '"' else '"'
            string = plain[1] + other + plain[3] + other
        out.append(string)
        if string in ("(", "[", "{"):
            calls.append(string == "(" and name_end == start)
            out.append("  #\n        " if calls[-1] else "")
        elif string in (")", "]", "}"):
            calls.pop()
        elif string == "," and calls and calls[-1]:
            out.append("\n        ")
        at = end
        name_end = end if token.type == tokenize.NAME else None
    return "".join(out) + text[at:]


def json_value(text):
    def members(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=members)


def json_written(**options):
    return lambda text: json.dumps(json_value(text), ensure_ascii=False, **options) + "\n"


def json_escaped(text):
    """Escapes every second letter of every string."""
    json_value(text)
    letters = lambda match: re.sub(r"(\\u....|\\.)|([a-z])([a-z])", lambda each: each[1] or f"\\u{ord(each[2]):04x}{each[3]}", match[0])
    return re.sub(r'"(?:[^"\\]|\\.)*"', letters, text)


def toml_key(key):
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def toml_value(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(member)}" for key, member in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, (str, bool)):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def toml_inline(text):
    """Writes each table of the top as an inline one."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in tomllib.loads(text).items())


def toml_dotted(text):
    """Writes each value with all its keys before it."""

    def lines(path, value):
        if isinstance(value, dict) and value:
            return [line for key, member in value.items() for line in lines([*path, key], member)]
        return [f"{'.'.join(map(json.dumps, path))} = {toml_value(value)}"]

    return "\n".join(lines([], tomllib.loads(text))) + "\n"


def ini_colons(text):
    """Writes a colon between name and value, and a comment below each section."""
    parser = configparser.RawConfigParser(allow_no_value=True)
    parser.read_string(text)
    text = re.sub(r"(?m)^([A-Za-z][\w.-]*)[ \t]*=", r"\1 :", text)
    return re.sub(r"(?m)^(\[.*\])$", r"\1\n; a section", text)


def ini_sorted(text):
    parser = configparser.RawConfigParser(allow_no_value=True)
    parser.optionxform = str
    parser.read_string(text)
    parts = []
    for name in sorted(parser.sections()):
        members = (f"{key}={value}" if value is not None else key for key, value in sorted(parser.items(name)))
        parts.append(f"[{name}]\n" + "".join(line.replace("\n", "\n\t") + "\n" for line in members))
    return "\n".join(parts)


def crlf(text):
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def commented(sign, ends):
    """Writes a comment behind each line that ends so, in a text where no line can be one of a string or of a comment."""

    def run(text):
        if re.search(r"""`|\"{3}|'{3}|<<|/\*|R"|[|>]$|\\$""", text, re.M):
            return None
        line = rf"""(?m)^((?:[^\n#'"/\\]|"[^"\n\\]*"|'[^'\n\\]*')*(?:{ends}))[ \t]*$"""
        return re.sub(line, rf"\1 {sign} x", text)

    return run


def spellings(programs):
    """Returns names with a pattern of paths and a function from text to text, or to nothing."""
    program = lambda name: shutil.which(name, path=programs) or name
    ruff = [program("ruff"), "format", "--isolated", "--quiet"]
    wide = ["--line-length", "200", "--config", "format.quote-style='single'", "--config", "format.skip-magic-trailing-comma=true"]
    taplo = [program("taplo"), "format", "--no-auto-config", "-"]
    options = lambda *names: [word for name in names for word in ("-o", name)]
    found = [
        ("black", r"\.pyi?$", black()),
        ("black narrow", r"\.pyi?$", black(line_length=30, string_normalization=False)),
        ("ruff", r"\.pyi?$", command(*ruff, "-")),
        ("ruff wide", r"\.pyi?$", command(*ruff, *wide, "-")),
        ("by hand", r"\.pyi?$", by_hand_python),
        ("taplo", r"\.toml$", command(*taplo)),
        ("taplo sorted", r"\.toml$", command(*taplo, *options("reorder_keys=true", "column_width=30", "align_entries=true"))),
        ("toml inline", r"\.toml$", toml_inline),
        ("toml dotted", r"\.toml$", toml_dotted),
        ("json compact", r"\.json$", json_written(separators=(",", ":"))),
        ("json indented", r"\.json$", json_written(indent=4)),
        ("json sorted", r"\.json$", json_written(indent=2, sort_keys=True)),
        ("json escaped", r"\.json$", json_escaped),
        ("ini colons", r"(\.ini|\.cfg|\.coveragerc|\.flake8|\.pylintrc)$", ini_colons),
        ("ini sorted", r"(\.ini|\.cfg|\.coveragerc|\.flake8|\.pylintrc)$", ini_sorted),
        ("line ends", r"", crlf),
        ("comments", r"\.(c|cc|cjs|cpp|cs|h|java|js|jsx|mjs|php|rs|ts|tsx)$", commented("//", r"[;,]|\breturn")),
        ("comments", r"\.(go|kt|kts)$", commented("//", r"[])\w,]")),
        ("comments", r"\.(pyi?|rb|toml|ya?ml)$", commented("#", r"[])\w,]")),
    ]
    if shutil.which("rustfmt"):
        rustfmt = ["rustfmt", "--edition", "2024", "--emit", "stdout", "--quiet", "--config"]
        found.append(("rustfmt", r"\.rs$", command(*rustfmt, "max_width=100")))
        found.append(("rustfmt narrow", r"\.rs$", command(*rustfmt, "max_width=50,use_small_heuristics=Off,hard_tabs=true")))
    if shutil.which("gofmt"):
        found.append(("gofmt", r"\.go$", command("gofmt", "-s")))
    if shutil.which("clang-format"):
        for style in ("Google", "{BasedOnStyle: LLVM, ColumnLimit: 40, IndentWidth: 8}"):
            name = "clang-format" if style == "Google" else "clang-format narrow"
            for ending in ("java", "cs", "c", "cc", "cpp", "h"):
                made = command("clang-format", f"--style={style}", f"--assume-filename=a.{ending}")
                found.append((name, rf"\.{ending}$", made))
    return found


def by_programs(programs, case):
    made = {}
    for name, pattern, rewrite in spellings(programs):
        if re.search(pattern, case["path"]):
            try:
                made[name] = rewrite(case["text"])
            except (ValueError, SyntaxError, tokenize.TokenError, configparser.Error, RecursionError, subprocess.TimeoutExpired):
                made[name] = None
    return made


def rewrite_all(programs, packages, cases):
    """Returns for each case its spellings that differ from it, by name."""
    node = subprocess.run(
        ["node", os.path.join(HERE, "formatters.mjs"), packages], input=json.dumps(cases).encode(), stdout=subprocess.PIPE, check=True
    )
    # One after the other: in threads a formatter refuses now and then what it takes otherwise.
    made = [by_programs(programs, case) | theirs for case, theirs in zip(cases, json.loads(node.stdout))]
    return [
        {name: text for name, text in each.items() if text and text != case["text"]} for case, each in zip(cases, made)
    ]


if __name__ == "__main__":
    json.dump(rewrite_all(*sys.argv[1:3], json.load(sys.stdin)), sys.stdout)
