# Everything starts here. On a fresh machine `make run` and `make test` need Python 3.11, 3.12 or 3.13, and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash

VENV := .venv
BIN := $(VENV)/bin
PLAIN := $(VENV)/.stamp-plain
FULL := $(VENV)/.stamp-full
EXTRAS := postgres,studio,notebooks,dev,bench
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest
# langgraph dev opens no connection to the outside with these, and logs warnings only.
QUIET := LOG_LEVEL=WARNING LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=1 LANGSMITH_TRACING=false
WORKERS ?= 2
N ?= 200

.PHONY: help setup run test check format lint types contracts docs docs-check coverage bench studio chaos clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The first Python that fits: PYTHON where it is given, else python3, else a versioned one.
$(BIN)/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv --clear $(VENV) && exit 0; \
	    echo "$$python cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	  fi; \
	done; echo "Python 3.11, 3.12 or 3.13 is needed; name it with: make PYTHON=/path/to/python3" >&2; exit 1

$(PLAIN): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the pinned packages (under a minute, once)"
	@$(PIP) --editable .
	@touch $@

$(FULL): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the pinned packages with everything for tests, Studio and notebooks (a minute or two, once)"
	@$(PIP) --editable '.[$(EXTRAS)]'
	@touch $(PLAIN) $@

setup: $(FULL) ## make the virtual environment with everything in it

run: $(PLAIN) ## the main job: ask, preview, decide, execute once, receipt
	@$(BIN)/python -m graph.demo

test: $(FULL) ## run the tests
	@$(PYTEST) --numprocesses $(WORKERS) --dist loadfile

check: format lint types contracts docs-check coverage ## all that CI runs

format: $(FULL)
	@$(BIN)/ruff format --check .

lint: $(FULL)
	@$(BIN)/ruff check .

types: $(FULL)
	@$(BIN)/mypy

contracts: $(FULL)
	@$(BIN)/lint-imports

docs: $(FULL) ## write README's generated tables and picture anew
	@$(BIN)/python -m tests.docs

docs-check: $(FULL)
	@$(BIN)/python -m tests.docs --check

coverage: $(FULL)
	@$(PYTEST) --numprocesses $(WORKERS) --dist loadfile --cov --cov-report=term:skip-covered

bench: $(FULL) ## print speed as ratios, measured side by side
	@$(BIN)/python -m tests.bench

studio: $(FULL) ## LangGraph Studio's server on 127.0.0.1:2024
	@$(BIN)/countersign init
	@$(QUIET) $(BIN)/langgraph dev --no-browser --no-reload --server-log-level warning

chaos: $(FULL) ## kill real processes, N=200 times
	@COUNTERSIGN_CHAOS_ROUNDS=$(N) $(PYTEST) -m chaos

clean: ## remove the virtual environment, caches and the demo's data
	@rm -rf $(VENV) var .langgraph_api .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage* *.egg-info build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
