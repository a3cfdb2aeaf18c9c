# hearsay: everything starts here. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes, which would compile what they import anew

.PHONY: help install demo paper-quick reproduction test thorough faults perf lint style types floors clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/installed  ## Make the virtual environment .venv and install everything, pinned

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hearsay needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -qq -j 0 .venv || true  # as pip would, on all cores
	@touch $@

demo: install  ## Run the first sweep, two methods on two graphs, and make its page: no account, no GPU, no download
	$(BIN)/python bench/run.py -m algo=dnasa,dsgt topology=ring,complete
	$(BIN)/python analysis/make_figures.py --figure compare
	$(BIN)/python analysis/make_report.py

QUICK := paper/speedup paper/spike paper/stepsize_mnist paper/stepsize_a9a paper/topology_a9a paper/curves_mnist \
	paper/curves_a9a paper/released_vs_written extra/heterogeneity extra/scale extra/table_1

paper-quick: install  ## Run a small size of every experiment of the paper, draw everything, check every claim
	for name in $(QUICK); do \
	  $(BIN)/python bench/run.py experiment=$$name experiment.size=quick results=results/quick tracker=none || exit 1; done
	-$(BIN)/python bench/run.py experiment=paper/stepsize_miniboone experiment.size=quick results=results/quick tracker=none
	$(BIN)/python analysis/make_figures.py --results results/quick
	$(BIN)/python analysis/check_claims.py --results results/quick
	$(BIN)/python analysis/make_report.py --results results/quick

reproduction: install  ## Write REPRODUCTION.md anew from the archive of the full-size runs
	$(BIN)/python analysis/check_claims.py --results reproduction/archive --out REPRODUCTION.md

test: install  ## Run the tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

thorough: install  ## Run the tests that take minutes
	$(BIN)/python -m pytest -n auto --dist loadgroup -m thorough

faults: install  ## Do all the harm of docs/reliability.md as often as it says there, which takes most of an hour
	HEARSAY_TEST_KILLS=12 HEARSAY_TEST_MANY=1 $(BIN)/python -m pytest -n 0 -m thorough \
	  tests/bench/sweep/test_survival.py tests/analysis/results/test_many.py -k 'test_killed_runs or test_thousands'
	$(BIN)/python -m tests.faults

perf: install  ## Measure the suite on this machine
	$(BIN)/python bench/perf.py

lint: style types floors  ## Check style, types, and that the floors of the house are kept

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

floors: install
	$(BIN)/lint-imports

clean:  ## Remove the virtual environment and caches; results stay
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
