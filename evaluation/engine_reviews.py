"""Reviews by the engine of `evaluation/engine.sh`: what made-up weights say of a change, kept, derived again and asked again."""

import json
import os
import re
import subprocess
import tempfile

# Long enough for answers to be kept.
KEY = "local-key-of-the-engine"
# Of build 11669 the first has no finding to tell, the second one about a file that nobody has, which with two threads is
# another, and the third one about a line that no file has.
SEEDS = (1, 2, 11)
LAST_LINE = 1 << 31
SURFACES = {"chat": "openai.chat", "responses": "openai.responses", "messages": "anthropic.messages"}


def policy(surface, port, seed):
    """A required review by one model, whose sampling the engine chooses by the seed."""
    provider = "anthropic-claude" if surface == "messages" else "openai-codex"
    base = "" if surface == "messages" else "/v1"
    return f"""
[lenses.review-security]
model = "engine"
required = true

[models.engine]
provider = "{provider}"
model = "/tiny.gguf"
surface = "{SURFACES[surface]}"
endpoint = "http://127.0.0.1:{port}{base}"
sampling = "model_fixed"
max-output-tokens = 4000
capabilities = {{ sampling = "always", max-output-tokens = 4000 }}
{f"seed = {seed}" if surface == "chat" else ""}
"""


def qa_skill(*arguments):
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    command = [os.environ["QA_SKILL"], *arguments]
    return subprocess.run(command, env={"PATH": os.environ["PATH"], **keys}, capture_output=True, text=True, timeout=300)


class Change:
    """A repository of two commits whose policy, checked out, has one review; and its run, once it was judged."""

    def __init__(self, directory, text):
        self.repo, self.out = os.path.join(directory, "repo"), os.path.join(directory, "out")
        os.makedirs(os.path.join(self.repo, ".qa-skill"))
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit(**{".qa-skill/policy.toml": text, "app.py": "import db\n"})
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit(**{"app.py": "import db\n\n\ndef find(name):\n    return db.run(name)\n"})
        self.git("checkout", "--quiet", "main")

    def git(self, *arguments):
        who = ["-c", "user.name=A U Thor", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        dates = {"GIT_AUTHOR_DATE": "2024-05-01T12:00:00Z", "GIT_COMMITTER_DATE": "2024-05-01T12:00:00Z"}
        subprocess.run(["git", *who, "-C", self.repo, *arguments], env={**os.environ, **dates}, check=True)

    def commit(self, **files):
        for path, text in files.items():
            with open(os.path.join(self.repo, path), "w") as file:
                file.write(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "A commit")

    def judged(self):
        """Exit code, the result of the review and its answer as the engine sent it."""
        ended = qa_skill("run", "--base", "main", "--head", "topic", "--repo", self.repo, "--out", self.out)
        (name,) = (name for name in os.listdir(os.path.join(self.out, "runs")) if re.fullmatch("[0-9a-f]{64}", name))
        self.run = os.path.join(self.out, "runs", name)
        results = self.read("lens-results.json")["lensResults"]
        (result,) = (result for result in results if result["lensId"] == "review-security")
        response = self.read("recordings/replies.json")["replies"][0]["response"]
        return ended.returncode, result, json.loads(response["body"]) if response else None

    def read(self, name):
        with open(os.path.join(self.run, name)) as file:
            return json.load(file)

    def is_derived_again(self):
        """From the directory alone, and from the repository."""
        return all(qa_skill("verify", self.run, *more).returncode == 0 for more in ([], ["--repo", self.repo]))

    def asked_again(self):
        """How the model answers now, and whether the run is what it was."""
        ended = qa_skill("drift-check", "--live", "--format", "json", "--repo", self.repo, self.run)
        report = json.loads(ended.stdout)
        (model,) = report["runs"][0]["models"]
        return model, ended.returncode == 0 and report["status"] == "same"


def has_the_form(text):
    """Whether an answer is what the schema says, which the engine's grammar forces."""
    answer = json.loads(text)
    kinds = {"endLine": int, "evidenceQuote": str, "file": str, "ruleId": str, "severity": str, "startLine": int}
    kinds |= {"suggestion": (str, type(None)), "summary": str}
    return set(answer) == {"findings"} and all(
        set(finding) == set(kinds)
        and all(isinstance(finding[name], kind) for name, kind in kinds.items())
        and re.fullmatch("review-security/[a-z-]+", finding["ruleId"])
        for finding in answer["findings"]
    )


def expected(text):
    """Exit code and codes of a required review that was told this: made-up weights prove nothing."""
    findings = json.loads(text)["findings"]
    if not findings:
        return 0, []
    lines = all(1 <= finding["startLine"] <= finding["endLine"] <= LAST_LINE for finding in findings)
    is_answer = lines and all(finding["summary"].strip() for finding in findings)
    return 3, ["EVIDENCE_UNVERIFIED" if is_answer else "PROVIDER_OUTPUT_INVALID"]


def judged(port, held, engine):
    """What holds. `engine` starts one with a number of threads and a length of context, for as long as its context lasts."""
    with tempfile.TemporaryDirectory() as scratch:
        place = (os.path.join(scratch, str(number)) for number in range(100))
        with engine(1, 32768):
            changes = {seed: Change(next(place), policy("chat", port, seed)) for seed in SEEDS}
            answered = {}
            for seed, change in changes.items():
                code, result, response = change.judged()
                text = response["choices"][0]["message"]["content"]
                print(f"seed {seed}: exit {code}, {result['status']} {result['errorCodes']}: {text[:300]}")
                yield held(has_the_form(text), f"the answer of chat to a review has the form of the schema, seed {seed}")
                yield held((code, result["errorCodes"]) == expected(text), "no finding is none, and no other is proven")
                answered[seed] = result["errorCodes"] != ["PROVIDER_OUTPUT_INVALID"]
                yield held(change.is_derived_again(), "its run is derived again without the engine")
            for surface in ("responses", "messages"):
                change = Change(next(place), policy(surface, port, None))
                code, result, _ = change.judged()
                print(f"{surface}: exit {code}, {result['status']} {result['errorCodes']}")
                no_answer = result["errorCodes"] in (["PROVIDER_OUTPUT_INVALID"], ["PROVIDER_INCOMPLETE"])
                yield held(code == 3 and no_answer, f"{surface} ignores the schema, and a required review is not completed")
                yield held(change.is_derived_again(), "its run is derived again without the engine")
            for seed, change in changes.items():
                model, same = change.asked_again()
                wanted = "identical" if answered[seed] else "unavailable"
                yield held(same and model["class"] == wanted, f"as many threads answer the same, seed {seed}: {wanted}")
        with engine(2, 32768):
            # What changes with the threads is the engine's to say, so it is told and not held.
            for seed, change in changes.items():
                model, same = change.asked_again()
                overlap = f"{model['withRecordedPermille']} of 1000, among themselves {model['amongThemselvesPermille']}"
                print(f"two threads, seed {seed}: {model['class']} {model['code']}, as recorded {overlap}: {model['detail']}")
                yield held(same and change.is_derived_again(), "whatever a model says now, the run is what it was")
        with engine(1, 4096):
            code, result, _ = Change(next(place), policy("chat", port, 1)).judged()
            print(f"short context: exit {code}, {result['errorCodes']}")
            yield held((code, result["errorCodes"]) == (3, ["CONTEXT_BOUND_EXCEEDED"]), "a prompt over its context is refused")
