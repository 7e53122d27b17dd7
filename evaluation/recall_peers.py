"""What other people's tools find of the faults that recall.py adds.

A tool is given the changed files of the fault, of the twin, and of the commit before either, each at its path. It found
a fault when a rule says something at one of the fault's very lines, and says more often than about the twin; what it
says nowhere in the twin is counted apart. What it says about the twin is counted as well: in all, and what is new since
the commit. Snippets in Python get the
imports that they need, on a line that was blank, for tools that follow names.
"""

import collections
import json
import os
import re
import subprocess
import sys

import peers
import quality
from recall_kinds import KINDS
from recall_kinds.base import language_of

SECRETS = {"secrets", "generic secrets"}
RULES = os.path.join(quality.HERE, "bench-rules", "semgrep.yml")
# Names that are not defined and imports that are not used would be faults of our snippets and not of the case.
RUFF = "S,B,E9,ASYNC,PERF,PGH,PLE,PLW,PT,RUF"
MODULES = "asyncio|httpx|json|marshal|os|pickle|re|requests|ssl|subprocess|time|yaml"
AT_ONCE = 40


class Peer:
    """A tool: the groups of faults and the files it is for, its command, and how its report is read.

    What is read is `(path, rule, first line, last line)` for each finding.
    """

    def __init__(self, name, groups, takes, options, read, command=None):
        self.name, self.groups, self.takes, self.options, self.read, self.command = name, groups, takes, options, read, command

    def report(self, files, top):
        """Findings in files by path; one file alone where all at once gave no report."""
        found = collections.defaultdict(list)
        for at in range(0, len(files), AT_ONCE):
            some = files[at : at + AT_ONCE]
            rows = self._run(some, top)
            if rows is None:
                rows = []
                for file in some:
                    of_file = self._run([file], top)
                    if of_file is None:
                        print(f"{self.name} gave no report about {file}", file=sys.stderr)
                    rows += of_file or []
            for path, *finding in rows:
                found[os.path.relpath(os.path.join(top, path), top)].append(tuple(finding))
        return found

    def _run(self, files, top):
        run = subprocess.run([*self.command, *self.options, *files], cwd=top, capture_output=True, timeout=600)
        try:
            return list(self.read(json.loads(run.stdout)))
        except (json.JSONDecodeError, KeyError):
            return None


def of_zizmor(report):
    for finding in report:
        for place in finding["locations"]:
            if place["symbolic"]["kind"] == "Primary":
                span = place["concrete"]["location"]
                path = place["symbolic"]["key"]["Local"]["verbatim_path"]
                yield path, finding["ident"], span["start_point"]["row"] + 1, span["end_point"]["row"] + 1


def of_ruff(report):
    for each in report:
        yield each["filename"], each["code"], each["location"]["row"], each["end_location"]["row"]


def of_bandit(report):
    for each in report["results"]:
        yield each["filename"], each["test_id"], min(each["line_range"]), max(each["line_range"])


def of_semgrep(report):
    for each in report["results"]:
        yield each["path"], each["check_id"].rpartition(".")[2], each["start"]["line"], each["end"]["line"]


def of_detect_secrets(report):
    for path, found in report["results"].items():
        for each in found:
            yield path, each["type"], each["line_number"], each["line_number"]


def of_secretlint(report):
    for file in report:
        for each in file["messages"]:
            yield file["filePath"], each["ruleId"], each["loc"]["start"]["line"], each["loc"]["end"]["line"]


def of_kingfisher(report):
    for each in report["findings"]:
        line = each["finding"]["line"]
        yield each["finding"]["path"], each["rule"]["id"], line, line


in_python = lambda path: language_of(path) == "python"
PEERS = [
    Peer("zizmor", {"workflow", "gate"}, lambda path: path.startswith(".github/workflows/"),
         ["--offline", "--no-config", "--no-progress", "--quiet", "--format", "json-v1"], of_zizmor),
    Peer("ruff", SECRETS | {"unicode", "code", "gate", "performance"}, in_python,
         ["check", "--isolated", "--no-cache", "--quiet", "--output-format", "json", "--select", RUFF], of_ruff),
    Peer("bandit", SECRETS | {"code"}, in_python, ["--quiet", "--format", "json"], of_bandit),
    Peer("semgrep", {"code", "performance"}, lambda path: language_of(path) in ("python", "javascript", "typescript"),
         ["scan", "--metrics=off", "--disable-version-check", "--quiet", "--jobs=1", "--json", "--config", RULES], of_semgrep),
    Peer("detect-secrets", SECRETS, bool, ["scan", "--all-files", "--no-verify"], of_detect_secrets),
    Peer("kingfisher", SECRETS, bool, ["scan", "--no-validate", "--no-update-check", "--no-dedup", "--quiet", "--format", "json"],
         of_kingfisher),
    Peer("secretlint", SECRETS, bool, ["--no-glob", "--no-gitignore", "--format", "json"], of_secretlint),
]  # fmt: skip
NAMES = [peer.name for peer in PEERS]


def installed(names, scratch):
    """The tools that are asked for, as far as they can be installed."""
    place = os.path.join(scratch, "peers")
    os.makedirs(place)
    programs = peers.installed(place, [name for name in NAMES if name in names and name != "secretlint"])
    commands = {name: [program] for name, program in programs.items()}
    if "secretlint" in names:
        commands["secretlint"] = peers.secretlint(place)
    for peer in PEERS:
        peer.command = commands.get(peer.name)
    return [peer for peer in PEERS if peer.command]


def compare(tools, lab, made, place):
    """Adds to each record of some cases what the tools say about them. Cases are `(kind, commit, case)` with records."""
    os.makedirs(place)
    # semgrep leaves out tests and more where no such file says otherwise.
    open(os.path.join(place, ".semgrepignore"), "w", encoding="utf-8").close()
    sides = []
    for number, ((kind, commit, case, _), records) in enumerate(made):
        names = {name for side in (case.fault, case.twin) for name, text in side.items()}
        before = {name: case.under.get(name) or text_of(lab, commit, name) for name in names}
        texts = {"fault": before | case.fault, "twin": before | case.twin, "before": before}
        for side, files in texts.items():
            for name, text in files.items():
                if text is not None:
                    text = with_imports(text) if in_python(name) else text
                    path = os.path.join(place, str(number), side, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8", newline="") as file:
                        file.write(text)
        sides.append((kind, case, texts, records))
    for tool in tools:
        at = lambda number, side, name: os.path.join(str(number), side, name)
        given = [(number, side, name) for number, (kind, _, texts, _) in enumerate(sides) if kind.group in tool.groups
                 for side, files in texts.items() for name, text in files.items() if text is not None and tool.takes(name)]  # fmt: skip
        found = tool.report([at(*each) for each in given], place)
        for number, (_, case, _, records) in enumerate(sides):
            said = {side: {name: found[at(number, side, name)] for own, of, name in given if (own, of) == (number, side)}
                    for side in ("fault", "twin", "before")}  # fmt: skip
            if case.path in said["fault"]:
                for record in records:
                    record.setdefault("peers", {})[tool.name] = judged(said, case)


def judged(said, case):
    """What the reports of one tool about the three sides of a case come to."""
    counts = {side: collections.Counter(rule for rows in files.values() for rule, *_ in rows) for side, files in said.items()}
    there = {rule for rule, first, last in said["fault"][case.path] if any(first <= line <= last for line in case.lines)}
    return {
        "found": sorted(there - set(counts["twin"])),
        "more": sorted(rule for rule in there if counts["fault"][rule] > counts["twin"][rule]),
        "twin": sum(counts["twin"].values()),
        "new": sorted((counts["twin"] - counts["before"]).elements()),
    }


def with_imports(text):
    """A text whose added function finds the modules that it names; no line moves."""
    begin = text.rfind("\n\n\ndef _extra(value):\n")
    used = sorted(set(re.findall(rf"\b({MODULES})\.", text[begin:]))) if begin >= 0 else []
    return f"{text[: begin + 1]}import {', '.join(used)}{text[begin + 1 :]}" if used else text


def text_of(lab, commit, name):
    shown = subprocess.run(["git", "-C", lab.path, "show", f"{commit}:{name}"], capture_output=True)
    return shown.stdout.decode(errors="replace") if shown.returncode == 0 else None


def share(hits, records):
    return f"{sum(map(bool, hits))}/{len(records)}" if records else "–"


def report(records, presets):
    """Two tables: what was found kind by kind, and what each tool says about twins."""
    judged = [record for record in records if record["judged"]]
    first = [record for record in judged if record["preset"] == presets[-1]]
    names = [name for name in NAMES if any(name in record.get("peers", {}) for record in first)]
    head = ["kind", "n", "qa-skill found", *(f"right in `{preset}`" for preset in presets), *names]
    out = ["## Beside other tools", "", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for name in [kind.name for kind in KINDS] + ["all"]:
        mine = [record for record in judged if name in (record["kind"], "all")]
        here = [record for record in mine if record["preset"] == presets[-1]]
        if here:
            sides = [[record for record in mine if record["preset"] == preset] for preset in presets]
            right = [share([record["caught"] and record["quiet"] for record in side], side) for side in sides]
            told = [share([one["more"] for one in of(here, peer)], of(here, peer)) for peer in names]
            out.append("| " + " | ".join([name, str(len(here)), share([r["found"] for r in here], here), *right, *told]) + " |")
    out += ["", "| tool | pairs | found | and the rule silent on the twin | and nothing new on the twin | twins with something new "
            "| twins with anything |", "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    own = [{"more": r["found"], "found": r["found"] and not r["spoken"], "new": r["twinNew"], "twin": r["twinNew"]} for r in first]
    for name, told in [("qa-skill", own)] + [(name, of(first, name)) for name in names]:
        cells = [share(hits, told) for hits in (
            [one["more"] for one in told], [one["found"] for one in told], [one["more"] and not one["new"] for one in told],
            [one["new"] for one in told], [one["twin"] for one in told])]  # fmt: skip
        out.append(f"| {name} | {len(told)} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def of(records, name):
    """What a tool says about the cases that it is for."""
    return [record["peers"][name] for record in records if name in record.get("peers", {})]
