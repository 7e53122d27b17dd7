"""Drives by the engine of `evaluation/engine.sh`: made-up weights plan turns and ask for edits, and no such drive passes."""

import json
import os
import tempfile

from engine_reviews import Change, qa_skill

FAULT = "import db\n\n\ndef find(name):\n    breakpoint()\n    return db.run(name)\n"
# Exit codes by the ends that a model without a mind can reach.
ENDS = {"no_progress": 1, "stuck": 1, "turns": 1, "ask": 3}
BASES = {"answer", "answer_invalid"}


def policy(port, seed):
    """A model that plans turns and gives their edits."""
    return f"""
preset = "guarded"

[drive]
model = "engine"
coordinator = "engine"
max-turns = 3

[models.engine]
provider = "openai-codex"
model = "/tiny.gguf"
surface = "openai.chat"
endpoint = "http://127.0.0.1:{port}/v1"
sampling = "model_fixed"
max-output-tokens = 2000
capabilities = {{ sampling = "always", max-output-tokens = 4000 }}
seed = {seed}
"""


class Drive(Change):
    """A change with a debugger statement, and its drive, once it ended."""

    def __init__(self, directory, text):
        super().__init__(directory, text)
        self.git("checkout", "--quiet", "topic")
        self.commit(**{"app.py": FAULT})
        self.git("checkout", "--quiet", "main")

    def driven(self):
        """Exit code and session."""
        place = ["--repo", self.repo, "--out", self.out, "--base", "main", "--head", "topic"]
        ended = qa_skill("drive", "--fix", "--agent", "builtin:model", *place)
        root = os.path.join(self.out, "drive")
        (name,) = (name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name)))
        self.run = os.path.join(root, name)
        return ended.returncode, self.read("drive-session.json")


def is_of_the_schema(text):
    """Whether a plan has the members that the engine's grammar forces, and names what was offered."""
    plan = json.loads(text)
    members = {"action", "expected", "finished", "reasoning", "tasks"}
    return set(plan) == members and all(name == "finding-01" for name in plan["tasks"])


def judged(port, held, engine):
    """What holds. `engine` starts one with a number of threads and a length of context, for as long as its context lasts."""
    with tempfile.TemporaryDirectory() as scratch, engine(1, 32768):
        for seed in (1, 2):
            drive = Drive(os.path.join(scratch, str(seed)), policy(port, seed))
            code, session = drive.driven()
            reason, turns = session["end"]["reason"], session["turns"]
            plans = [turn["plan"] for turn in turns]
            print(f"drive, seed {seed}: exit {code}, {reason}, {[plan['basis'] for plan in plans]}, {plans[0]['problem']}")
            print(f"  plan: {(plans[0]['answer'] or '')[:300]}\n  edits: {turns[0]['stdout']['text'][:300]}")
            yield held(ENDS.get(reason) == code, f"a drive by made-up weights ends by its name, {reason}")
            yield held(all(plan["basis"] in BASES for plan in plans), "each turn has a plan, by an answer or by the rule")
            whole = [plan["answer"] for plan in plans if plan["basis"] == "answer"]
            yield held(all(is_of_the_schema(text) for text in whole), "a plan names what was offered, and nothing else")
            yield held(drive.is_derived_again(), "its drive is derived again without the engine")
