# make run: set up and show the main result.  make test: set up and pass the tests.
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PYTHON ?= python3

.PHONY: install run test test-all lint bench build check-wheel clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dotphase needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable '.[dev,all]'
	@touch $(STAMP)

run: install
	$(PY) -m dotphase phase-diagram --out out/phase-diagram
	@echo "drag it yourself, in a browser: $(VENV)/bin/dotphase explore"

test: install
	$(PY) -m pytest

test-all: install
	$(PY) -m pytest -m ''

lint: install
	$(VENV)/bin/ruff check src tests benchmarks examples
	$(VENV)/bin/ruff format --check src tests benchmarks examples
	$(VENV)/bin/pyright

build: install
	rm -rf dist
	$(PY) -m build --quiet --outdir dist .
	$(PY) -m twine check --strict dist/*

check-wheel: build  # installed into empty environments elsewhere, does it work?
	PYTHON=$(PYTHON) .ci/check-wheel dist/*.whl

bench: install
	$(PY) -m benchmarks

clean:
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
