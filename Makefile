# Everything a person or CI does here. Each target works in a clean clone with cargo, python3 and git; what else it
# needs it installs, and says so.

SHELL := /bin/bash
.DEFAULT_GOAL := help

CARGO ?= cargo
# Options for every cargo command, for example CARGO_FLAGS=--offline.
CARGO_FLAGS ?=
# A binary to use instead of building one.
QA_SKILL ?=
# Where the demo leaves its repository and its runs; a new temporary directory when empty.
DEMO_DIR ?=
# What to measure, and how reviews are measured.
BENCH ?= --fixtures target/bench --only S-10 S-100 code-50k
BENCH_MODELS ?=
# How much `torture` does, and the seed that it draws from; any seed when empty.
AMOUNTS ?= full
SEED ?=
# Repository whose policy `rehearse` takes.
REPOSITORY ?= .
# How long `fuzz` runs each target.
SECONDS_EACH ?= 60

export CARGO CARGO_FLAGS QA_SKILL AMOUNTS SEED SECONDS_EACH

.PHONY: help demo check test bench quality recall evaluate registry image image-full container sandbox-container test-full site engine torture rehearse fuzz

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build, then judge a pull request with planted faults and this repository's own last commit
	@scripts/with-binary.sh scripts/demo.sh $(DEMO_DIR)

check: ## Formatting, lints, links in comments, licences and advisories
	scripts/check.sh

test: ## All of check, all tests, with the image too, and the skill's validation; installs what they need
	scripts/test.sh

image: ## Build the image of the action; STAND_IN=1 does without a registry, as it does where none answers
	scripts/image.sh

image-full: ## Build the image with tools for gates: Node, Python, a browser
	scripts/image.sh --target full

container: ## Build the image and run the tests of the action in it; a part of test
	scripts/container.sh

test-full: ## Build the image with tools for gates and judge a small project in it; not a part of test
	scripts/container-full.sh

sandbox-container: ## Try to get out of the fence inside containers, as root and as nobody; needs root
	scripts/sandbox-container.sh

site: ## Build the documentation site into target/site/book and check its links; installs mdbook; a part of test
	scripts/site.sh

engine: ## Ask a real engine with made-up weights in every dialect; not a part of test; needs root
	evaluation/engine.sh

torture: ## Thousands of runs, flipped bits and kills, drawn from SEED; AMOUNTS="runs=300 kills=20" does less; best as root
	QA_SKILL_TORTURE="$$AMOUNTS seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}" \
	    $(CARGO) test $(CARGO_FLAGS) --locked --test it torture:: -- --nocapture --test-threads=1

rehearse: ## Strike every operation of a run with every fault, by the policy of REPOSITORY; no fault may make a pass
	$(CARGO) run $(CARGO_FLAGS) --locked --quiet --features dev-faults -- rehearse --repository "$(REPOSITORY)"

fuzz: ## Run every fuzz target for SECONDS_EACH seconds; needs a nightly toolchain, and installs cargo-fuzz
	scripts/fuzz.sh

bench: ## Time the optimised binary: runs against git diff, reviews against the least that a slow model allows
	$(CARGO) build $(CARGO_FLAGS) --locked --release --bin qa-skill
	python3 evaluation/bench.py $(BENCH)
	python3 evaluation/bench_models.py $(BENCH_MODELS)

quality: ## Judge this repository's recent commits, one by one, and list what blocks
	@scripts/with-binary.sh bash -c 'python3 evaluation/quality.py --binary "$$QA_SKILL" --count 50 .'

recall: ## Add known faults to this repository's recent commits and count what is found; evaluation/recall.py takes others
	@scripts/with-binary.sh bash -c 'python3 evaluation/recall.py --binary "$$QA_SKILL" --cases 2 --count 40 .'

evaluate: ## Print one table about repositories of one half: real defects found, lasting commits blocked, planted pairs
	$(CARGO) build $(CARGO_FLAGS) --locked --release --bin qa-skill
	python3 evaluation/evaluate.py $(EVALUATE)

registry: ## Write skill/*.json, the inputs of action.yml and the generated pages in docs/ again
	UPDATE_CORPUS=1 $(CARGO) test $(CARGO_FLAGS) --locked -p qa-lenses --lib behaviour
	UPDATE_DOCS=1 $(CARGO) test $(CARGO_FLAGS) --locked --lib --test readme generated
