# Tidemark's verbs: `make help`. The same ones run in CI (.ci/run).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.tidemark-setup
FIRST_DATES := 2025-08-11,2025-09-09,2026-02-05
LAST_DATE := 2026-03-04
# the days of the generated events
EVENT_DATES := 2026-03-02,2026-03-03
EVENTS := --hours 24 --natural-in-batch 2 --natural-cross-batch 2 --synthetic-in-batch 1 --synthetic-cross-batch 1 --late 5 --bad 0.5 --no-fingerprint 5
# the first Python that is new enough; another one: make setup PYTHON=/path/to/python
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
	then echo $$python; break; fi; done)

.PHONY: help
help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r verb text; do \
		printf '  make %-15s %s\n' "$$verb" "$$text"; done

.PHONY: setup
setup: $(STAMP)  ## Make .venv from requirements.lock; instant if nothing changed

$(STAMP): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11, 3.12 or 3.13 is required: apt install python3.11 python3.11-venv / brew install python@3.11, or make setup PYTHON=/path/to/python" >&2; \
		exit 1; fi
	@PYTHONPATH=python/src $(PYTHON) -m tidemark.java
	@echo "making $(VENV) …" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@# dbt's own files go where everything else of a run goes, also for a plain `dbt run` of this environment
	@printf '%s\n' 'import os; home = os.environ.get("TIDEMARK_HOME") or ".tidemark"; os.environ.setdefault("DBT_LOG_PATH", os.path.join(home, "logs")); os.environ.setdefault("DBT_TARGET_PATH", os.path.join(home, "target"))' \
		> "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tidemark_home.pth"
	@touch $@

.PHONY: run
run: setup  ## Load the examples (extracts, change events, enriched events) and show what changed
	@$(BIN)/tidemark run --business-date $(FIRST_DATES),$(LAST_DATE) --select airports --changes 5
	@$(BIN)/tidemark run --select event_replication
	@test -e "$${TIDEMARK_HOME:-.tidemark}/landing/events/$(LAST_DATE).tsv.gz" || \
		$(BIN)/tidemark datagen events 2000 3 "$${TIDEMARK_HOME:-.tidemark}/landing/events/{date}.tsv.gz" $(EVENTS)
	@$(BIN)/tidemark run --business-date $(EVENT_DATES),$(LAST_DATE) --select events
	@printf '%s\n' "" "The changes of one airport, as tidemark feed prints them:"
	@$(BIN)/tidemark feed airports --from 2025-08-11 --where "icao = 'WIPO'" --images change
	@printf '%s\n' "" "The tables are in $${TIDEMARK_HOME:-.tidemark}/warehouse. One airport's history, for example:" \
		"  . $(BIN)/activate && dbt --quiet show --inline \"select icao, iata, city, _operation, _business_date from {{ tidemark.history(ref('airports')) }} where icao = 'WIPO' order by _business_date\""

.PHONY: run-replicator
run-replicator: setup  ## Mirror a throw-away PostgreSQL under load (Debian: installed if it is missing)
	@$(BIN)/python python/examples/mirror_postgres.py

.PHONY: test
test: setup style  ## Style, the examples with their dbt tests, and every ring of tests but the slow one
	@# first the examples: one process fetches the jars before two want them
	@rm -rf .tidemark/test
	@$(BIN)/tidemark datagen events 2000 3 ".tidemark/test/landing/events/{date}.tsv.gz" $(EVENTS)
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --target ci --business-date $(FIRST_DATES) --exclude events
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --target ci --business-date $(EVENT_DATES) --select events
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --build --target ci --business-date $(LAST_DATE)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not slow'

.PHONY: test-fast
test-fast: setup  ## The rings that need no Spark
	@$(BIN)/python -m pytest $(wildcard python/tests/unit python/tests/render)

.PHONY: test-slow
test-slow: setup  ## The slow ring: more random streams, kills at random moments
	@$(BIN)/python -m pytest -m slow

.PHONY: functional
functional: setup  ## The ring with dbt and a local Spark
	@$(BIN)/python -m pytest python/tests/functional

.PHONY: bench
bench: setup  ## Measure speed against peers: make bench WORKLOADS="a b"; all of them take hours
	@$(BIN)/python python/benchmarks/bench.py $(WORKLOADS)

.PHONY: style
style: setup  ## ruff, mypy, and sqlfluff on the SQL that macros render
	@$(BIN)/ruff check python
	@$(BIN)/ruff format --check python
	@$(BIN)/mypy
	@$(BIN)/sqlfluff lint --disable-progress-bar python/tests/render/golden

.PHONY: format
format: setup  ## Let ruff repair what it can
	@$(BIN)/ruff check --fix python
	@$(BIN)/ruff format python

.PHONY: lock
lock:  ## Pin every dependency anew in requirements.lock
	@test -x $(BIN)/pip-compile || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet pip-tools; }
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --extra dev --strip-extras --no-annotate \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
		--output-file requirements.lock pyproject.toml

.PHONY: clean
clean:  ## Remove what runs and tools wrote; keeps .venv
	@rm -rf .tidemark target logs dbt_packages .pytest_cache .mypy_cache .ruff_cache build python/src/*.egg-info
	@find python -name __pycache__ -type d -prune -exec rm -rf {} +
