"""What a repository's history says about its own commits: which were defects that someone mended, and which lasted.

A line that a fix removes or replaces was a defect of the commit that wrote it (the method of Sliwerski, Zimmermann and
Zeller, "SZZ"). Blame follows first parents, so that a merged pull request is one commit, and says where the line stood in
that commit, which is where the gate should have spoken. A commit of which nothing was fixed or reverted within a year is
one that people were content with.
"""

import collections
import dataclasses
import hashlib
import re
import subprocess

import quality

YEAR = 365 * 24 * 3600
# A fix that changes much mends more than one thing, and most of its lines are not the fault.
MOST_FILES, MOST_LINES = 3, 8

FIX = re.compile(r"(?i)\b(?:fix(?:es|ed)?|bugfix|hotfix|bug|crash(?:es)?|regression|race|deadlock|leaks?|incorrect(?:ly)?|panic)\b")
# Fixes of something else than behaviour, also after the scope that conventional commits put in brackets.
OTHER = re.compile(
    r"(?i)\b(?:typos?|spelling|grammar|grammatical|wording|docs?|docstrings?|documentation|readme|changelog|comments?|lint(?:er|ing)?|format(?:ting)?|style|tests?|flaky|"
    r"ci|workflows?|actions?|build|deps|dependenc(?:y|ies)|bump|release|version|types?|typing|warnings?|mypy|clippy|eslint|examples?|"
    r"website|links?|coverage|benchmarks?)\b"
)
REVERTED = re.compile(r"This reverts commit ([0-9a-f]{7,40})")

LANGUAGES = {
    "c": "C", "cc": "C++", "cjs": "JavaScript", "cpp": "C++", "cs": "C#", "cts": "TypeScript", "go": "Go", "h": "C++",
    "hpp": "C++", "java": "Java", "js": "JavaScript", "jsx": "JavaScript", "kt": "Kotlin", "mjs": "JavaScript",
    "mts": "TypeScript", "php": "PHP", "py": "Python", "rb": "Ruby", "rs": "Rust", "ts": "TypeScript", "tsx": "TypeScript",
}  # fmt: skip
NOT_PRODUCT = re.compile(
    r"(?i)(?:^|/)(?:\.[^/]*|docs?|documentation|examples?|_examples|samples?|tests?|testing|__tests__|specs?|e2e|fixtures?|testdata|"
    r"bench(?:es|marks?)?|playground|vendor|third_party|dist|build)/|[._-](?:test|spec|bench)s?\.|(?:^|/)test_|[._](?:min|d)\.[jt]s$"
    r"|Tests?\.(?:java|kt|cs)$"
)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+")


@dataclasses.dataclass(frozen=True)
class Commit:
    id: str
    time: int
    message: str


@dataclasses.dataclass(frozen=True)
class Defect:
    """Lines of a file that a commit wrote and a later one mended."""

    repository: str
    commit: str
    path: str
    lines: tuple
    fix: str
    subject: str
    text: tuple
    days: int

    @property
    def language(self):
        return LANGUAGES[self.path.rsplit(".", 1)[-1].lower()]


def half(name):
    """The half that the repository OWNER/NAME belongs to, which nobody chooses."""
    return "development" if hashlib.sha256(name.lower().encode()).digest()[0] < 128 else "test"


def history(repository):
    """The first-parent commits, the newest first, without the root."""
    listed = quality.git(repository, "log", "--first-parent", "--min-parents=1", "-z", "--format=%H %ct %B", "HEAD")
    entries = (entry.split(" ", 2) for entry in listed.decode(errors="replace").split("\0") if entry)
    return [Commit(id_, int(time), message) for id_, time, message in entries]


def is_fix(message):
    # A merge says what it merges below its subject.
    lines = [line for line in message.splitlines() if line.strip()][:2]
    subject = " ".join(lines if lines and lines[0].startswith("Merge ") else lines[:1])
    return bool(FIX.search(subject)) and not OTHER.search(subject)


def is_product(path):
    return path.rsplit(".", 1)[-1].lower() in LANGUAGES and not NOT_PRODUCT.search(path)


def is_code(text):
    """Whether a removed line says something; brackets and comments do not."""
    text = text.strip()
    return bool(re.search(r"\w", text)) and not re.match(r"//|#|/?\*|--|\"\"\"|'''|(?:import|from|use|package|using)\b", text)


def removed(repository, commit):
    """The lines of product code that a commit removed, by path, if it is small enough to be one fix."""
    patch = quality.git(
        repository, "-c", "core.quotePath=false", "diff", "--no-ext-diff", "-w", "-M", "-U0", f"{commit}^1", commit
    ).decode(errors="replace")
    lines, path, number = collections.defaultdict(list), None, 0
    for line in patch.split("\n"):
        if line.startswith("--- "):
            path = line[6:] if line.startswith("--- a/") and is_product(line[6:]) else None
        elif match := HUNK.match(line):
            number = int(match[1])
        elif path and line.startswith("-"):
            if is_code(line[1:]):
                lines[path].append(number)
            number += 1
    small = len(lines) <= MOST_FILES and sum(map(len, lines.values())) <= MOST_LINES
    return lines if small else {}


def written(repository, commit, path, lines):
    """For each line of a file before a commit: who wrote it, in which file and line, and its text."""
    ranges = [word for line in lines for word in ("-L", f"{line},{line}")]
    command = ("blame", "--first-parent", "-w", "--line-porcelain", *ranges, f"{commit}^1", "--", path)
    try:
        blamed = quality.git(repository, *command).decode(errors="replace")
    except subprocess.CalledProcessError:
        # A partial copy of a repository lacks a version of the file.
        return
    author = line = place = None
    for each in blamed.split("\n"):
        if match := re.match(r"([0-9a-f]{40}) (\d+) \d+", each):
            author, line = match[1], int(match[2])
        elif each.startswith("filename "):
            place = each[len("filename ") :]
        elif each.startswith("\t"):
            yield author, place, line, each[1:]


def defects(repository, commits, most):
    """Up to `most` defects, of the newest fixes first. Each fix gives one: the lines of the commit that wrote most of it."""
    times = {commit.id: commit.time for commit in commits}
    name, found, seen = quality.name_of(repository), [], set()
    for fix in commits:
        if len(found) == most:
            break
        if not is_fix(fix.message):
            continue
        places = collections.defaultdict(dict)
        for path, lines in removed(repository, fix.id).items():
            for author, place, line, text in written(repository, fix.id, path, lines):
                if author in times and is_product(place):
                    places[author, place][line] = text.strip()
        if not places:
            continue
        (author, place), lines = max(places.items(), key=lambda item: (len(item[1]), times[item[0][0]]))
        if (author, place) in seen:
            continue
        seen.add((author, place))
        days = (fix.time - times[author]) // (24 * 3600)
        subject = next(line for line in fix.message.splitlines() if line.strip())
        found.append(
            Defect(name, author, place, tuple(sorted(lines)), fix.id, subject, tuple(lines[n] for n in sorted(lines)), days)
        )
    return found


def lasting(repository, commits):
    """The commits older than a year of which no line was removed by a fix, and that were not reverted, within a year."""
    times = {commit.id: commit.time for commit in commits}
    mended = set()
    for commit in commits:
        for short in REVERTED.findall(commit.message):
            mended |= {each for each, time in times.items() if each.startswith(short) and commit.time - time < YEAR}
        if not is_fix(commit.message):
            continue
        for path, lines in removed(repository, commit.id).items():
            authors = {author for author, _, _, _ in written(repository, commit.id, path, lines)}
            mended |= {author for author in authors if author in times and commit.time - times[author] < YEAR}
    newest = max((commit.time for commit in commits), default=0)
    return [commit.id for commit in commits if newest - commit.time > YEAR and commit.id not in mended]
