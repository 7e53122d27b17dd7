#!/usr/bin/env python3
"""Prints one table about the program: what it finds of real defects, what it says of lasting commits, pairs it judges right.

    evaluate.py [--binary FILE] [--half development|test] [--defects N] [--lasting N] [--cases N] [--presets NAME ...]
                [--repos DIR ...] [--json FILE] [--reveal] [OWNER/NAME ...]

- **Defects**: lines that a later commit mended (mined.py). The commit that wrote them is judged; found is a finding at such
  a line. This is recall on faults that nobody made up, most of which no rule can know.
- **Lasting commits**: older than a year, nothing of them fixed or reverted within it. Each block is a claim to be read.
- **Pairs**: faults planted in four spellings beside what an honest author would have written (recall.py).

Repositories are looked for as bench.py does, and cloned below target/evaluation when they are nowhere. They belong to a half
by the hash of their name, so that nobody chooses. Rules are changed by looking at the half for
development alone: of the test half only the table is printed, and the places of its findings only with --reveal, which the
table then says. Rates have 95 % Wilson intervals.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile

import bench
import mined
import quality
import recall

ALL = "all"
# Ten languages in either half.
REPOSITORIES = [
    "App-vNext/Polly", "AutoMapper/AutoMapper", "BurntSushi/ripgrep", "DapperLib/Dapper", "aio-libs/aiohttp", "axios/axios",
    "caddyserver/caddy", "clap-rs/clap", "colinhacks/zod", "composer/composer", "fastify/fastify", "fmtlib/fmt",
    "gin-gonic/gin", "google/gson", "guzzle/guzzle", "hyperium/hyper", "mochajs/mocha", "nlohmann/json", "pallets/flask",
    "pallets/jinja", "prometheus/prometheus", "psf/requests", "rack/rack", "resque/resque", "scrapy/scrapy", "sharkdp/bat",
    "spf13/viper", "square/moshi", "square/retrofit", "uber-go/zap", "urllib3/urllib3", "vitejs/vite",
]  # fmt: skip


def judged(options, repository, commits):
    """The records of commits of a repository in each preset."""
    jobs = [(options, repository, commit, preset) for commit in commits for preset in options.presets]
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        return list(pool.map(lambda job: quality.judge(*job), jobs))


def introduced(record):
    return [finding for finding in record["findings"] if finding["origin"] == "introduced"]


def at_lines(defect, record):
    """The rules with a finding at the lines of a defect."""
    here = (finding for finding in introduced(record) if finding["side"] != "base" and finding["file"] == defect.path)
    return sorted({finding["rule"] for finding in here if finding["line"] in defect.lines})


def mine(options, repository, most_defects, most_lasting):
    """The defects of a repository, each with what was said at its lines, and the records of lasting commits."""
    commits = mined.history(repository)
    found = mined.defects(repository, commits, most_defects)
    lasting = mined.lasting(repository, commits)
    chosen = random.Random(quality.name_of(repository)).sample(lasting, min(len(lasting), most_lasting))
    records = judged(options, repository, dict.fromkeys([defect.commit for defect in found] + chosen))
    # A run that did not come to a conclusion says nothing about its commit.
    concluded = [record for record in records if record.get("conclusion") in ("pass", "fail")]
    by = {(record["commit"], record["preset"]): record for record in concluded}
    defects = [
        dataclasses.asdict(defect)
        | {"language": defect.language, "preset": preset, "rules": at_lines(defect, by[defect.commit, preset])}
        for defect in found for preset in options.presets if (defect.commit, preset) in by
    ]  # fmt: skip
    print(f"{quality.name_of(repository)}: {len(found)} defects, {len(chosen)} lasting commits, "
          f"{len(records) - len(by)} runs without a conclusion", file=sys.stderr, flush=True)  # fmt: skip
    return defects, [by[key] for commit in chosen for preset in options.presets if (key := (commit, preset)) in by]


def plant(options, repository):
    """The records of faults planted in a repository."""
    lab = recall.Lab(options, repository)
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        jobs = [pool.submit(recall.attempt, options, lab, *case) for case in recall.cases(options, lab)]
        return [record for job in jobs for record in job.result() if record["judged"]]


def by_rule(records, blocking):
    """How many commits each rule has findings in that block, or that advise, and all rules together."""
    rules = [{finding["rule"] for finding in introduced(record) if finding["blocking"] == blocking} for record in records]
    counts = collections.Counter(rule for each in rules for rule in each)
    return [(ALL, sum(map(bool, rules)))] + [(f"`{rule}`", count) for rule, count in sorted(counts.items())]


def table(defects, lasting, planted):
    """The rows of one preset."""
    out = ["| measured | of | rate |", "|---|---|---|"]
    for language in [ALL, *sorted({defect["language"] for defect in defects})]:
        here = [defect for defect in defects if language in (ALL, defect["language"])]
        found = sum(bool(defect["rules"]) for defect in here)
        out.append(f"| mined defects found at their line | {language} | {recall.share(found, len(here))} |")
    for rule, count in collections.Counter(rule for defect in defects for rule in defect["rules"]).most_common():
        out.append(f"| mined defects found at their line | `{rule}` | {recall.share(count, len(defects))} |")
    for blocking, word in ((True, "blocked"), (False, "advised")):
        for rule, count in by_rule(lasting, blocking):
            rate = f"{count}/{len(lasting)} = {quality.rate(count, len(lasting))}"
            out.append(f"| lasting commits {word}, per 1,000 | {rule} | {rate} |")
    for column in ("group", "spelling"):
        for name in [ALL] * (column == "group") + sorted({record[column] for record in planted}):
            here = [record for record in planted if name in (ALL, record[column])]
            out.append(f"| planted pairs judged right | {name} | {recall.share(sum(map(recall.is_right, here)), len(here))} |")
    return out


def checkout(options, name):
    """The git directory of a repository, cloned where it is not here yet."""
    cloned = os.path.join(quality.HERE, "..", "target", "evaluation")
    found = bench.find_repository(name, [*options.repos, cloned])
    if found is None:
        found = os.path.join(cloned, name.replace("/", "+"), "repo")
        subprocess.run(["git", "clone", "--quiet", "--bare", f"https://github.com/{name}", found], check=True)
    return os.path.abspath(found)


def evaluate(options):
    names = [name for name in options.repositories if mined.half(name) == options.half]
    repositories = [checkout(options, name) for name in names]
    defects, lasting, planted = [], [], []
    with tempfile.TemporaryDirectory() as options.scratch:
        for left, repository in zip(range(len(repositories), 0, -1), repositories):
            # Repositories with little leave their part to those after them.
            counts = (-(-(options.defects - len(defects) // len(options.presets)) // left),
                      -(-(options.lasting - len(lasting) // len(options.presets)) // left))  # fmt: skip
            more = mine(options, repository, *counts)
            defects += more[0]
            lasting += more[1]
            planted += plant(options, repository) if options.cases else []
    return names, {"defects": defects, "lasting": lasting, "planted": planted}


def report(options, names, records):
    out = [f"Half `{options.half}`{', places revealed' * options.reveal}: {', '.join(names)}.", ""]
    for preset in options.presets:
        here = [[record for record in kind if record["preset"] == preset] for kind in records.values()]
        out += [f"## Preset {preset}", "", *table(*here), ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(quality.HERE, "..", "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--half", choices=["development", "test"], default="development")
    parser.add_argument("--defects", type=int, default=300, help="of all repositories together")
    parser.add_argument("--lasting", type=int, default=1000, help="commits of all repositories together")
    parser.add_argument("--cases", type=int, default=2, help="planted for each kind and repository")
    parser.add_argument("--presets", nargs="*", default=["default", "guarded"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="where every record goes")
    parser.add_argument("--reveal", action="store_true", help="write the places of the test half too")
    known = os.environ.get("QA_SKILL_BENCH_REPOS", "").split(":")
    parser.add_argument("--repos", nargs="*", default=[each for each in known if each], help="directories of repositories")
    parser.add_argument("repositories", nargs="*", default=REPOSITORIES, metavar="OWNER/NAME")
    # Options of quality.py and recall.py.
    parser.set_defaults(verify=False, count=400, kinds=[], seed=1, spellings=recall.spellings.NAMES)
    options = parser.parse_args()
    if options.json and options.half == "test" and not options.reveal:
        parser.error("--json has places: with the test half it needs --reveal")
    options.binary = os.path.abspath(options.binary)
    names, records = evaluate(options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    print(report(options, names, records))


if __name__ == "__main__":
    main()
