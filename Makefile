# Tidemark's verbs: `make help`. The same ones run in CI (.ci/run).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.tidemark-setup
# what tests need comes when a verb first wants it, and so does what an extra needs
DEV := $(VENV)/.tidemark-setup-dev
CAPTURE := $(VENV)/.tidemark-setup-capture
FIRST_DATES := 2025-08-11,2025-09-09,2026-02-05
LAST_DATE := 2026-03-04
comma := ,
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

# pip's own bars on a terminal, else a line for each thing that takes time
define install
	@if [ -t 1 ]; then \
		$(BIN)/python -m pip install --disable-pip-version-check $(1); \
	else \
		$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off $(1) | \
			awk '/Downloading|Building wheel.*started/ { print " ", $$0; fflush() } /^Installing/ { print "  Installing …"; fflush() }'; \
	fi
endef

.PHONY: setup
setup: $(STAMP)  ## Make .venv with what running needs (requirements.lock); instant if nothing changed

$(STAMP): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11, 3.12 or 3.13 is required: apt install python3.11 python3.11-venv / brew install python@3.11, or make setup PYTHON=/path/to/python" >&2; \
		exit 1; fi
	@PYTHONPATH=python/src $(PYTHON) -m tidemark.java
	@echo "making $(VENV): dbt and Spark, some 850 MB (one or two minutes, once) …"
	@$(PYTHON) -m venv $(VENV)
	$(call install,--constraint requirements-dev.lock -r requirements.lock setuptools)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@# dbt's own files go where everything else of a run goes, and its colours to a terminal only: also for a plain `dbt run`
	@# of this environment
	@printf '%s\n' 'import os; home = os.environ.get("TIDEMARK_HOME") or ".tidemark"; os.isatty(1) or os.environ.setdefault("DBT_USE_COLORS", "false"); os.environ.setdefault("DBT_LOG_PATH", os.path.join(home, "logs")); os.environ.setdefault("DBT_TARGET_PATH", os.path.join(home, "target"))' \
		> "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tidemark_home.pth"
	@# what editors check model YAML by (.vscode/settings.json)
	@$(BIN)/tidemark schema > $(VENV)/tidemark-models.schema.json
	@touch $@

.PHONY: setup-dev
setup-dev: $(DEV)  ## Add what tests, style and the extras need (requirements-dev.lock)

$(DEV): $(STAMP) requirements-dev.lock
	@echo "adding what tests and the extras need …"
	$(call install,-r requirements-dev.lock)
	@touch $@

$(CAPTURE): $(STAMP) requirements-dev.lock
	@echo "adding what capture needs …"
	$(call install,--constraint requirements-dev.lock --no-build-isolation --editable '.[capture]')
	@touch $@

.PHONY: run
run: setup  ## Load four dates of the airports and show what changed
	@$(BIN)/tidemark run --business-date $(FIRST_DATES),$(LAST_DATE) --select airports --changes 5
	@printf '%s\n' "" "The tables are in $${TIDEMARK_HOME:-.tidemark}/warehouse. What to try next:" \
		"  . $(BIN)/activate" \
		"  tidemark feed airports --from 2025-08-11 --where \"icao = 'WIPO'\" --images change    # the changes of one airport" \
		"  tidemark status                  # how every entity stands" \
		"  tidemark history airports WIPO   # every version of a row" \
		"  tidemark plan --select airports --business-date 2026-02-05   # what loading a date again would do" \
		"  tidemark shell                   # all of these in one warm process" \
		"  tidemark init --help    # an entity of your own; README.md: A first entity in five minutes" \
		"  make examples           # intervals, a feed, change events, enriched events"

.PHONY: examples
examples: setup  ## Load the other examples: intervals and feed of the airports, change events, enriched events
	@test -e "$${TIDEMARK_HOME:-.tidemark}/landing/events/$(LAST_DATE).tsv.gz" || \
		$(BIN)/tidemark datagen events 2000 3 "$${TIDEMARK_HOME:-.tidemark}/landing/events/{date}.tsv.gz" $(EVENTS)
	@$(BIN)/tidemark run --business-date $(FIRST_DATES),$(LAST_DATE) --select airports+
	@$(BIN)/tidemark run --select event_replication
	@$(BIN)/tidemark run --business-date $(EVENT_DATES),$(LAST_DATE) --select events
	@printf '%s\n' "" "The changes of one airport, as tidemark feed prints them:"
	@$(BIN)/tidemark feed airports --from 2025-08-11 --where "icao = 'WIPO'" --images change

.PHONY: run-replicator
run-replicator: $(CAPTURE)  ## Mirror a throw-away PostgreSQL under load (Debian: installed if it is missing)
	@$(BIN)/python python/examples/mirror_postgres.py

.PHONY: test
test: setup-dev  ## Style, the examples with their dbt tests, the quick ring, a turn of the functional one; says how long it takes
	@# first the examples: one process fetches the jars before two want them
	@$(BIN)/python python/tests/stages.py style test-examples test-fast test-spark

# of the airports the first date and the last (make test-examples AIRPORT_DATES=… for others), of the events two days
AIRPORT_DATES := $(firstword $(subst $(comma), ,$(FIRST_DATES)))
# the models whose first date is not enough
AIRPORT_MODELS := airports_feed airports_scd2 +airports +airports_by_rdd
EVENT_MODELS := +atomic_events +atomic_events_by_rdd
.PHONY: test-examples
test-examples: setup-dev
	@rm -rf .tidemark/test
	@$(BIN)/tidemark datagen events 2000 3 ".tidemark/test/landing/events/{date}.tsv.gz" $(EVENTS)
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --target ci --business-date $(AIRPORT_DATES) $(AIRPORT_MODELS:%=--select %)
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --target ci --business-date $(lastword $(subst $(comma), ,$(EVENT_DATES))) $(EVENT_MODELS:%=--select %)
	@TIDEMARK_HOME=$(CURDIR)/.tidemark/test $(BIN)/tidemark run --build --target ci --business-date $(LAST_DATE)

.PHONY: test-fast
test-fast: setup-dev  ## The rings that need no Spark
	@$(BIN)/python -m pytest -n 2 --costs $(wildcard python/tests/unit python/tests/render)

.PHONY: test-spark
test-spark: setup-dev
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not slow and not clusters and not faults' --turns --costs python/tests/functional

.PHONY: test-slow
test-slow: setup-dev  ## The slow ring: more random streams, and the stories of all turns
	@$(MAKE) test-examples AIRPORT_DATES=$(FIRST_DATES)
	@$(BIN)/python -m pytest -m '(slow or turn) and not clusters'

.PHONY: test-clusters
test-clusters: setup-dev  ## The ring of clusters, servers of Spark and object stores, also with executors that die
	@$(BIN)/python -m pytest -m clusters -n 0 python/tests/functional

.PHONY: test-faults
test-faults: setup-dev  ## Hostile inputs, broken files, two writers, kills
	@$(BIN)/python -m pytest -m faults

.PHONY: test-iceberg
test-iceberg: setup-dev  ## The core stories once more, with tables of Iceberg (twenty minutes)
	@$(BIN)/python -m pytest -n 2 --dist loadfile --iceberg -m 'not slow' python/tests/functional

.PHONY: functional
functional: setup-dev  ## The ring with dbt and a local Spark
	@$(BIN)/python -m pytest -m 'not clusters and not faults' python/tests/functional

.PHONY: docs
docs: setup-dev  ## Make the documentation site, build/docs/site/index.html; a dead link or any other warning fails
	@PYTHONPATH=python:python/src $(BIN)/python -m docsite

.PHONY: reference
reference: setup-dev  ## Write anew what pages of python/docs have of the sources: settings, commands, macros
	@PYTHONPATH=python:python/src $(BIN)/python -m docsite --reference

# the wheel from the sdist, so that both hold the same
.PHONY: package
package: setup-dev  ## Build wheel, sdist and bill of materials into build/dist
	@rm -rf build/dist build/lib build/bdist.*
	@SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)" \
		$(BIN)/python -m build --no-isolation --outdir build/dist . >/dev/null
	@PYTHONPATH=python $(BIN)/python -m docsite.bill build/dist/bom.cdx.json
	@ls -1 build/dist

.PHONY: bench
bench: setup-dev  ## Measure speed against peers, all of one commit, in hours, into RESULTS.md; or make bench WORKLOADS="a b"
	@$(BIN)/python python/benchmarks/bench.py $(WORKLOADS)

.PHONY: style
style: setup-dev  ## ruff, mypy, and sqlfluff on the SQL that macros render
	@$(BIN)/ruff check python
	@$(BIN)/ruff format --check python
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar python/tests/render/golden

.PHONY: format
format: setup-dev  ## Let ruff repair what it can
	@$(BIN)/ruff check --fix python
	@$(BIN)/ruff format python

.PHONY: lock
lock:  ## Pin every dependency anew in requirements.lock and requirements-dev.lock
	@test -x $(BIN)/pip-compile || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet pip-tools; }
	$(call compile,--allow-unsafe --extra dev --output-file requirements-dev.lock)
	$(call compile,--constraint requirements-dev.lock --output-file requirements.lock)

define compile
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --strip-extras --no-annotate \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options $(1) pyproject.toml
endef

.PHONY: clean
clean:  ## Remove what runs and tools wrote; keeps .venv
	@rm -rf .tidemark target logs dbt_packages .pytest_cache .mypy_cache .ruff_cache build python/src/*.egg-info
	@find python -name __pycache__ -type d -prune -exec rm -rf {} +
