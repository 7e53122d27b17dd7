"""What all kinds of fault are made of: the files of a commit, a case, and places to put something."""

import re
import subprocess

LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "typescript",
             "go": "go", "rs": "rust", "java": "java"}  # fmt: skip
NOT_PRODUCT = re.compile(
    r"(^|/)(tests?|__tests__|testdata|spec|specs|fixtures?|__fixtures__|examples?|docs?|documentation|site|bench|benches"
    r"|benchmarks?|playgrounds?|vendor|node_modules|dist|build|scripts|templates?|template-[^/]*|\.github)(/|$)"
    r"|(^|[/._-])(test|tests|spec|bench)[._-]|_test\.|[Tt]ests?\.java$|\.d\.ts$|\.min\.",
)
TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$|\.(test|spec)\.[jt]sx?$|_test\.go$|Test\.java$|(^|/)tests/[^/]*\.rs$")
NOT_TEST = re.compile(r"(^|/)(fixtures?|__fixtures__|testdata|vendor|node_modules|playgrounds?|benchmarks?|examples?|templates?)(/|$)")


class Tree:
    """The files of a commit."""

    def __init__(self, repository, commit, lab=None):
        self.repository, self.commit, self.lab = repository, commit, lab
        self._paths = self._changed = None

    def _git(self, *words, **more):
        command = ["git", "-C", self.repository, *words]
        return subprocess.run(command, capture_output=True, check=True, **more).stdout.decode(errors="replace")

    @property
    def paths(self):
        if self._paths is None:
            listed = self._git("ls-tree", "-r", "-z", "--full-tree", self.commit).split("\0")
            self._paths = [line.split("\t", 1)[1] for line in listed if line.startswith("100")]
        return self._paths

    def changed(self):
        """What the commit adds or modifies."""
        if self._changed is None:
            names = self._git("diff", "--name-only", "--diff-filter=AM", f"{self.commit}^1", self.commit).splitlines()
            here = set(self.paths)
            self._changed = [name for name in names if name in here]
        return self._changed

    def read(self, path):
        return self._git("show", f"{self.commit}:{path}")

    def read_all(self, paths):
        """The texts of many files."""
        asked = "".join(f"{self.commit}:{path}\n" for path in paths)
        command = ["git", "-C", self.repository, "cat-file", "--batch"]
        out = subprocess.run(command, input=asked.encode(), capture_output=True, check=True).stdout
        texts, at = {}, 0
        for path in paths:
            end = out.index(b"\n", at)
            head = out[at:end].split(b" ")
            if head[-1] == b"missing":
                at = end + 1
                continue
            size = int(head[-1])
            texts[path] = out[end + 1 : end + 1 + size].decode(errors="replace")
            at = end + 2 + size
        return texts

    def before(self, path):
        """A file before the commit; empty where there was none."""
        try:
            return self._git("show", f"{self.commit}^1:{path}")
        except subprocess.CalledProcessError:
            return ""

    def unchanged(self, paths):
        """Those of some files that the commit leaves as they were."""
        changed = set(self.changed())
        return [path for path in paths if path not in changed]

    def product(self, languages=None):
        """Product code in some languages."""
        known = languages or set(LANGUAGES.values())
        return [path for path in self.paths if language_of(path) in known and not NOT_PRODUCT.search(path)]

    def tests(self):
        """Files of tests."""
        return [path for path in self.paths if TEST_FILE.search(path) and not NOT_TEST.search(path)]


def language_of(path):
    return LANGUAGES.get(path.rsplit(".", 1)[-1])


class Case:
    """A fault and its twin: texts by path, `None` for a file that is deleted, and what is laid under both."""

    def __init__(self, path, fault, twin, lines, variant, language="", under=None):
        whole = lambda side: dict(side) if isinstance(side, dict) else {path: side}
        self.path, self.fault, self.twin, self.lines = path, whole(fault), whole(twin), set(lines)
        self.variant, self.language, self.under = variant, language, under or {}
        # A broken caller may be reported at the definition, or at the call in a file that the fault leaves alone.
        self.everywhere = False


class Kind:
    """A kind of fault: the class it belongs to, the rules that are to find it, and how a case of it is made."""

    def __init__(self, group, name, rules, make):
        self.group, self.name, self.rules, self.make = group, name, rules, make


def rules(lens, *names):
    return {f"{lens}/{name}" for name in names}


def inserted(text, at, lines):
    """A text with lines put before the line `at`, counted from 0."""
    old = text.split("\n")
    return "\n".join(old[:at] + lines + old[at:])


def line_at(text, at):
    """The line of a position, from 1."""
    return text.count("\n", 0, at) + 1


def commit_id(chance):
    return "".join(chance.choice("0123456789abcdef") for _ in range(40))


def workflows(tree, chance):
    paths = [path for path in tree.paths if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)]
    chance.shuffle(paths)
    return [(path, tree.read(path)) for path in paths]


def steps(text):
    """The lines at which steps of jobs begin, with their indentation."""
    lines, found = text.split("\n"), []
    for at, line in enumerate(lines):
        if re.fullmatch(r"\s+steps:\s*", line):
            indent = None
            for below in range(at + 1, len(lines)):
                item = re.match(r"(\s*)- ", lines[below])
                if indent is None and item:
                    indent = item[1]
                if item and item[1] == indent:
                    found.append((below, indent))
                elif lines[below].strip() and indent is not None and not lines[below].startswith(indent + " "):
                    if not lines[below].lstrip().startswith("#"):
                        break
    return found


# Functions at the end of a file: what the file ends with, the head of the function, the indentation and its end.
FRAMES = {
    "python": ("", ["", "", "def _extra(value):"], "    ", []),
    "javascript": ("", ["", "export function extraStep(value, element) {"], "  ", ["}"]),
    "typescript": ("", ["", "export function extraStep(value: string, element: HTMLElement) {"], "  ", ["}"]),
    "go": ("", ["", "func extraStep(value string) {"], "\t", ["}"]),
    "rust": ("", ["", "fn extra_step(value: &str) {"], "    ", ["}"]),
    "java": ("}", ["", "  static void extraStep(String value) throws Exception {"], "    ", ["  }"]),
}


def some_file(tree, chance, languages=None):
    """A file of product code, one that the commit changes if there is one."""
    paths = tree.product(languages)
    changed = set(tree.changed())
    paths = [path for path in paths if path in changed] or paths
    return chance.choice(paths) if paths else None


def at_end(text, language, lines):
    """A text with lines at its end, inside the class where there has to be one, and the number of the first of them."""
    last = FRAMES[language][0]
    body = text.rstrip("\n")
    if "\r" in text or not body.endswith(last):
        return None, 0
    body = body[: len(body) - len(last)].rstrip()
    return "\n".join([body, *lines, last]).rstrip() + "\n", body.count("\n") + 2


def in_function(faults, twins):
    def make(tree, chance):
        path = some_file(tree, chance, {each for each in LANGUAGES.values() if each.replace("type", "java") in faults})
        if path is None:
            return None
        text = tree.read(path)
        language = language_of(path)
        family = language.replace("type", "java")
        last, head, indent, tail = FRAMES[language]
        body = text.rstrip("\n")
        if "\r" in text or not body.endswith(last):
            return None
        body = body[: len(body) - len(last)].rstrip()
        put = lambda lines: "\n".join([body, *head, *(indent + line.replace("»", "") for line in lines), *tail, last]).rstrip() + "\n"
        fault, twin = chance.choice(faults[family]), chance.choice(twins[family])
        begin = body.count("\n") + 1 + len(head)
        lines = [begin + 1 + at for at, line in enumerate(fault) if line.startswith("»")]
        return Case(path, put(fault), put(twin), lines, " ".join(line.strip("» ") for line in fault), language)

    return make
