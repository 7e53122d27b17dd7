"""Starts the engine of `evaluation/engine.sh` and holds what `qa-skill` says of it to what is known of it."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import engine_drives
import engine_reviews
from engine_reviews import KEY

PORT = 18411
POLICY = f"""
[models.chat]
provider = "openai-codex"
model = "/tiny.gguf"
surface = "openai.chat"
endpoint = "http://127.0.0.1:{PORT}/v1"
seed = 11
max-output-tokens = 400
capabilities = {{ sampling = "always", max-output-tokens = 8000 }}

[models.messages]
provider = "anthropic-claude"
model = "/tiny.gguf"
endpoint = "http://127.0.0.1:{PORT}"
max-output-tokens = 100
capabilities = {{ sampling = "never", max-output-tokens = 8000 }}

[models.responses]
provider = "openai-codex"
model = "/tiny.gguf"
endpoint = "http://127.0.0.1:{PORT}/v1"
max-output-tokens = 100
capabilities = {{ sampling = "always", max-output-tokens = 8000 }}
"""


def doctor(policy, model, key=KEY):
    """Exit code and what was printed."""
    command = [os.environ["QA_SKILL"], "doctor", model, "--file", policy]
    keys = {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}
    ended = subprocess.run(command, env={"PATH": os.environ["PATH"], **keys}, capture_output=True, text=True, timeout=300)
    print(ended.stdout + ended.stderr)
    return ended.returncode, ended.stdout


def held(condition, what):
    print(f"{'ok' if condition else 'NOT'}: {what}")
    return condition


@contextlib.contextmanager
def engine(threads, context):
    """An engine with so many threads and so long a context that answers, until the end."""
    command = ["chroot", sys.argv[1], "llama-server", "-m", "/tiny.gguf", "--host", "127.0.0.1", "--port", str(PORT)]
    command += ["-t", str(threads), "-c", str(context), "-np", "1", "--api-key", KEY]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        policy = os.path.join(scratch, "policy.toml")
        with open(policy, "w") as file:
            file.write(POLICY)
        with engine(1, 8192):
            results = list(judged(policy))
    results += engine_reviews.judged(PORT, held, engine)
    results += engine_drives.judged(PORT, held, engine)
    sys.exit(0 if all(results) else 1)


def judged(policy):
    exit_code, said = doctor(policy, "chat")
    answer = re.search(r"it answered `(.*)`, and", said)
    text = answer.group(1).replace("\\u{a}", "\n") if answer else "null"
    yield held(exit_code == 3 and "status 200" in said, "chat answers, and made-up weights do not add")
    yield held(set(json.loads(text) or {}) == {"sum"}, "the answer of chat has the form of the schema")
    yield held(doctor(policy, "chat")[1] == said, "one thread, one seed and temperature 0 answer the same again")
    exit_code, said = doctor(policy, "responses")
    yield held(exit_code == 3 and "PROVIDER_OUTPUT_INVALID" in said, "prose of Responses is no answer")
    exit_code, said = doctor(policy, "messages")
    # It is asked without a seed, and now and then ends its prose by itself before it is cut off.
    no_answer = "PROVIDER_INCOMPLETE" in said or "PROVIDER_OUTPUT_INVALID" in said
    yield held(exit_code == 3 and no_answer, "prose of Messages, cut off or not, is no answer")
    for model in ("chat", "responses", "messages"):
        exit_code, said = doctor(policy, model, "another")
        yield held(exit_code == 3 and "1: status 401, PROVIDER_AUTH_ERROR" in said, f"{model} knows its own key")
        yield held("2: status" not in said, f"{model} is asked once with a wrong key")


main()
