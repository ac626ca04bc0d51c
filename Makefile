# Start with `make demo` or `make test`. Each installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles modules when they are first imported, if the environment does not forbid it; pip
# would compile thousands that nobody imports.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/pip install -q --disable-pip-version-check --no-compile
PACKAGE := $(VENV)/package-installed
TOOLS := $(VENV)/tools-installed

# In the order of the files: those that run longest are not the last ones. Three workers on two
# cores: some tests wait for servers and time limits.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder
SHARE ?= 1
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

.PHONY: package demo test coverage fuzz faults browser lint docs bench baselines tools release clean

package: $(PACKAGE)

demo: $(PACKAGE)
	$(BIN)/python examples/demo.py

test: $(TOOLS) browser
	$(PYTEST) $(if $(COVERAGE),--cov --cov-report=term:skip-covered) $(TESTS)

# All tests with branch coverage; fails below the minimum in pyproject.toml.
coverage:
	$(MAKE) test COVERAGE=1

# The property tests with ten times as many examples, new in each run. Repeat a run: make fuzz SEED=…
fuzz: $(TOOLS)
	HYPOTHESIS_PROFILE=random $(PYTEST) -m hypothesis --hypothesis-seed=$(SEED) $(TESTS)

# The long form of the tests of faults, for the figures in docs/reliability.md. It takes hours:
# SHARE=0.1 repeats a tenth as often. Repeat a run: SEED=…
faults: $(TOOLS)
	PYKE_FAULTS=$(SHARE) PYKE_SEED=$(SEED) $(BIN)/python -m pytest -n 2 $(or $(TESTS),tests/faults)

# Tests of pages and films need a browser and ffmpeg. Without them these tests are skipped.
browser:
	@for program in chromium ffmpeg; do command -v $$program > /dev/null || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -q > /dev/null && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends $$program > /dev/null; } || \
	    echo "$$program is missing: its tests are skipped. On Debian: apt-get install $$program"; done

lint: $(TOOLS)
	$(BIN)/ruff check src tests bench examples docs
	$(BIN)/ruff format --check src tests bench examples docs
	$(BIN)/mypy

# The site, in build/site.
docs: $(TOOLS)
	$(BIN)/mkdocs build --strict

bench: baselines
	$(BIN)/python bench/all.py

# The libraries of `pyke compare`. torch first: as a dependency, pip installs a build with gigabytes of CUDA.
baselines: $(TOOLS)
	$(PIP) "torch==2.13.0"
	$(PIP) -e ".[baselines]"
	@$(BIN)/python -c 'import importlib.metadata as m, sys; cuda = [d.name for d in m.distributions() if d.name.startswith("nvidia")]; sys.exit(f"torch installed CUDA packages: {cuda}. Install its CPU build first." if cuda else 0)'

$(PACKAGE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "PYKE needs Python 3.11 or newer. If you have one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -q && \
	    apt-get install -qy python3-venv && $(PYTHON) -m venv --clear $(VENV); } || { \
	    echo "Cannot create a virtual environment. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@echo "Installing PYKE into $(VENV) ..."
	@$(PIP) -e .
	@touch $@

# What is too slow for every commit: a reproducible package that works in an empty environment, the
# lowest versions of libraries, known vulnerabilities, and all faults. The audit fails if it has no
# data about a library; ADVISORIES=DIR is a copy of the PyPA advisory database that may have some.
release: $(TOOLS)
	.ci/package
	.ci/lowest
	$(PIP) pip-audit
	$(BIN)/python bench/vulnerabilities.py $(if $(ADVISORIES),--advisories $(ADVISORIES))
	$(MAKE) faults

tools: $(TOOLS)

$(TOOLS): $(PACKAGE)
	@echo "Installing the tools of development into $(VENV) ..."
	@$(PIP) -e ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) demo build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
