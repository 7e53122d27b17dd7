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

export CARGO CARGO_FLAGS QA_SKILL

.PHONY: help demo check test bench quality registry

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build, then judge a pull request with planted faults and this repository's own last commit
	@scripts/with-binary.sh scripts/demo.sh $(DEMO_DIR)

check: ## Formatting, lints, the pure half alone, licences and advisories
	scripts/check.sh

test: check ## All of check, all tests and the skill's validation; installs what they need
	scripts/test.sh

bench: ## Measure; the numbers depend on the machine
	$(CARGO) bench $(CARGO_FLAGS) --locked

quality: ## Judge this repository's recent commits, one by one, and list what blocks
	@scripts/with-binary.sh scripts/quality.sh

registry: ## Write skill/*.json and the generated pages in docs/ again
	UPDATE_DOCS=1 $(CARGO) test $(CARGO_FLAGS) --locked --test readme generated
