"""The kinds of fault that recall.py adds, each with what an honest author writes in its place."""

import base64
import hashlib
import os
import re
import subprocess

LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "typescript",
             "go": "go", "rs": "rust", "java": "java"}  # fmt: skip
NOT_PRODUCT = re.compile(
    r"(^|/)(tests?|__tests__|testdata|spec|specs|fixtures?|examples?|docs?|documentation|site|bench|benches|benchmarks?"
    r"|playground|vendor|node_modules|dist|build|scripts|\.github)(/|$)"
    r"|(^|[/._-])(test|tests|spec|bench)[._-]|_test\.|[Tt]ests?\.java$|\.d\.ts$|\.min\.",
)


class Tree:
    """The files of a commit."""

    def __init__(self, repository, commit):
        self.repository, self.commit, self._paths = repository, commit, None

    def _git(self, *words):
        command = ["git", "-C", self.repository, *words]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")

    @property
    def paths(self):
        if self._paths is None:
            listed = self._git("ls-tree", "-r", "--full-tree", self.commit).splitlines()
            self._paths = [line.split("\t", 1)[1] for line in listed if line.startswith("100")]
        return self._paths

    def changed(self):
        names = self._git("diff", "--name-only", "--diff-filter=AM", f"{self.commit}^1", self.commit).splitlines()
        return [name for name in names if name in set(self.paths)]

    def read(self, path):
        return self._git("show", f"{self.commit}:{path}")

    def before(self, path):
        """A file before the commit; empty where there was none."""
        try:
            return self._git("show", f"{self.commit}^1:{path}")
        except subprocess.CalledProcessError:
            return ""


class Case:
    """A fault and its twin in one file, and the lines of the fault."""

    def __init__(self, path, fault, twin, lines, variant, language="", more=None):
        self.path, self.fault, self.twin, self.lines = path, fault, twin, set(lines)
        self.variant, self.language, self.more = variant, language, more or {}

    def texts(self, side):
        return {self.path: getattr(self, side), **self.more}


class Kind:
    def __init__(self, group, name, rules, make):
        self.group, self.name, self.rules, self.make = group, name, rules, make


def inserted(text, at, lines):
    """A text with lines put before the line `at`, counted from 0."""
    old = text.split("\n")
    return "\n".join(old[:at] + lines + old[at:])


def commit_id(chance):
    return "".join(chance.choice("0123456789abcdef") for _ in range(40))


# Workflows.


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
        fault = [f'run: echo "New: {value}"']
        twin = ['run: echo "New: $SAID"', "env:", f"  SAID: {value}"]
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


# Dependencies.

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
        found = list(re.finditer(pattern, text))
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
        return Case(path, fault, twin, [line], names(path), "manifest")
    return None


# Code. For each language: variants of a fault and twins, as the body of a function; `»` marks the lines of the fault.

COMMANDS = {
    "python": (["»os.system('tar czf backup.tgz ' + value)"], ["»os.system(f'git log {value}')"], ["»os.system(value)"],
               ["»subprocess.run(f'git log {value}', shell=True, check=True)"],
               ["»subprocess.check_output('grep ' + value + ' notes.txt', shell=True)"],
               ["»subprocess.call(value, shell=True)"], ["»os.popen('ls %s' % value).read()"],
               ["»subprocess.run(", "    f'git log {value}',", "»    shell=True,", "    check=True,", ")"],
               ["»subprocess.Popen('git log {}'.format(value), shell=True)"]),
    "javascript": (["»execSync(`git log ${value}`)"], ["»child_process.exec('git log ' + value)"],
                   ["»require('child_process').execSync(`tar czf backup.tgz ${value}`)"], ["»child_process.exec(value)"],
                   ["»exec(`rm -rf ${value}`, () => {})"], ["»spawn(value, { shell: true })"]),
    "go": (['»exec.Command("sh", "-c", value).Run()'], ['»exec.Command("bash", "-c", "git log "+value).Run()'],
           ['»exec.Command("/bin/sh", "-c", fmt.Sprintf("git log %s", value)).Run()']),
    "rust": (['»let _ = std::process::Command::new("sh").arg("-c").arg(value).status();'],
             ['»let _ = std::process::Command::new("sh").arg("-c").arg(format!("git log {value}")).status();'],
             ['»let _ = std::process::Command::new("sh").args(["-c", value]).status();'],
             ['»let _ = std::process::Command::new("sh")', '»    .arg("-c")', '»    .arg(format!("git log {value}"))', "    .status();"]),
    "java": (['»Runtime.getRuntime().exec("git log " + value);'], ["»Runtime.getRuntime().exec(value);"],
             ['»new ProcessBuilder("sh", "-c", value).start();'],
             ['»new ProcessBuilder("/bin/bash", "-c", "git log " + value).start();']),
}  # fmt: skip
COMMAND_TWINS = {
    "python": (["subprocess.run(['git', 'log', value], check=True)"],),
    "javascript": (["execFileSync('git', ['log', value])"],),
    "go": (['exec.Command("git", "log", value).Run()'],),
    "rust": (['let _ = std::process::Command::new("git").arg("log").arg(value).status();'],),
    "java": (['new ProcessBuilder("git", "log", value).start();'],),
}
PROGRAMS = {
    "python": (["»return eval(value)"], ["»exec(value, {})"], ["»return eval(f'{value} + 1')"], ["»exec(compile(value, 'x', 'exec'))"]),
    "javascript": (["»return eval(value)"], ["»return new Function('a', value)"], ["»return eval(`(${value})`)"],
                   ["»return Function('return ' + value)()"], ["»return vm.runInNewContext(value)"]),
}  # fmt: skip
PROGRAM_TWINS = {"python": (["return ast.literal_eval(value)"],), "javascript": (["return JSON.parse(value)"],)}
PAGES = {"javascript": (["»element.innerHTML = value"], ["»document.write(value)"], ["»element.innerHTML = `<b>${value}</b>`"],
                        ["»element.outerHTML = '<p>' + value"], ["»element.insertAdjacentHTML('beforeend', value)"])}  # fmt: skip
PAGE_TWINS = {"javascript": (["element.textContent = value"],)}
LOADERS = {
    "python": (["»return pickle.loads(value)"], ["»return yaml.load(value)"], ["»return yaml.load(value, Loader=yaml.Loader)"],
               ["»return marshal.loads(value)"], ["with open(value, 'rb') as file:", "»    return pickle.load(file)"]),
    "java": (["»return new ObjectInputStream(value).readObject();"],),
}  # fmt: skip
LOADER_TWINS = {"python": (["return json.loads(value)"], ["return yaml.safe_load(value)"]), "java": (["return value.readAllBytes();"],)}
TRUST = {
    "python": (["»return requests.get(value, verify=False)"], ["session = requests.Session()", "»session.verify = False"],
               ["»context = ssl._create_unverified_context()"],
               ["context = ssl.create_default_context()", "»context.check_hostname = False", "»context.verify_mode = ssl.CERT_NONE"],
               ["»return httpx.Client(verify=False)"],
               ["»return requests.post(", "    value,", "»    verify=False,", ")"]),
    "javascript": (["»const agent = new https.Agent({ rejectUnauthorized: false })"],
                   ["»process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'"],
                   ["»process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = 0"],
                   ["const agent = new https.Agent({", "»  rejectUnauthorized: false,", "})"]),
    "go": (["»config := &tls.Config{InsecureSkipVerify: true}", "_ = config"],
           ["config := &tls.Config{}", "»config.InsecureSkipVerify = true"],
           ["config := &tls.Config{", "»\tInsecureSkipVerify: true,", "}", "_ = config"]),
    "rust": (["»let _ = reqwest::Client::builder().danger_accept_invalid_certs(true).build();"],
             ["let _ = reqwest::Client::builder()", "»    .danger_accept_invalid_certs(true)", "    .build();"]),
    "java": (["»HttpsURLConnection.setDefaultHostnameVerifier((host, session) -> true);"],
             ["»builder.setSSLHostnameVerifier(NoopHostnameVerifier.INSTANCE);"],
             ["»connection.setHostnameVerifier((String host, SSLSession session) -> true);"]),
}  # fmt: skip
TRUST_TWINS = {
    "python": (["return requests.get(value, verify=True, timeout=5)"], ["context = ssl.create_default_context()"]),
    "javascript": (["const agent = new https.Agent({ rejectUnauthorized: true })"],),
    "go": (["config := &tls.Config{MinVersion: tls.VersionTLS12}", "_ = config"],),
    "rust": (["let _ = reqwest::Client::builder().https_only(true).build();"],),
    "java": (["HttpsURLConnection.setDefaultHostnameVerifier(strict);"],),
}
FRAMES = {
    "python": ("", ["", "", "def _extra(value):"], "    ", []),
    "javascript": ("", ["", "export function extraStep(value, element) {"], "  ", ["}"]),
    "typescript": ("", ["", "export function extraStep(value: string, element: HTMLElement) {"], "  ", ["}"]),
    "go": ("", ["", "func extraStep(value string) {"], "\t", ["}"]),
    "rust": ("", ["", "fn extra_step(value: &str) {"], "    ", ["}"]),
    "java": ("}", ["", "  static void extraStep(String value) throws Exception {"], "    ", ["  }"]),
}


def code(faults, twins):
    def make(tree, chance):
        known = {language for language in LANGUAGES.values() if language.replace("type", "java") in faults}
        suits = lambda path: LANGUAGES.get(path.rsplit(".", 1)[-1]) in known and not NOT_PRODUCT.search(path)
        paths = [path for path in tree.changed() if suits(path)] or [path for path in tree.paths if suits(path)]
        if not paths:
            return None
        path = chance.choice(paths)
        text = tree.read(path)
        language = LANGUAGES[path.rsplit(".", 1)[-1]]
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


def rules(lens, *names):
    return {f"{lens}/{name}" for name in names}


KINDS = [
    Kind("workflow", "unpinned-action", rules("workflow-hardening", "unpinned-action"), unpinned),
    Kind("workflow", "pin-loosened", rules("workflow-hardening", "pin-loosened"), loosened),
    Kind("workflow", "script-injection", rules("workflow-hardening", "script-injection"), script_injection),
    Kind("workflow", "target-checkout", rules("workflow-hardening", "untrusted-checkout"), target_checkout),
    Kind("workflow", "write-all", rules("workflow-hardening", "excessive-permissions"), write_all),
    Kind("workflow", "script-from-network", rules("workflow-hardening", "script-from-network"), from_network),
    Kind("dependency", "lock-tampered", rules("dependency-change", "checksum-changed"), lock_tampered),
    Kind("dependency", "git-source", rules("dependency-change", "source-outside-registry"), git_source),
    Kind("code", "command", rules("dangerous-call", "command-injection"), code(COMMANDS, COMMAND_TWINS)),
    Kind("code", "dynamic-code", rules("dangerous-call", "dynamic-code"), code(PROGRAMS, PROGRAM_TWINS)),
    Kind("code", "html", rules("dangerous-call", "html-injection"), code(PAGES, PAGE_TWINS)),
    Kind("code", "deserialization", rules("dangerous-call", "unsafe-deserialization"), code(LOADERS, LOADER_TWINS)),
    Kind("code", "tls-off", rules("dangerous-call", "tls-verification-off"), code(TRUST, TRUST_TWINS)),
]  # fmt: skip
