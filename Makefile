# make run: set up and show the main result.  make test: set up and pass the tests.
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DOCS := $(VENV)/.installed-docs
PYTHON ?= python3
WORKERS := -n logical --maxprocesses 4 --dist loadfile

.PHONY: install run test test-all lint bench build check-wheel release-check docs docs-check clean

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
	$(PY) -m pytest $(WORKERS)

test-all: $(DOCS)
	$(PY) -m pytest $(WORKERS) -m ''

lint: install
	$(VENV)/bin/ruff check src tests benchmarks examples docs
	$(VENV)/bin/ruff format --check src tests benchmarks examples docs
	$(VENV)/bin/pyright

build: install
	rm -rf dist
	$(PY) -m build --quiet --outdir dist .
	$(PY) -m twine check --strict dist/*

check-wheel: build  # installed into empty environments elsewhere, does it work?
	PYTHON=$(PYTHON) .ci/check-wheel dist/*.whl

release-check: install  # everything a release needs, on every Python that is here
	.ci/release-check

# The site, its pages run (kept between builds): docs/_build/html/index.html. Warnings are errors.
docs: $(DOCS)
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs-check: $(DOCS)  # links and references only: nothing is run
	DOTPHASE_DOCS_EXECUTE=off $(PY) -m sphinx -W --keep-going -q -b dummy docs docs/_build/check

$(DOCS): $(STAMP)
	$(PY) -m pip install --quiet --editable '.[docs]'
	@touch $(DOCS)

bench: install
	$(PY) -m benchmarks

clean:
	rm -rf $(VENV) dist docs/_build docs/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
