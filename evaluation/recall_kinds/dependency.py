"""Dependencies that are not what was locked, or come from elsewhere."""

import base64
import hashlib
import os
import re

from .base import NOT_PRODUCT, Case, Kind, rules

HEX = re.compile(r"[0-9a-f]{64,128}")


def other_sum(value, chance):
    """Another checksum of the same kind."""
    raw = hashlib.sha512(str(chance.random()).encode()).digest()
    if HEX.fullmatch(value):
        return (raw.hex() + raw.hex())[: len(value)]
    return base64.b64encode(raw[: len(base64.b64decode(value))]).decode()


def bumped(version):
    return re.sub(r"(\d+)(?!.*\d)", lambda last: str(int(last[1]) + 1), version)


# For each lock file: what an entry looks like; groups are what stands before the version, the version, what stands
# between, and the checksum.
LOCKS = {
    "Cargo.lock": r'(\[\[package\]\]\nname = "[^"]+"\nversion = ")([^"]+)("\nsource = "registry[^"]*"\nchecksum = ")([0-9a-f]{64})',
    "go.sum": r"(?m)^(\S+ v)([\w.+-]+)( h1:)(\S+)$",
    "uv.lock": r'(\{ url = "https://files\.pythonhosted\.org/\S+/[A-Za-z_]\w*-)(\d[\w.]*?)((?:-py3|-cp3|\.tar)[^"]*", hash = "sha256:)([0-9a-f]{64})',
    "pnpm-lock.yaml": r"(?m)^(  '?/?[@\w./-]+?[@/])(\d[\w.+-]*)('?:\n    resolution: \{integrity: sha512-)([\w+/=]+)",
    "package-lock.json": r'("version": ")([^"]+)(",\n\s+"resolved": "[^"]+",\n\s+"integrity": "sha512-)([\w+/=]+)',
    "yarn.lock": r'(  version:? "?)([\w.+-]+)("?\n  (?:resolved|resolution)[^\n]*\n(?:  (?!version|integrity|checksum)[^\n]*\n|    [^\n]*\n)*?  (?:integrity sha512-|checksum: (?:\w+/)?))([\w+/=]+)',
    "Gemfile.lock": r"(?m)^(  \S+ \()([\w.-]+)(\) sha256=)([0-9a-f]{64})$",
}


def lock_tampered(tree, chance):
    paths = [path for path in tree.paths if os.path.basename(path) in LOCKS and not NOT_PRODUCT.search(path)]
    chance.shuffle(paths)
    for path in paths:
        text, before = tree.read(path), tree.before(path)
        # Of a version that the commit brings nobody knows the right checksum.
        found = [entry for entry in re.finditer(LOCKS[os.path.basename(path)], text) if entry[4] in before]
        if not found:
            continue
        entry = chance.choice(found)
        value = other_sum(entry[4], chance)
        put = lambda version: text[: entry.start(2)] + version + entry[3] + value + text[entry.end(4) :]
        fault, twin = put(entry[2]), put(bumped(entry[2]))
        if os.path.basename(path) in ("package-lock.json", "yarn.lock"):
            twin = twin.replace(entry[3], entry[3].replace(entry[2], bumped(entry[2])), 1)
        line = text.count("\n", 0, entry.start(4)) + 1
        return Case(path, fault, twin, [line], os.path.basename(path), "lock")
    return None


SOURCES = {
    "Cargo.toml": (r'(?m)^([a-z][\w-]*) = "(\d[\d.]*)"$', '{0} = {{ git = "https://github.com/example-org/{0}" }}', '{0} = "{1}"'),
    "package.json": (r'(?m)^(\s{2,8})"([a-z@][\w@/.-]*)": "\^(\d[\d.]*)"(,?)$',
                     '{0}"{1}": "git+https://github.com/example-org/fork.git#main"{3}', '{0}"{1}": "^{2}"{3}'),
    "pyproject.toml": (r'(?m)^(\s+)"([A-Za-z][\w-]*)(>=[\d.]+)",$',
                       '{0}"{1} @ git+https://github.com/example-org/{1}",', '{0}"{1}{2}",'),
    "setup.py": (r'(?m)^(\s+)"([A-Za-z][\w-]*)(>=[\d.]+[^"]*)",$',
                 '{0}"{1} @ git+https://github.com/example-org/{1}",', '{0}"{1}{2}",'),
    "requirements.txt": (r"(?m)^([A-Za-z][\w-]*)([=>]=)(\d[\d.]*)$", "git+https://github.com/example-org/{0}@main#egg={0}", "{0}{1}{2}"),
    "go.mod": (r"(?m)^(\t)?((?:require )?)(\S+\.\S+/\S+) (v[\d.]+)$", "{0}{1}{2} {3}", "{0}{1}{2} {3}"),
}  # fmt: skip


def git_source(tree, chance):
    names = lambda path: "requirements.txt" if re.fullmatch(r"requirements.*\.txt", os.path.basename(path)) else os.path.basename(path)
    paths = [path for path in tree.paths if names(path) in SOURCES and not NOT_PRODUCT.search(path)]
    chance.shuffle(paths)
    for path in paths:
        pattern, fault_form, twin_form = SOURCES[names(path)]
        text = tree.read(path)
        found = [entry for entry in re.finditer(pattern, text) if entry[1] not in ("version", "edition", "resolver")]
        if not found:
            continue
        entry = chance.choice(found)
        groups = [group or "" for group in entry.groups()]
        newer = [bumped(group) if re.search(r"\d", group) and re.match(r"[v>=\d]", group) else group for group in groups]
        line = text.count("\n", 0, entry.start()) + 1
        put = lambda form, values: text[: entry.start()] + form.format(*values) + text[entry.end() :]
        twin = put(twin_form, newer)
        fault = put(fault_form, groups)
        if names(path) == "go.mod":
            fault = text.rstrip("\n") + f"\n\nreplace {groups[2]} => github.com/example-org/fork {groups[3]}\n"
            line = fault.count("\n")
            # A newer version comes with its checksums.
            sums = os.path.join(os.path.dirname(path), "go.sum")
            if sums in tree.paths:
                old, new = (f"{module} {version}" for module, version in ((groups[2], groups[3]), (newer[2], newer[3])))
                fault, twin = {path: fault}, {path: twin, sums: tree.read(sums).replace(old, new)}
        return Case(path, fault, twin, [line], names(path), "manifest")
    return None


KINDS = [
    Kind("dependency", "lock-tampered", rules("dependency-change", "checksum-changed"), lock_tampered),
    Kind("dependency", "git-source", rules("dependency-change", "source-outside-registry"), git_source),
]  # fmt: skip
