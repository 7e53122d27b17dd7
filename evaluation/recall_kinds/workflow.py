"""Workflows that run what they do not know, or let strangers choose what they run."""

import re

from .base import Case, Kind, commit_id, inserted, rules, steps, workflows


def with_step(tree, chance, fault, twin, variant, wanted, without=None):
    """A step of a workflow; `wanted` finds the lines of the fault in it, `without` is what the workflow must not say."""
    for path, text in workflows(tree, chance):
        places = steps(text)
        if not places or "\r" in text or without and without in text:
            continue
        at, indent = chance.choice(places)
        indented = lambda step: [indent + ("- " if not number else "  ") + line for number, line in enumerate(step)]
        lines = [at + 1 + number for number, line in enumerate(fault) if wanted in line]
        return Case(path, inserted(text, at, indented(fault)), inserted(text, at, indented(twin)), lines, variant, "yaml")
    return None


ACTIONS = ["peter-evans/create-pull-request", "softprops/action-gh-release", "docker/login-action",
           "codecov/codecov-action", "tj-actions/changed-files", "dorny/paths-filter"]  # fmt: skip


def unpinned(tree, chance):
    action = chance.choice(ACTIONS)
    reference = chance.choice(["v4", "main", "v2.1.0", "master", "5f3a9c1"])
    step = lambda value: ["name: Extra", f"uses: {action}@{value}"]
    twin = step(f"{commit_id(chance)} # v4")
    return with_step(tree, chance, step(reference), twin, f"@{reference}", "uses:", without=action)


def loosened(tree, chance):
    for path, text in workflows(tree, chance):
        lines, before = text.split("\n"), tree.before(path).split("\n")
        pinned = [at for at, line in enumerate(lines)
                  if re.search(r"uses:\s*['\"]?[\w./-]+@[0-9a-f]{40}\b", line) and line in before]  # fmt: skip
        if not pinned:
            continue
        at = chance.choice(pinned)
        reference = chance.choice(["v4", "main", "v3.0.1"])
        line = lambda value: re.sub(r"@[0-9a-f]{40}\b([\"']?).*", value, lines[at])
        put = lambda value: "\n".join([*lines[:at], line(value), *lines[at + 1 :]])
        fault, twin = put(rf"@{reference}\1"), put(rf"@{commit_id(chance)}\1 # v9")
        return Case(path, fault, twin, [at + 1], f"@{reference}", "yaml")
    return None


CHOSEN = ["github.event.issue.title", "github.event.pull_request.title", "github.head_ref", "github.event.comment.body",
          "github.event.pull_request.head.ref", "github.event.head_commit.message", "github.event.review.body",
          "github.event.pull_request.body", "github.event.commits[0].message"]  # fmt: skip


def script_injection(tree, chance):
    name = chance.choice(CHOSEN)
    form = chance.choice(["one line", "block", "github-script"])
    value = "${{ " + name + " }}"
    if form == "one line":
        fault = [f'run: echo "New {value}"']
        twin = ['run: echo "New $SAID"', "env:", f"  SAID: {value}"]
    elif form == "block":
        fault = ["name: Extra", "run: |", "  set -e", f"  said='{value}'", '  test -n "$said"']
        twin = ["name: Extra", "env:", f"  SAID: {value}", "run: |", "  set -e", '  test -n "$SAID"']
    else:
        action = f"uses: actions/github-script@{commit_id(chance)} # v7"
        fault = [action, "with:", "  script: |", f"    const said = `{value}`", "    core.info(said)"]
        twin = [action, "env:", f"  SAID: {value}", "with:", "  script: |", "    core.info(process.env.SAID)"]
    return with_step(tree, chance, fault, twin, f"{form} {name}", value)


def target_checkout(tree, chance):
    sha = chance.choice(["github.event.pull_request.head.sha", "github.head_ref", "github.event.pull_request.head.ref"])
    ref = "${{ " + sha + " }}"
    if chance.random() < 0.5:
        for path, text in workflows(tree, chance):
            lines = text.split("\n")
            trigger = [at for at, line in enumerate(lines) if re.fullmatch(r"  pull_request:\s*", line)]
            checkouts = [at for at, line in enumerate(lines) if re.match(r"\s+- uses: actions/checkout@", line)
                         and not (at + 1 < len(lines) and "with:" in lines[at + 1])]  # fmt: skip
            if not trigger or not checkouts or "\r" in text or re.search(r"^\s+(if|environment):", text, re.M):
                continue
            at = checkouts[-1]
            indent = re.match(r"\s+", lines[at])[0] + "  "
            after = [*lines[: at + 1], indent + "with:", indent + f"  ref: {ref}", *lines[at + 1 :]]
            twin = "\n".join(after)
            after[trigger[0]] = "  pull_request_target:"
            return Case(path, "\n".join(after), twin, [at + 3, trigger[0] + 1], f"a trigger changed, {sha}", "yaml")
    pin = f"actions/checkout@{commit_id(chance)} # v4"
    body = lambda event, more: [
        "name: Extra", "on:", f"  {event}:", "    types: [opened, synchronize]", "permissions:", "  contents: read",
        "jobs:", "  extra:", "    runs-on: ubuntu-latest", "    steps:", f"      - uses: {pin}", *more,
        "      - run: make extra", "",
    ]  # fmt: skip
    with_ref = ["        with:", f"          ref: {ref}"]
    fault = "\n".join(body("pull_request_target", with_ref))
    twin = "\n".join(chance.choice([body("pull_request", with_ref), body("pull_request_target", [])]))
    return Case(".github/workflows/extra-checks.yml", fault, twin, [3, 13], f"a new workflow, {sha}", "yaml")


def write_all(tree, chance):
    for path, text in workflows(tree, chance):
        lines = text.split("\n")
        top = next((at for at, line in enumerate(lines) if line.startswith("permissions:")), None)
        jobs = next((at for at, line in enumerate(lines) if re.fullmatch(r"jobs:\s*", line)), None)
        if jobs is None or "\r" in text:
            continue
        variant = "added at the top"
        if top is not None:
            end = top + 1
            while end < len(lines) and lines[end].startswith(" "):
                end += 1
            lines = lines[:top] + lines[end:]
            at, variant = top, "in place of others"
        else:
            at = jobs
        put = lambda new: "\n".join(lines[:at] + new + lines[at:])
        twin = put(["permissions:", "  contents: read", "  issues: read"])
        return Case(path, put(["permissions: write-all"]), twin, [at + 1], variant, "yaml")
    return None


def from_network(tree, chance):
    address = chance.choice(["https://get.example.org/install.sh", "https://raw.example.com/a/b/main/setup"])
    fault = chance.choice([
        [f"run: curl -fsSL {address} | bash"], [f"run: wget -qO- {address} | sh"],
        ["name: Extra", "run: |", f"  bash <(curl -s {address})"],
        ["run: |", "  set -e", f"  curl --proto '=https' --tlsv1.2 -sSf {address} | sh -s -- -y"],
        [f'run: sh -c "$(curl -fsSL {address})"'],
        [f"run: curl -sSL {address} | sudo -E bash -"],
        ["run: |", f"  curl -sSL {address} | \\", "    python3 -"],
    ])  # fmt: skip
    twin = ["run: |", f"  curl -fsSLo setup.sh {address}", f"  echo '{'0' * 64}  setup.sh' | sha256sum -c -", "  sh setup.sh"]
    case = with_step(tree, chance, fault, twin, fault[-1].strip().replace(address, "URL"), address)
    if case and len(fault) > 2 and fault[-1].strip() == "python3 -":
        case.lines |= {line + 1 for line in case.lines}
    return case


KINDS = [
    Kind("workflow", "unpinned-action", rules("workflow-hardening", "unpinned-action"), unpinned),
    Kind("workflow", "pin-loosened", rules("workflow-hardening", "pin-loosened"), loosened),
    Kind("workflow", "script-injection", rules("workflow-hardening", "script-injection"), script_injection),
    Kind("workflow", "target-checkout", rules("workflow-hardening", "untrusted-checkout"), target_checkout),
    Kind("workflow", "write-all", rules("workflow-hardening", "excessive-permissions"), write_all),
    Kind("workflow", "script-from-network", rules("workflow-hardening", "script-from-network"), from_network),
]  # fmt: skip
