"""Checks that are switched off where they are set up: workflows, linters, owners, and the gate's own settings."""

import json
import re

from .base import Case, Kind, inserted, rules, steps, workflows

CHECKS = re.compile(r"\b(tests?|pytest|lint|check|clippy|vet|mypy|typecheck|tox|verify|fmt|nox)\b")


def checking_steps(text):
    """Steps that check something: the first line, the line after the last, the indentation."""
    places, lines = steps(text), text.split("\n")
    for number, (at, indent) in enumerate(places):
        end = places[number + 1][0] if number + 1 < len(places) else at + 1
        while number + 1 == len(places) and end < len(lines) and lines[end].startswith(indent + "  "):
            end += 1
        run = next((line for line in range(at, end) if re.match(r"[\s-]*run: ", lines[line])), None)
        # A step that begins with a text over more lines has no place for another key below its first line, and one that
        # sets outputs checks nothing by itself.
        if re.search(r":\s*[|>][+-]?\s*$", lines[at]) or any("GITHUB_OUTPUT" in line for line in lines[at:end]):
            continue
        if run is not None and end - at < 30 and any(CHECKS.search(line) for line in lines[run:end]):
            if not any("continue-on-error" in line or re.match(r"\s+(if|timeout-minutes):", line) for line in lines[at:end]):
                yield at, end, indent, run


def runs_for_changes(text):
    return re.search(r"(?m)^(on|'on'|\"on\"):(.*\n)*?.*\b(pull_request|push)\b", text) and "pull_request_target" not in text


def softened(tree, chance):
    for path, text in workflows(tree, chance):
        found = list(checking_steps(text))
        if not found or "\r" in text or not runs_for_changes(text):
            continue
        at, _, indent, run = chance.choice(found)
        lines = text.split("\n")
        twin = inserted(text, at + 1, [indent + "  timeout-minutes: 20"])
        command = re.match(r"([\s-]*run: )([^|>\s'\"][^'\"#]*)$", lines[run])
        form = chance.choice(["ignored", "or true", "never"])
        if form == "or true" and command and CHECKS.search(command[2]):
            fault = "\n".join([*lines[:run], f"{lines[run].rstrip()} || true", *lines[run + 1 :]])
            return Case(path, fault, twin, [run + 1], "|| true", "yaml")
        line = "continue-on-error: true" if form != "never" else "if: false"
        return Case(path, inserted(text, at + 1, [indent + "  " + line]), twin, [at + 2], line, "yaml")
    return None


def workflow_deleted(tree, chance):
    unchanged = set(tree.unchanged(tree.paths))
    for path, text in workflows(tree, chance):
        if path in unchanged and runs_for_changes(text) and any(True for _ in checking_steps(text)):
            directory, name = path.rsplit("/", 1)
            twin = {path: None, f"{directory}/all-{name}": text}
            return Case(path, {path: None}, twin, range(1, text.count("\n") + 2), "deleted", "yaml")
    return None


# What a linter's configuration looks like: a pattern of a line, the line that looks at less, and one that does not.
LINTERS = {
    "pyproject.toml": [(r'(?m)^(\s+)"[A-Z]+[0-9]*",(.*)$', None, None), (r"(?m)^strict = true$", "strict = false", "strict = true  # on purpose")],
    "biome.jsonc": [(r'(?m)^(\s+)"level": "error",$', r'\1"level": "off",', r'\1"level": "error", // on purpose')],
    "eslint.config.js": [(r"(?m)^(\s+)'([\w/@-]+)': 'error',$", r"\1'\2': 'off',", r"\1'\2': 'error', // on purpose"),
                         (r"(?m)^(\s+)'([\w/@-]+)': \[$", None, None)],
    ".golangci.yml": [(r"(?m)^    - (\w+)$", None, None)],
    "tsconfig.json": [(r'(?m)^(\s+)"strict": true,$', r'\1"strict": false,', r'\1"strict": true, // on purpose')],
}  # fmt: skip
LINTERS["eslint.config.ts"] = [(r'(?m)^(\s+)"?([\w/@-]+)"?: "error",$', r'\1"\2": "off",', r'\1"\2": "error", // on purpose')]
# Where a repository has none: one that it might have.
LAID = {
    "Cargo.toml": ('\n[lints.clippy]\nunwrap_used = "deny"\npanic = "deny"\n', 'unwrap_used = "deny"', 'unwrap_used = "allow"',
                   'unwrap_used = "forbid"'),
    "pyproject.toml": ('\n[tool.mypy]\nstrict = true\nwarn_unused_ignores = true\n', "strict = true", "strict = false",
                       "strict = true  # on purpose"),
    "package.json": ({".eslintrc.json": '{\n  "rules": {\n    "no-eval": "error",\n    "eqeqeq": "error"\n  }\n}\n'}, '"no-eval": "error"',
                     '"no-eval": "off"', '"no-eval": ["error"]'),
    "pom.xml": ({"checkstyle.xml": '<module name="Checker">\n  <property name="severity" value="error"/>\n  <module name="TreeWalker"/>\n</module>\n'},
                'value="error"', 'value="ignore"', 'value="error" '),
}  # fmt: skip


def lint_disabled(tree, chance):
    unchanged = set(tree.unchanged(tree.paths))
    names = [name for name in LINTERS if name in unchanged]
    chance.shuffle(names)
    for name in names:
        text = tree.read(name)
        forms = [(pattern, bad, good, list(re.finditer(pattern, text))) for pattern, bad, good in LINTERS[name]]
        if name == "pyproject.toml" and "[tool.ruff.lint]" not in text:
            forms = forms[1:]
        forms = [form for form in forms if form[3]]
        if not forms:
            continue
        pattern, bad, good, found = chance.choice(forms)
        if name == "pyproject.toml" and bad is None:
            start = text.index("[tool.ruff.lint]")
            select = text.find("select = [", start)
            found = [match for match in found if select < match.start() < text.find("]", select)] if select > 0 else []
        if not found:
            continue
        match = chance.choice(found)
        line = text.count("\n", 0, match.start()) + 1
        swap = lambda new: text[: match.start()] + re.sub(pattern, new, match[0]) + text[match.end() :]
        if bad is None:
            if name == "eslint.config.js":
                continue
            mark = "  # on purpose"
            return Case(name, text[: match.start()] + text[match.end() + 1 :], text[: match.end()] + mark + text[match.end() :], [line],
                        f"{name}: removed", "configuration")  # fmt: skip
        return Case(name, swap(bad), swap(good), [line], f"{name}: {bad}", "configuration")
    return laid_linter(tree, chance, unchanged)


def laid_linter(tree, chance, unchanged):
    for manifest, (addition, old, bad, good) in LAID.items():
        if manifest not in unchanged:
            continue
        if isinstance(addition, dict):
            path, text = next(iter(addition.items()))
            # Another file of the same tool may win over it.
            stem = path.rsplit(".", 1)[0]
            if any(each.rsplit(".", 1)[0] == stem for each in tree.paths):
                continue
        else:
            path, text = manifest, tree.read(manifest).rstrip("\n") + "\n" + addition
            if "[tool.mypy]" in tree.read(manifest) or "[lints" in tree.read(manifest):
                continue
        line = text.count("\n", 0, text.index(old)) + 1
        return Case(path, text.replace(old, bad, 1), text.replace(old, good, 1), [line], f"{path}: {bad}", "configuration", {path: text})
    return None


OWNERS = "* @acme/maintainers\n/src/ @acme/core @acme/security\n/.github/ @acme/release\n/docs/ @acme/docs\n"


def owners_cut(tree, chance):
    path = next((path for path in (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS") if path in tree.paths), ".github/CODEOWNERS")
    form = chance.choice(["rule removed", "owner removed", "nobody", "deleted"])
    fault, lines = {
        "rule removed": (OWNERS.replace("/src/ @acme/core @acme/security\n", ""), [2]),
        "owner removed": (OWNERS.replace(" @acme/security", ""), [2]),
        "nobody": (OWNERS + "/src/auth/\n", [5]),
        "deleted": (None, [1, 2, 3, 4]),
    }[form]
    return Case(path, {path: fault}, {path: OWNERS.replace("@acme/docs", "@acme/writers")}, lines, form, "owners", {path: OWNERS})


POLICY = """version = 1
mode = "strict"

[limits]
max-files = 20000
allow-omitted = false

[ratchet]
theta-permille = 980
min-support = 20

[lenses.secret-token]
enabled = true
required = true

[rules."workflow-hardening/script-injection"]
strength = "block"
"""
LOOSER = [('mode = "strict"', 'mode = "best_effort"'), ("allow-omitted = false", "allow-omitted = true"),
          ("min-support = 20", "min-support = 2000"), ("enabled = true", "enabled = false"), ("required = true", "required = false"),
          ('strength = "block"', 'strength = "advise"'), ('strength = "block"', 'strength = "off"')]  # fmt: skip
STRICTER = [("theta-permille = 980", "theta-permille = 950"), ("min-support = 20", "min-support = 10"), ("version = 1", "# Ours.\nversion = 1"),
            ("max-files = 20000", "max-files = 10000")]  # fmt: skip
POLICY_PATH = ".qa-skill/policy.toml"


def policy_weakened(tree, chance):
    old, new = chance.choice(LOOSER)
    line = POLICY.count("\n", 0, POLICY.index(old)) + 1
    fault, twin = POLICY.replace(old, new, 1), POLICY.replace(*chance.choice(STRICTER), 1)
    return Case(POLICY_PATH, fault, twin, [line], new, "policy", {POLICY_PATH: POLICY})


def rubric_edited(tree, chance):
    under = tree.lab.conventions() if tree.lab else None
    if under is None:
        return None
    path = next(path for path in under if path.endswith(".json"))
    rubric = json.loads(under[path])
    if not rubric["conventions"]:
        return None
    one = chance.choice(rubric["conventions"])
    form = chance.choice(["softened", "narrowed", "removed"])
    if form == "softened":
        one["strength"] = "advise" if one["strength"] == "block" else "off"
    elif form == "narrowed":
        one["paths"] = ["nowhere/**"]
    else:
        rubric["conventions"].remove(one)
    edited = json.dumps(rubric, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    twin = {POLICY_PATH: "# Approved in the spring.\n" + under[POLICY_PATH]}
    return Case(path, {path: edited}, twin, range(1, edited.count("\n") + 2), form, "rubric", under)


KINDS = [
    Kind("gate", "ci-softened", rules("ci-weakening", "ci-softened"), softened),
    Kind("gate", "workflow-deleted", rules("ci-weakening", "ci-removed"), workflow_deleted),
    Kind("gate", "policy-weakened", rules("policy-weakening", "policy-weakened"), policy_weakened),
    Kind("gate", "rubric-edited", rules("policy-weakening", "rubric-changed"), rubric_edited),
    Kind("gate", "lint-disabled", rules("lint-weakening", "lint-disabled"), lint_disabled),
    Kind("gate", "codeowners-cut", rules("policy-weakening", "codeowners-weakened"), owners_cut),
]
