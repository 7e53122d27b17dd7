#!/usr/bin/env python3
"""Measures what reviews add to a run: wall time beside the least that so slow a model allows, and memory.

    bench_models.py [--binary FILE] [--plans N] [--few N] [--latency-ms N] [--rounds N] [--json FILE]

A server on this machine answers each question a fixed time after it came, with no finding. The change has one file for
each part of a review, so that the number of plans is known. A run that asks is timed beside the same run with
`--no-model`, in alternation; the least it could take is the latter and, four questions at a time, the answers' time one
after the other. Wall times are medians. Peak memory is what runs say of themselves, beside the size of what they
record, for a change with few plans too and for the same changes under a policy without reviews. Nothing here asserts a
time.
"""

import argparse
import http.server
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# As many questions at a time, by the policy.
WORKERS = 4
REVIEWS = ["review-architecture", "review-performance", "review-security"]
MODEL = "gpt-4.1-2025-04-14"
# A part holds 20,000 tokens of three bytes. Two such files fit into none, and one does.
FILE_BYTES = 36_000
# No key of anybody.
KEY = "a-made-up-word-of-a-benchmark"
WORDS = """account amount answer basket branch budget carrier catalog channel contract courier credit customer delivery
    deposit discount document invoice journal ledger margin market member notice number office order parcel partner
    payment period policy price product profile project quarter quota rate receipt record refund region report return
    route sample season seller series shelf signal source status stock store supply target tariff ticket transfer unit
    vendor volume voucher warehouse weight window""".split()


class Model(http.server.ThreadingHTTPServer):
    """Answers every question the latency after it came, and counts how many wait for an answer at a time."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, latency):
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency, self.lock = latency, threading.Lock()
        self.forget()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def forget(self):
        self.waiting = self.peak = self.asked = self.bytes = self.connections = 0
        self.took = []

    def come(self, length):
        with self.lock:
            self.asked += 1
            self.bytes += length
            self.waiting += 1
            self.peak = max(self.peak, self.waiting)

    def go(self, took):
        with self.lock:
            self.waiting -= 1
            self.took.append(took)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self):
        came = time.perf_counter()
        length = int(self.headers["content-length"])
        self.server.come(length)
        self.rfile.read(length)
        body = ANSWER if self.path == "/v1/chat/completions" else b"{}"
        status = "200 OK" if body is ANSWER else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        time.sleep(max(0, came + self.server.latency - time.perf_counter()))
        # The next question may come as soon as this is sent.
        self.server.go(time.perf_counter() - came)
        self.wfile.write(head.encode() + body)

    def log_message(self, *_):
        pass


ANSWER = json.dumps({
    "id": "c1", "object": "chat.completion", "created": 1, "model": MODEL,
    "choices": [{
        "index": 0, "finish_reason": "stop", "logprobs": None,
        "message": {"role": "assistant", "content": '{"findings":[]}', "refusal": None},
    }],
    "usage": {
        "prompt_tokens": 15000, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15010,
    },
}).encode()  # fmt: skip


def policy(url):
    """A policy whose reviews ask the model at an address, or one without reviews."""
    text = f"[run]\nmax-concurrency = {WORKERS}\n"
    if url:
        text += "\n[budget]\nmax-tokens = 1000000000\nmax-cost-micro-usd = 1000000000\n"
        text += f'\n[models.review]\nprovider = "openai-codex"\nsurface = "openai.chat"\nendpoint = "{url}/v1"\n'
        text += f'model = "{MODEL}"\nmax-output-tokens = 1000\n'
        for review in REVIEWS:
            text += f'\n[lenses.{review}]\nmodel = "review"\nrequired = false\nmax-input-tokens = 10000000\n'
    return text


def code(seed):
    """Python of which no two functions are alike."""
    words, text, number = random.Random(seed), "", 0
    while len(text) < FILE_BYTES:
        number += 1
        noun, first, second, third = words.sample(WORDS, 4)
        text += f"def {first}_of_{noun}_{seed}_{number}({noun}, {second}):\n"
        for _ in range(words.randrange(2, 6)):
            left, right = words.sample(WORDS, 2)
            text += f"    {left}_{right} = {noun}.{left} + {second}.{right} * {words.randrange(2, 99)}\n"
        text += f"    return {left}_{right} - {noun}.{third}\n\n\n"
    return text


def prose(seed):
    """A document, which of these reviews one alone reads."""
    words, text = random.Random(seed), f"# Part {seed}\n\n"
    while len(text) < FILE_BYTES:
        text += " ".join(words.choices(WORDS, k=14)).capitalize() + ".\n"
    return text


def git(repository, *arguments):
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "2026-11-22T12:00:00Z",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
        "GIT_COMMITTER_DATE": "2026-11-22T12:00:00Z",
    }  # fmt: skip
    subprocess.run(["git", "-C", repository, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


def write(repository, path, text):
    path = os.path.join(repository, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make(repository, plans, url):
    """A repository whose head, by its base's policy, gives so many plans that ask."""
    os.makedirs(repository)
    git(repository, "init", "--quiet", "--initial-branch", "main")
    write(repository, ".qa-skill/policy.toml", policy(url))
    write(repository, "README.md", "# Shop\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Begin")
    git(repository, "switch", "--quiet", "--create", "change")
    files, documents = divmod(plans, len(REVIEWS))
    for seed in range(files):
        write(repository, f"shop/part_{seed:03}.py", code(seed))
    for seed in range(documents):
        write(repository, f"docs/part_{seed:03}.md", prose(seed))
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Change")


def size(directory):
    """The bytes of all files below a directory."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(directory) for name in names)


class Failed(Exception):
    pass


class Case:
    """A change, judged in three ways: asking, told not to ask, and by a policy without reviews."""

    WAYS = ["model", "no-model", "no-reviews"]

    def __init__(self, binary, server, scratch, plans):
        self.binary, self.server, self.scratch = binary, server, scratch
        url = f"http://127.0.0.1:{server.server_address[1]}"
        self.reviewed, self.plain = (os.path.join(scratch, f"{kind}-{plans}") for kind in ("reviewed", "plain"))
        make(self.reviewed, plans, url)
        make(self.plain, plans, None)
        self.plans = self.count()
        if self.plans != plans:
            print(f"{self.plans} plans ask, where {plans} were wanted", file=sys.stderr)
        self.forget()

    def forget(self):
        self.walls, self.peaks = {way: [] for way in self.WAYS}, {way: [] for way in self.WAYS}
        self.recorded, self.served = {}, []

    def command(self, name, repository, *options):
        command = [self.binary, name, "--repo", repository, "--base", "main", "--head", "change", *options]
        environment = {**os.environ, "OPENAI_API_KEY": KEY}
        begin = time.perf_counter()
        result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return (time.perf_counter() - begin) * 1000, result

    def count(self):
        """How many plans ask, by what `plan --cost` shows; each asks once."""
        _, result = self.command("plan", self.reviewed, "--cost")
        if result.returncode:
            raise Failed(f"exit status {result.returncode} of plan: {result.stderr}")
        rows = [line.split() for line in result.stdout.splitlines() if line.startswith("review-")]
        if any(row[-1] != "reserved" for row in rows):
            raise Failed(f"not every plan is reserved:\n{result.stdout}")
        return sum(int(row[2]) for row in rows)

    def round(self):
        for way in self.WAYS:
            self.once(way)

    def once(self, way):
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            self.server.forget()
            options = ["--replies", "off", "--refresh", "--quiet", "--format", "json", "--out", out]
            options += ["--no-model"] if way == "no-model" else []
            wall, result = self.command("run", self.plain if way == "no-reviews" else self.reviewed, *options)
            # A rule may block or a review be missing: that is a verdict. Everything else is none.
            if result.returncode not in (0, 1, 3):
                raise Failed(f"exit status {result.returncode}: {result.stderr}")
            runs = os.path.join(out, "runs")
            run = next(each.path for each in os.scandir(runs) if each.is_dir())
            with open(os.path.join(run, "metrics.json"), encoding="utf-8") as file:
                self.peaks[way].append(json.load(file)["machine"]["peakRssKib"])
            self.walls[way].append(wall)
            self.recorded[way] = size(run)
            if way == "model":
                self.answered(run)

    def answered(self, run):
        """Whether every plan has its answer, and how it was served."""
        with open(os.path.join(run, "recordings", "replies.json"), encoding="utf-8") as file:
            replies = json.load(file)["replies"]
        whole = [reply for reply in replies if [one["status"] for one in reply["attempts"]] == [200]]
        server = self.server
        if not len(whole) == len(replies) == server.asked == self.plans:
            raise Failed(f"{self.plans} plans, {server.asked} questions, {len(replies)} replies, {len(whole)} answers")
        self.served.append({
            "peak": server.peak, "bytes": server.bytes, "connections": server.connections,
            "meanMs": statistics.mean(server.took) * 1000,
        })  # fmt: skip

    def wall(self, way):
        return statistics.median(self.walls[way])

    def peak(self, way):
        return statistics.median(self.peaks[way])

    def ideal(self, way="no-model"):
        """The least: what is done without a model, and as many answers one after the other as there have to be."""
        return math.ceil(self.plans / WORKERS) * self.server.latency * 1000 + self.wall(way)

    def ratio(self, way="no-model"):
        return self.wall("model") / self.ideal(way)

    def served_by(self, name):
        return statistics.median(served[name] for served in self.served)

    def told(self):
        return {
            "plans": self.plans, "idealMs": self.ideal(), "ratio": self.ratio(),
            "ratioWithoutReviews": self.ratio("no-reviews"),
            "wallMs": self.walls, "peakRssKib": self.peaks, "recordedBytes": self.recorded, "served": self.served,
        }  # fmt: skip


def table(head, rows):
    print("|" + "|".join(head) + "|")
    print("|" + "---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("|" + "|".join(row) + "|")
    print(flush=True)


def show_time(case, few, latency):
    print(f"## Reviews by a model that answers after {latency} ms, {WORKERS} questions at a time\n")
    rows = []
    for each in (few, case):
        rows.append([
            str(each.plans), f"{each.served_by('bytes') / 1e6:.2f}", f"{each.wall('no-reviews'):.0f}",
            f"{each.wall('no-model'):.0f}", f"{each.ideal():.0f}", f"{each.wall('model'):.0f}",
            f"**{each.ratio():.3f}**", f"{each.ratio('no-reviews'):.3f}", f"{each.served_by('peak'):.0f}",
            f"{each.served_by('connections'):.0f}", f"{each.served_by('meanMs'):.1f}",
        ])  # fmt: skip
    table(["plans", "MB asked", "without reviews, ms", "--no-model, ms", "ideal ms", "measured ms", "ratio",
           "by a run without reviews", "questions at a time", "connections", "an answer, ms"], rows)  # fmt: skip


def show_memory(case, few):
    print("## Peak memory with the number of plans, KiB\n")
    rows = []
    more = max(case.plans - few.plans, 1)
    for way, name in zip(Case.WAYS, ["asking", "--no-model", "without reviews"]):
        growth = (case.peak(way) - few.peak(way)) / more
        recorded = (case.recorded[way] - few.recorded[way]) / 1024 / more
        rows.append([name, f"{few.peak(way):.0f}", f"{case.peak(way):.0f}", f"{growth:.1f}", f"{recorded:.1f}"])
    table(["", f"{few.plans} plans", f"{case.plans} plans", "for each plan more", "recorded for each plan more"], rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--plans", type=int, default=40)
    parser.add_argument("--few", type=int, default=8, help="the plans of the change whose memory is set beside")
    parser.add_argument("--latency-ms", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", metavar="DIR", help="where repositories and run directories are written")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def main():
    options = arguments()
    server = Model(options.latency_ms / 1000)
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory(dir=options.scratch and os.path.abspath(options.scratch)) as scratch:
        try:
            few, case = (Case(binary, server, scratch, plans) for plans in (options.few, options.plans))
            for each in (few, case):
                # The first round only warms the page cache.
                each.round()
                each.forget()
                for _ in range(options.rounds):
                    each.round()
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"failed to run: {error}")
    show_time(case, few, options.latency_ms)
    show_memory(case, few)
    if options.json:
        document = {"latencyMs": options.latency_ms, "workers": WORKERS, "cases": [few.told(), case.told()]}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
