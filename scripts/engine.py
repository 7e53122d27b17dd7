"""Starts the engine of `scripts/engine.sh` and holds what `qa-skill doctor` says of it to what is known of it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

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


def doctor(policy, model, key="local"):
    """Exit code and what was printed."""
    command = [os.environ["QA_SKILL"], "doctor", model, "--file", policy]
    keys = {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}
    ended = subprocess.run(command, env={"PATH": os.environ["PATH"], **keys}, capture_output=True, text=True, timeout=300)
    print(ended.stdout + ended.stderr)
    return ended.returncode, ended.stdout


def held(condition, what):
    print(f"{'ok' if condition else 'NOT'}: {what}")
    return condition


def main():
    root = sys.argv[1]
    command = ["chroot", root, "llama-server", "-m", "/tiny.gguf", "--host", "127.0.0.1", "--port", str(PORT)]
    command += ["-t", "1", "-c", "8192", "-np", "1", "--api-key", "local"]
    with tempfile.TemporaryDirectory() as scratch, open(os.path.join(scratch, "log"), "w") as log:
        policy = os.path.join(scratch, "policy.toml")
        with open(policy, "w") as file:
            file.write(POLICY)
        engine = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            results = list(judged(policy))
        finally:
            engine.kill()
            engine.wait()
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
    yield held(exit_code == 3 and "PROVIDER_INCOMPLETE" in said, "what Messages cuts off is no answer")
    for model in ("chat", "responses", "messages"):
        exit_code, said = doctor(policy, model, "another")
        yield held(exit_code == 3 and "1: status 401, PROVIDER_AUTH_ERROR" in said, f"{model} knows its own key")
        yield held("2: status" not in said, f"{model} is asked once with a wrong key")


main()
