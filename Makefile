# The two commands: make demo, make test. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test browser lint docs bench baselines clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY) browser
	$(BIN)/python -m pytest -n 2 --dist loadfile $(TESTS)

# The tests of pages and films want a real browser, and ffmpeg; without them they are skipped, and say so.
browser:
	@for program in chromium ffmpeg; do command -v $$program > /dev/null || { \
	    [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -q > /dev/null && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends $$program > /dev/null; } || \
	    echo "There is no $$program: what is tested with it is skipped. On Debian: apt-get install $$program"; done

lint: $(READY)
	$(BIN)/ruff check src tests bench examples docs
	$(BIN)/ruff format --check src tests bench examples docs
	$(BIN)/mypy

# The site, in build/site.
docs: $(READY)
	$(BIN)/mkdocs build --strict

bench: baselines
	$(BIN)/python bench/all.py

# The libraries of `pyke compare`. torch comes first: asked for by another package, pip would take a build with gigabytes of CUDA.
baselines: $(READY)
	$(BIN)/pip install -q --disable-pip-version-check "torch==2.13.0"
	$(BIN)/pip install -q --disable-pip-version-check -e ".[baselines]"
	@$(BIN)/python -c 'import importlib.metadata as m, sys; cuda = [d.name for d in m.distributions() if d.name.startswith("nvidia")]; sys.exit(f"torch brought CUDA packages: {cuda}. Install its CPU build first." if cuda else 0)'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "PYKE needs Python 3.11 or newer; say where it is: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
	    [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy python3-venv && $(PYTHON) -m venv --clear $(VENV); } || { \
	    echo "Cannot make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install -q --disable-pip-version-check -e ".[dev]"
	@touch $(READY)

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
