# hearsay: everything starts here. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help install demo test thorough perf lint clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/installed  ## Make the virtual environment .venv and install everything, pinned

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hearsay needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install  ## Run the first sweep: two methods on two graphs, no account, no GPU, no download
	$(BIN)/python bench/run.py -m algo=dnasa,dsgt topology=ring,complete

test: install  ## Run the tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

thorough: install  ## Run the tests that take minutes
	$(BIN)/python -m pytest -n auto --dist loadgroup -m thorough

perf: install  ## Measure the suite on this machine
	$(BIN)/python bench/perf.py

lint: install  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:  ## Remove the virtual environment and caches; results stay
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
