# Targets for development and reproduction. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
# pytest-xdist 3.8 waits forever if it replaces a process of a group, so the tests end when one crashes.
PARALLEL := --dist loadgroup --max-worker-restart=0
unexport PYTHONDONTWRITEBYTECODE  # hundreds of test processes reuse the bytecode cache

.PHONY: help install demo paper-quick reproduction test thorough faults perf docs lint style types layers clean

help:  ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/installed  ## Create the virtual environment .venv with pinned versions

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hearsay needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -qq -j 0 .venv || true  # on all cores, which pip does not do
	@touch $@

demo: install  ## Run two methods on two graphs and write the report (no account, GPU or download)
	$(BIN)/python bench/run.py -m algo=dnasa,dsgt topology=ring,complete
	$(BIN)/python analysis/make_figures.py --figure compare
	$(BIN)/python analysis/make_report.py

QUICK := paper/speedup paper/spike paper/stepsize_mnist paper/stepsize_a9a paper/topology_a9a paper/curves_mnist \
	paper/curves_a9a paper/released_vs_written extra/heterogeneity extra/scale extra/table_1

paper-quick: install  ## Run all experiments of the paper in a small size, draw all figures, check all claims
	for name in $(QUICK); do \
	  $(BIN)/python bench/run.py experiment=$$name experiment.size=quick results=results/quick tracker=none || exit 1; done
	-$(BIN)/python bench/run.py experiment=paper/stepsize_miniboone experiment.size=quick results=results/quick tracker=none
	$(BIN)/python analysis/make_figures.py --results results/quick
	$(BIN)/python analysis/check_claims.py --results results/quick
	$(BIN)/python analysis/make_report.py --results results/quick

reproduction: install  ## Regenerate REPRODUCTION.md and its page per claim from the archived full-size runs
	$(BIN)/python analysis/check_claims.py --results reproduction/archive --out REPRODUCTION.md --pages reproduction/verdicts

test: install  ## Run the fast tests (about 4 minutes on 2 cores)
	$(BIN)/python -m pytest -n auto $(PARALLEL)

thorough: install  ## Run the slow tests (about 19 minutes on 2 cores)
	$(BIN)/python -m pytest -n $$($(BIN)/python -c 'import os; print(os.cpu_count() * 3 // 2)') $(PARALLEL) -m thorough --durations=25

faults: install  ## Run all fault-injection tests of docs/reliability.md (most of an hour on 2 cores)
	HEARSAY_TEST_KILLS=12 HEARSAY_TEST_MANY=1 $(BIN)/python -m pytest -n 0 -m thorough \
	  tests/bench/sweep/test_survival.py tests/analysis/results/test_many.py -k 'test_killed_runs or test_thousands'
	$(BIN)/python -m tests.faults

perf: install  ## Run the performance benchmarks on this machine (minutes)
	$(BIN)/python bench/perf.py

docs: install  ## Build the documentation site into build/site (no network needed)
	$(BIN)/python docs/build.py

lint: style types layers  ## Check style, types and import layers (1 minute on 2 cores)

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

clean:  ## Remove the virtual environment and caches, but not results
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
