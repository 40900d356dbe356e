# Every task sets itself up: the virtual environment in .venv is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
ROUNDS ?= 24
SEED ?= 1
JOBS ?= 3
BROKER ?= headwater
SERVE ?=
EVENTS ?= 10000000
TIMES ?= 20

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench conformance crash fuzz transactions streams fire clean

help: ## list the tasks
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 14

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Headwater needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(INSTALLED)

# What pip does for an installed package: without it, and where Python may not write bytecode, each start compiles.
$(READY): $(INSTALLED) $(shell find src demo -name '*.py')
	@$(BIN)/python -m compileall -q src demo
	@touch $(READY)

demo: $(READY) ## a shop from producers to views; broker and Spark are killed, all equals SQL (SERVE=1 goes on)
	@SERVE=$(SERVE) $(BIN)/python -m demo

test: $(READY) ## run the tests, JOBS=3 at a time (real clients; what is missing on this machine is skipped)
	$(BIN)/python -m pytest -n $(JOBS) -m "not long"

check: $(READY) ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --output-format concise .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure beside Apache Kafka, write bench/results and docs/benchmarks.md
	$(BIN)/python bench/broker.py
	$(BIN)/python bench/transactions.py
	$(BIN)/python bench/source.py
	$(BIN)/python bench/sink.py
	$(BIN)/python bench/latency.py
	$(BIN)/python bench/views.py

conformance: $(READY) ## the same scenarios on our broker and on Apache Kafka
	$(BIN)/python -m pytest tests/conformance tests/clients tests/bulk tests/streams/test_sink_crashes.py --broker headwater
	$(BIN)/python -m pytest tests/conformance tests/clients tests/bulk tests/streams/test_sink_crashes.py --broker kafka

crash: $(READY) ## a long campaign of power cuts, kills and disk faults (ROUNDS=n, SEED=n)
	$(BIN)/python tests/crash/campaign.py --rounds $(ROUNDS) --seed $(SEED)

fuzz: $(READY) ## property tests and fuzzers, TIMES=20 times as many examples as in make test
	$(BIN)/python -m pytest -n $(JOBS) -m hypothesis --times $(TIMES)
	$(BIN)/python -m pytest -n $(JOBS) tests/fuzz --times $(TIMES)

transactions: $(READY) ## a long campaign of transactions under fire (ROUNDS=n, SEED=n, BROKER=headwater|kafka)
	$(BIN)/python tests/histories/campaign.py --rounds $(ROUNDS) --seed $(SEED) --broker $(BROKER)

streams: $(READY) ## tests of pipelines that take long: in trouble, upgraded, on Apache Kafka and a Spark cluster
	$(BIN)/python -m pytest -m long

fire: $(READY) ## a pipeline whose every process is killed, compared with DuckDB (EVENTS=n, SEED=n, BROKER=headwater|kafka)
	PYTHONPATH=tests $(BIN)/python -m under_fire --events $(EVENTS) --seed $(SEED) --broker $(BROKER)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
