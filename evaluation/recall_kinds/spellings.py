"""The same fault and the same twin, written in other valid ways.

A document is written anew as a whole, under the commit, the fault and the twin alike, so that what changes is still the
fault. Of code only what was added is. What has no other spelling of its own is hidden among a change of the whole file.
"""

import difflib
import json
import os
import re

from .base import Case

try:
    import yaml
except ImportError:  # Without it documents in YAML come in three spellings fewer.
    yaml = None

NAMES = ["written", "broken", "spaced", "quoted"]

# Tokens that are left as they are, brackets, dots between names, and the rest.
TOKEN = re.compile(
    r"""(?P<opaque>[fbruFBRU]{0,2}(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?''')|[fbruFBRU]{0,2}"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|`(?:\\.|[^`\\])*`|//[^\n]*|/\*[\s\S]*?\*/|(?<=\s)\#\s[^\n]*|^\#\s[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])"""
    r"""|(?P<dot>(?<=[A-Za-z_)])\.(?=[A-Za-z_]))|(?P<newline>\n)|(?P<word>\w+)|(?P<rest>[\s\S])""",
    re.M,
)


def is_call(text, at):
    """Whether a bracket follows a name, so that it begins arguments."""
    return at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_!")


def with_breaks(text, language):
    """Arguments on lines of their own, as formatters write what is too long for one."""
    out, calls = [], []
    for token in TOKEN.finditer(text):
        part = token[0]
        if token["open"]:
            call = part == "(" and is_call(text, token.start()) and text[token.end() : token.end() + 1] not in ("", ")", "\n")
            # A parameter list of a function is no call, and a generic one is not closed by a comma.
            call = call and not re.search(r"\b(def|fn|func|function)\s+\w+$", text[: token.start()])
            calls.append(call)
            part += "\n        " if call else ""
        elif token["close"] and calls and calls.pop():
            comma = "," if language in ("python", "go", "javascript", "typescript") and not out[-1].rstrip().endswith(",") else ""
            part = f"{comma}\n    {part}"
        out.append(part)
    return "".join(out)


def with_blanks(text, language):
    """Blanks wherever they mean nothing."""
    out = []
    for token in TOKEN.finditer(text):
        part = token[0]
        if part == "(" and is_call(text, token.start()) and text[token.start() - 1] != "!":
            part = " ( "
        elif part == ")" and out and out[-1].strip():
            part = " )"
        elif token["dot"] and language != "go":
            part = " . "
        out.append(part)
    return "".join(out)


def with_comments(text, language):
    """A comment behind the first bracket of each call; it has no word, which would be a reason for what it stands in."""
    out = []
    for token in TOKEN.finditer(text):
        part = token[0]
        if part == "(" and is_call(text, token.start()) and not re.search(r"\bdef\s+\w+$", text[: token.start()]):
            part += "  # --\n        " if language == "python" else " /* -- */ "
        out.append(part)
    return "".join(out)


ASSIGNED = re.compile(r"""(?m)(?<==) ("[^"\n]*"|'[^'\n]*')(;?)$""")


def value_spelled(text, spelling, language):
    """Texts that get a name, where nothing is called: in parentheses, behind blanks, in other quotes or behind a comment."""
    if spelling == "broken" and language != "go":
        return ASSIGNED.sub(r" (\n    \1\n)\2", text)
    if spelling == "quoted" and language in ("python", "javascript", "typescript"):
        return ASSIGNED.sub(lambda match: " '" + match[1][1:-1] + "'" + match[2] if "'" not in match[1][1:-1] else match[0], text)
    return ASSIGNED.sub(r"  /* -- */  \1\2" if spelling == "quoted" else r"   \1\2", text)


# Languages whose added code is spelled by itself; in Ruby a blank before a bracket and a comment within a line mean something.
SPELLED = {"python", "javascript", "typescript", "go", "rust", "java", "csharp", "php", "cpp", "kotlin"}
CODE = {"broken": with_breaks, "spaced": with_blanks, "quoted": with_comments}


def reindented(text):
    """Twice the indentation, in the whole file."""
    return re.sub(r"(?m)^( +)", r"\1\1", text) if re.search(r"(?m)^ ", text) else re.sub(r"(?m)^(\t+)", r"\1\1", text)


def with_other_ends(text):
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def spread(text):
    """Two empty lines for each one, and one at the end of the file."""
    return re.sub(r"\n\n(?=[^\n])", "\n\n\n", text)


FILE = {"broken": spread, "spaced": reindented, "quoted": with_other_ends}


def yaml_document(text, spelling):
    if yaml is None:
        return None
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
    if not isinstance(data, dict):
        return None
    # YAML 1.1 reads the name of a workflow's triggers as a truth.
    data = {"on" if key is True else key: value for key, value in data.items()}
    if spelling == "broken":
        return json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
    if spelling == "spaced":
        return yaml.safe_dump(data, default_flow_style=True, width=60, sort_keys=False, allow_unicode=True)
    return yaml.safe_dump(data, default_style='"', sort_keys=True, allow_unicode=True)


def json_document(text, spelling):
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if spelling == "broken":
        return re.sub(r": ", " :\n", json.dumps(data, indent=1, ensure_ascii=False)) + "\n"
    if spelling == "spaced":
        return json.dumps(data, separators=(" , ", " : "), ensure_ascii=False) + "\n"
    escaped = lambda match: '"' + "".join(f"\\u{ord(letter):04x}" for letter in match[1]) + '":'
    return re.sub(r'"(\w+)":', escaped, json.dumps(data, indent=4, sort_keys=True)) + "\n"


def toml_document(text, spelling):
    if '"""' in text or "'''" in text:
        return None
    if spelling == "broken":
        return re.sub(r"(?m)^([\w-]+ *= *)\[(?=[^\[\]\n]+\]$)", "\\1[\n    ", text)
    if spelling == "spaced":
        return re.sub(r"(?m)^([\w.-]+) *= *", r"  \1   =   ", re.sub(r"(?m)^\[([\w.-]+)\]", r"[ \1 ]", text))
    return re.sub(r"(?m)^([\w-]+)(?= *=)", r'"\1"', text)


def env_document(text, spelling):
    form = {"broken": r"\1='\2'", "spaced": r"export \1=\2", "quoted": r'\1="\2"'}[spelling]
    return re.sub(r"(?m)^(\w+)=(\S+)$", form, text)


def document_writer(path):
    """What writes a document anew, for a path that is one."""
    name = os.path.basename(path)
    if name.endswith((".yml", ".yaml")):
        return yaml_document
    if name.endswith((".json", ".jsonc")) and not path.startswith(".qa-skill/"):
        return json_document
    if name.endswith(".toml") or name in ("Cargo.lock", "uv.lock"):
        return toml_document
    return env_document if name.startswith(".env") or "/.env" in path else None


def added_lines(before, after):
    """The lines of `after` that `before` has not, from 1."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return {line + 1 for tag, _, _, start, end in blocks if tag != "equal" for line in range(start, end)}


def block_of(before, after):
    """Where the lines begin and end in `after` that differ from `before` as one block."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, len(after) - end


def code_spelled(before, text, spelling, language):
    """A text of which what was added is spelled in another way."""
    before, lines = before.split("\n"), text.split("\n")
    start, end = block_of(before, lines)
    old = "\n".join(lines[start:end])
    block = CODE[spelling](old, language)
    if block == old:
        block = value_spelled(old, spelling, language)
    return "\n".join([*lines[:start], block, *lines[end:]])


def spelled(case, tree, spelling):
    """The case in another spelling, or `None` where it has none."""
    if spelling == "written":
        return case
    path = case.path
    texts = [side.get(path) for side in (case.fault, case.twin)]
    if any("\r" in (text or "") for text in texts):
        return None
    before = case.under.get(path) if path in case.under else tree.read(path) if path in tree.paths else ""
    write = document_writer(path)
    if write:
        return document_spelled(case, before, write, spelling)
    fault, twin = texts
    if fault is None or twin is None:
        return None
    if case.language in SPELLED or case.language == "ruby" and spelling == "broken":
        new = [code_spelled(before, text, spelling, case.language) for text in texts]
        if new[0] != fault:
            return respelled(case, before, new)
    return respelled(case, before, [FILE[spelling](text) for text in texts])


def respelled(case, before, texts, under=None):
    """The case with other texts at its path; its lines are all that the fault adds."""
    fault, twin = ({**side, case.path: text} for side, text in zip((case.fault, case.twin), texts))
    if texts[0] == case.fault[case.path]:
        return None
    lines = added_lines(before.split("\n"), texts[0].split("\n"))
    other = Case(case.path, fault, twin, lines or case.lines, case.variant, case.language, under or case.under)
    other.everywhere = case.everywhere
    return other


def document_spelled(case, before, write, spelling):
    """The case with its document written anew on all three sides."""
    known = [text for text in (before, case.fault.get(case.path), case.twin.get(case.path)) if text]
    written = {text: write(text, spelling) for text in known}
    if any(text is None for text in written.values()) or case.fault.get(case.path) is None:
        return None
    base = written.get(before, "")
    under = {**case.under, case.path: base} if before else case.under
    twin = case.twin.get(case.path)
    return respelled(case, base, [written[case.fault[case.path]], written.get(twin, twin)], under)
