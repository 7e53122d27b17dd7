#!/usr/bin/env python3
"""Measures the whole `qa-skill run` against `git diff -M` of the same range, interleaved, and prints markdown tables.

    bench.py [--binary FILE] [--repos DIR ...] [--fixtures DIR] [--rounds N] [--only ID ...] [--no-drafts] [--parse] [--peers]
             [--json FILE]

Wall times are medians of paired rounds on a warm page cache; only ratios carry over to other machines. Nothing here
asserts a time. Real repositories are looked for by path only: below each --repos directory (or those of
QA_SKILL_BENCH_REPOS, separated by `:`) as `NAME`, `OWNER+NAME` or `OWNER/NAME`, itself or its `repo` or `.git`
subdirectory. What is not there is skipped and said so. Synthetic ones are made below --fixtures when missing.
"""

import argparse
import importlib.util
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import peers

HERE = os.path.dirname(os.path.abspath(__file__))

# Ranges of public repositories that do not move: a merged change by its commit, or two releases.
REAL = [
    ("R-S", "psf/requests", "551a0bf0df2d^1", "551a0bf0df2d"),
    ("R-M", "psf/requests", "561e4b6889f5^1", "561e4b6889f5"),
    ("V-S", "vitejs/vite", "5edd1d5a5b91^1", "5edd1d5a5b91"),
    ("V-M", "vitejs/vite", "6994d17fbc62^1", "6994d17fbc62"),
    ("V-L", "vitejs/vite", "4a7f8d43e6b1^1", "4a7f8d43e6b1"),
    ("B-M", "babel/babel", "f58e67baa1e5^1", "f58e67baa1e5"),
    ("B-L", "babel/babel", "862d93d0771b^1", "862d93d0771b"),
    ("A-M", "rails/rails", "ad9c346c995e^1", "ad9c346c995e"),
    ("A-L", "rails/rails", "343fe92bd24c^1", "343fe92bd24c"),
    ("V-X", "vitejs/vite", "v5.0.0", "v6.0.0"),
]
SYNTHETIC = [
    ("S-10", "scale", "main", "changed-10"),
    ("S-100", "scale", "main", "changed-100"),
    ("S-1k", "scale", "main", "changed-1000"),
    ("S-10k", "scale", "main", "changed-10000"),
    ("S-1M-lines", "million", "main", "change"),
    ("wide-33k", "wide", "main", "change"),
    ("hist-1k", "history-1k", "main", "change"),
    ("hist-100k", "history-100k", "main", "change"),
    ("hist-1M", "history-1m", "main", "change"),
]
# Repositories whose conventions are drafted, by path or by fixture.
DRAFTED = ["sharkdp/fd", "spf13/cobra", "vitejs/vite", "babel/babel"]
DRAFTED_FIXTURES = ["code-50k", "code-1m"]
GROWTH = ["S-10", "S-100", "S-1k", "S-10k"]
HISTORY = ["hist-1k", "hist-100k", "hist-1M"]
PULL_REQUESTS = ["R-S", "R-M", "V-S", "V-M", "V-L", "B-M", "B-L", "A-M", "A-L"]


def find_repository(name, directories):
    owner, short = name.split("/")
    for directory in directories:
        for form in (short, f"{owner}+{short}", name):
            for inner in ("", "repo", ".git"):
                path = os.path.join(directory, form, inner)
                if os.path.isfile(os.path.join(path, "HEAD")) or os.path.isdir(os.path.join(path, ".git")):
                    return path
    return None


def spawn(command):
    """Runs a command; gives wall milliseconds and the exit code."""
    quiet = subprocess.DEVNULL
    begin = time.perf_counter()
    code = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet).returncode
    return (time.perf_counter() - begin) * 1000, code


def peak_memory(command):
    """The peak memory of a command in kibibytes, 0 without GNU time: a child of this script starts with its memory."""
    if not os.path.isfile("/usr/bin/time"):
        return 0
    result = subprocess.run(["/usr/bin/time", "-f", "%M", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return int(result.stderr.split()[-1])


class Case:
    def __init__(self, name, repository, base, head):
        self.name, self.repository = name, os.path.abspath(repository)
        self.base, self.head = (git(repository, "rev-parse", f"{rev}^{{commit}}") for rev in (base, head))
        stat = git(repository, "diff", "-M", "--shortstat", f"{self.base}...{self.head}").replace(",", "").split()
        number = lambda word: next((stat[at - 1] for at, text in enumerate(stat) if text.startswith(word)), "0")
        self.files, self.added, self.removed = number("file"), number("insertion"), number("deletion")
        # --no-ext-diff and --no-textconv: only what git itself does.
        range_ = f"{self.base}...{self.head}"
        self.command = ["git", "-C", self.repository, "diff", "--no-ext-diff", "--no-textconv", "-M", range_]
        self.rss_git = peak_memory(self.command)
        self.forget()

    def forget(self):
        self.git, self.walls, self.metrics, self.peaks, self.exit = [], {1: [], 2: []}, {}, {}, None

    def round(self, binary, scratch):
        self.once_git()
        for jobs in (1, 2):
            self.once(binary, scratch, jobs)

    def once_git(self):
        self.git.append(spawn(self.command)[0])

    def once(self, binary, scratch, jobs):
        out = tempfile.mkdtemp(dir=scratch)
        command = [binary, "run", "--repo", self.repository, "--base", self.base, "--head", self.head]
        command += ["--jobs", str(jobs), "--out", out, "--format", "json", "--quiet"]
        if jobs not in self.peaks:
            # Not from the metrics, which are made before the files that are written beside them.
            self.peaks[jobs] = peak_memory(command)
            shutil.rmtree(out)
            os.mkdir(out)
        wall, self.exit = spawn(command)
        self.walls[jobs].append(wall)
        runs = os.path.join(out, "runs")
        for run in os.listdir(runs) if os.path.isdir(runs) else []:
            if os.path.isfile(os.path.join(runs, run, "metrics.json")):
                with open(os.path.join(runs, run, "metrics.json"), encoding="utf-8") as file:
                    self.metrics[jobs] = json.load(file)["machine"]
        shutil.rmtree(out)

    def median(self, jobs):
        return statistics.median(self.walls[jobs])

    def ratio(self, jobs):
        return self.median(jobs) / statistics.median(self.git)

    def row(self):
        one = self.metrics.get(1, {})
        mebibytes = lambda kibibytes: f"{kibibytes / 1024:.0f}" if kibibytes else "-"
        return [
            self.name, self.files, f"{self.added} / {self.removed}",
            f"{statistics.median(self.git):.1f}", f"{self.median(1):.1f}", f"**{self.ratio(1):.2f}**",
            f"{self.median(2):.1f}", f"{self.ratio(2):.2f}",
            mebibytes(self.rss_git), mebibytes(self.peaks.get(1)), mebibytes(self.peaks.get(2)),
            str(one.get("objectsRead", "-")), str(self.exit),
        ]  # fmt: skip


def git(repository, *arguments):
    result = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def table(head, rows):
    print("|" + "|".join(head) + "|")
    print("|" + "---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("|" + "|".join(row) + "|")
    print(flush=True)


def start_up(binary, rounds):
    walls = {name: [] for name in ("/bin/true", "git --version", "qa-skill --version")}
    for _ in range(rounds * 3):
        walls["/bin/true"].append(spawn(["/bin/true"])[0])
        walls["git --version"].append(spawn(["git", "--version"])[0])
        walls["qa-skill --version"].append(spawn([binary, "--version"])[0])
    print("## Start\n")
    table(["command", "wall ms"], [[name, f"{statistics.median(each):.1f}"] for name, each in walls.items()])


def sandbox(binary, commands=100):
    """What the fence adds to a command: many in one process, less what one takes, beside plain spawns in alternation."""
    fence = [binary, "sandbox", "--empty", "--times"]
    if subprocess.run([*fence, "1", "--", "/bin/true"], stdout=subprocess.DEVNULL).returncode:
        print("sandbox skipped: there is no fence on this machine", file=sys.stderr)
        return
    plain, fenced = [], []
    for _ in range(5):
        plain.extend(spawn(["/bin/true"])[0] for _ in range(commands))
        one = spawn([*fence, "1", "--", "/bin/true"])[0]
        fenced.append((spawn([*fence, str(commands + 1), "--", "/bin/true"])[0] - one) / commands)
    plain, fenced = statistics.median(plain), statistics.median(fenced)
    print("## A command in the fence\n")
    table(["command", "wall ms"], [["/bin/true", f"{plain:.1f}"], ["/bin/true in the fence", f"{fenced:.1f}"],
                                   ["the fence", f"{fenced - plain:.1f}"]])  # fmt: skip


def growth(cases):
    named = {case.name: case for case in cases}
    rows = []
    for before, name in zip([None, *GROWTH], GROWTH):
        if name in named:
            case, files = named[name], int(named[name].files)
            step = f"{case.median(1) / named[before].median(1):.1f}" if before in named else "-"
            per_file = case.median(1) * 1000 / files
            rows.append([name, str(files), f"{case.median(1):.0f}", step, f"{per_file:.0f}", f"{case.ratio(1):.2f}"])
    if rows:
        print("## Growth with the change\n")
        table(["id", "files", "wall ms", "times the row above", "µs per file", "ratio"], rows)
    rows = []
    for name in HISTORY:
        if name in named and HISTORY[0] in named:
            case = named[name]
            more = case.median(1) - named[HISTORY[0]].median(1)
            rows.append([name, f"{case.median(1):.1f}", f"{more:+.1f}", f"{case.ratio(1):.2f}"])
    if rows:
        print("## Growth with the history\n")
        table(["id", "wall ms", "ms over 1k commits", "ratio"], rows)


def processor(command):
    """Runs a command; gives processor milliseconds of it and its children, wall milliseconds, and the exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall, code = spawn(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000, wall, code


def drafts(binary, named, scratch):
    """`consistency-init` over whole repositories and their last 400 changes."""
    rows = []
    for name, path, base in named:
        out = tempfile.mkdtemp(dir=scratch)
        command = [binary, "consistency-init", "--repo", path, "--base", base, "--quiet", "--out", out, "--jobs"]
        runs = [processor([*command, jobs]) for jobs in ("1", "2", "1", "2", "1", "2")]
        if any(code for _, _, code in runs):
            print(f"{name} skipped: consistency-init failed", file=sys.stderr)
            continue
        with open(os.path.join(out, next(each for each in os.listdir(out) if each.endswith(".json")))) as file:
            draft = json.load(file)
        tree = git(path, "ls-tree", "-r", "--name-only", draft["commit"]).count("\n") + 1
        commits = git(path, "rev-list", "--count", draft["commit"])
        median = lambda runs, of: statistics.median(run[of] for run in runs) / 1000
        rows.append([name, str(tree), commits, str(draft["filesRead"]), str(draft["changes"]),
                     f"{median(runs[::2], 0):.1f}", f"{median(runs[::2], 1):.1f}", f"{median(runs[1::2], 1):.1f}",
                     f"{peak_memory([*command, '2']) / 1024:.0f}"])  # fmt: skip
    if rows:
        print("## Drafts of conventions, `consistency-init`\n")
        table(["repository", "files", "commits", "read", "changes tried", "processor s, 1 job", "wall s, 1 job",
               "wall s, 2 jobs", "MB, 2 jobs"], rows)  # fmt: skip


def changed_files(case, scratch, before=False):
    """A directory with the changed files of a case alone, as a hook would be given them or as they were, and their names."""
    checkout = tempfile.mkdtemp(dir=scratch)
    commit = git(case.repository, "merge-base", case.base, case.head).strip() if before else case.head
    there = "--diff-filter=a" if before else "--diff-filter=d"
    names = git(case.repository, "diff", "--no-renames", "--name-only", there, "-z", f"{case.base}...{case.head}")
    names = [name for name in names.split("\0") if name]
    archive = subprocess.run(["git", "-C", case.repository, "archive", commit, *names],
                             capture_output=True, check=True).stdout  # fmt: skip
    subprocess.run(["tar", "-x", "-C", checkout], input=archive, check=True)
    return checkout, names


def beside(case, commands, binary, rounds, scratch):
    """Rows of a table: each command over the changed files, in alternation with the whole of `qa-skill run`."""
    checkout, names = changed_files(case, scratch)
    rows = []
    os.chdir(checkout)
    for name, command in commands.items():
        mine, theirs = [], []
        # The first round only warms the page cache, and what a program keeps between runs.
        spawn([*command, *names])
        for _ in range(rounds):
            theirs.append(processor([*command, *names])[:2])
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            case.once(binary, scratch, 1)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            mine.append((spent * 1000, case.walls[1].pop()))
        cpu, wall = (statistics.median(run[of] for run in theirs) for of in (0, 1))
        own_cpu, own_wall = (statistics.median(run[of] for run in mine) for of in (0, 1))
        rows.append([case.name, name, f"{wall:.0f}", f"{own_wall:.1f}", f"{wall / own_wall:.1f} x", f"{cpu:.0f}",
                     f"{own_cpu:.1f}", f"{cpu / own_cpu:.1f} x"])  # fmt: skip
    os.chdir(HERE)
    return rows


BESIDE = ["id", "tool", "wall ms", "qa-skill run ms", "faster", "processor ms", "of qa-skill run", "less"]


def structure(cases, binary, rounds, scratch):
    """Two matchers of syntax trees over the changed files, with rules like those of the lenses that read syntax."""
    rules = os.path.join(HERE, "bench-rules")
    found = peers.installed(scratch, ["semgrep", "ast-grep"])
    commands = {}
    if "ast-grep" in found:
        commands["ast-grep"] = [found["ast-grep"], "scan", "--config", os.path.join(rules, "ast-grep.yml")]
    if "semgrep" in found:
        commands["semgrep"] = [found["semgrep"], "scan", "--metrics=off", "--disable-version-check", "--quiet",
                               "--jobs=1", "--config", os.path.join(rules, "semgrep.yml")]  # fmt: skip
    rows = [row for case in cases for row in beside(case, commands, binary, rounds, scratch)]
    if rows:
        print("## Matchers of syntax over the changed files, six rules (the whole of qa-skill beside them)\n")
        table(BESIDE, rows)


def bare_parse(cases, binary, rounds, scratch):
    """The least that reading the syntax of every changed file costs: git's diff and a parse of both versions, as the diff
    reads them, or of head's alone, with all of ours beside."""
    cargo = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "qa-reading", "--example", "bare_parse"]
    if subprocess.run(cargo, cwd=os.path.join(HERE, "..")).returncode:
        print("a bare parse skipped: the example could not be built", file=sys.stderr)
        return
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))
    program = os.path.abspath(os.path.join(target, "release", "examples", "bare_parse"))
    rows = []
    for case in cases:
        heads, bases = (
            [os.path.join(checkout, name) for name in names]
            for checkout, names in (changed_files(case, scratch, before) for before in (False, True))
        )
        case.forget()
        parses = {"both": [], "head's": []}
        for warm in [True] + rounds * [False]:
            for of, files in (("both", heads + bases), ("head's", heads)):
                wall, code = spawn([program, *files])
                if code:
                    sys.exit(f"{case.name}: the changed files could not be parsed")
                if not warm:
                    parses[of].append(wall)
            case.round(binary, scratch)
            if warm:
                case.forget()
        git, both, head = (statistics.median(of) for of in (case.git, parses["both"], parses["head's"]))
        walls = [statistics.median(case.walls[jobs]) for jobs in (1, 2)]
        ratios = [f"{wall / (git + parse):.2f}" for parse in (both, head) for wall in walls]
        rows.append([case.name, *(f"{wall:.1f}" for wall in (git, both, head, *walls)), *ratios])
    print("## The whole run beside `git diff -M` and a bare parse of both versions of the changed files, or of head's\n")
    table(["id", "git ms", "parse of both ms", "of head's ms", "qa-skill ms, 1 job", "2 jobs", "1 job, of git and both",
           "2 jobs", "1 job, of git and head's", "2 jobs"], rows)  # fmt: skip


def secrets(cases, binary, rounds, scratch):
    """Secret scanners over the changed files as a hook would run them; installed into the scratch directory."""
    # Nothing is asked of the network: a scan and no more. It keeps its compiled rules between runs.
    options = {"kingfisher": ["scan", "--no-validate", "--no-update-check"]}
    found = peers.installed(scratch, ["detect-secrets-hook", "kingfisher"])
    commands = {name: [path, *options.get(name, [])] for name, path in found.items()}
    secretlint = peers.secretlint(scratch)
    if secretlint:
        commands["secretlint"] = secretlint
    rows = [row for case in cases for row in beside(case, commands, binary, rounds, scratch)]
    print("## Secret scanners over the changed files (the whole of qa-skill beside them)\n")
    table(BESIDE, rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--repos", action="append", default=[], metavar="DIR")
    parser.add_argument("--fixtures", metavar="DIR", help="make and use the synthetic repositories here")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", nargs="*", metavar="ID")
    parser.add_argument("--scratch", metavar="DIR", help="where run directories are written; on a disk, not in memory")
    parser.add_argument("--peers", action="store_true", help="install and time secret scanners, semgrep and ast-grep")
    parser.add_argument("--parse", action="store_true", help="build and time a bare parse of the changed files")
    parser.add_argument("--no-drafts", action="store_true", help="leave out consistency-init")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def make_fixtures(directory, names):
    spec = importlib.util.spec_from_file_location("bench_fixtures", os.path.join(HERE, "bench-fixtures.py"))
    fixtures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fixtures)
    fixtures.make(directory, names)


def drafted(options, directories, wanted):
    """The repositories that conventions are drafted of, with their paths and commits."""
    named = [(name, find_repository(name, directories)) for name in DRAFTED if wanted(name)]
    for name, path in named:
        if not path:
            print(f"{name} skipped: it is not below --repos", file=sys.stderr)
    named = [(name, path, "HEAD") for name, path in named if path]
    if options.fixtures:
        for name in filter(wanted, DRAFTED_FIXTURES):
            make_fixtures(options.fixtures, [name])
            named.append((name, os.path.join(options.fixtures, name), "main"))
    return named


def main():
    options = arguments()
    directories = options.repos + [part for part in os.environ.get("QA_SKILL_BENCH_REPOS", "").split(":") if part]
    binary = os.path.abspath(options.binary)
    wanted = lambda name: not options.only or name in options.only
    cases = []
    for name, repository, base, head in REAL:
        path = find_repository(repository, directories) if wanted(name) else None
        if path:
            cases.append(Case(name, path, base, head))
        elif wanted(name):
            print(f"{name} skipped: {repository} is not below --repos", file=sys.stderr)
    if options.fixtures:
        for name, fixture, base, head in SYNTHETIC:
            if wanted(name):
                make_fixtures(options.fixtures, [fixture])
                cases.append(Case(name, os.path.join(options.fixtures, fixture), base, head))
    with tempfile.TemporaryDirectory(dir=options.scratch and os.path.abspath(options.scratch)) as scratch:
        for case in cases:
            # Long ones are steadier and need fewer rounds; the first round only warms the page cache.
            case.round(binary, scratch)
            long = case.git[0] > 500
            case.forget()
            for _ in range(min(options.rounds, 3) if long else options.rounds):
                case.round(binary, scratch)
        start_up(binary, options.rounds)
        sandbox(binary)
        if cases:
            print("## The whole run beside `git diff -M base...head`\n")
            table(["id", "files", "+ / -", "git ms", "qa-skill ms, 1 job", "ratio", "2 jobs", "ratio", "git MB",
                   "MB, 1 job", "MB, 2 jobs", "objects", "exit"], [case.row() for case in cases])  # fmt: skip
        ratios = [case.ratio(1) for case in cases if case.name in PULL_REQUESTS]
        if ratios:
            mean, worst = statistics.geometric_mean(ratios), max(ratios)
            print(f"Pull requests: geometric mean {mean:.2f} x `git diff -M`, worst {worst:.2f} x, {len(ratios)} ranges.\n")
        growth(cases)
        if not options.no_drafts:
            drafts(binary, drafted(options, directories, wanted), scratch)
        if options.parse:
            code = [case for case in cases if case.name in ("R-M", "V-M", "V-L")]
            bare_parse(code, binary, options.rounds, scratch)
        if options.peers:
            few = min(options.rounds, 5)
            structure([case for case in cases if case.name in ("R-M", "V-M", "V-L")], binary, few, scratch)
            secrets([case for case in cases if case.name in ("R-M", "V-M")], binary, few, scratch)
    if options.json:
        document = {case.name: {"git": case.git, "jobs": case.walls, "machine": case.metrics} for case in cases}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
