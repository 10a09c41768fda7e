# Every target does all of its own set-up; a second run starts in seconds.
PYTHON ?= python3
BIN := .venv/bin
# Quiet twice: pip's warnings are about its own configuration, and errors still show.
PIP := $(BIN)/pip --disable-pip-version-check install -qq
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
DEMO := network,spark
DEV := all,dev
SOURCES := pyproject.toml setup.py $(wildcard src/cbnet/_kernels/*.p[yx][xd])

# Tests start hundreds of processes: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check build docs site clean
demo: $(if $(wildcard .venv/dev),.venv/dev,.venv/demo)
	@$(BIN)/cbnet demo

# Four processes on two cores: many tests wait for routers and clocks.
test: .venv/dev .venv/spark.jsa
	$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder --durations 10

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

build: .venv/dev
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist . ./lab

# The site is built from Markdown and source text: it needs neither cbnet nor a compiler.
docs: .venv/docs
	$(MKDOCS) serve

site: .venv/docs
	$(MKDOCS) build --strict

clean:
	rm -rf .venv build dist site src/*.egg-info lab/build lab/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -f src/cbnet/_kernels/*.c src/cbnet/_kernels/*.so
	find src lab tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "cbnet needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up .venv, which takes a few minutes the first time" >&2
	@$(PYTHON) -m venv .venv

# The package is installed in place: edits to Python files are live, a changed kernel is compiled again.
.venv/demo: $(SOURCES) | .venv/bin/python
	@$(call step,Installing cbnet and what the demo needs (PySpark alone is 450 MB),$(PIP) --editable '.[$(DEMO)]')
	@touch $@

.venv/dev: $(SOURCES) lab/pyproject.toml | .venv/bin/python
	@$(call step,Installing cbnet with the laboratory and the development tools,$(PIP) --editable '.[$(DEV)]' --editable ./lab)
	@touch $@

# Tests start Spark in little more than half of the time with it.
.venv/spark.jsa: pyproject.toml | .venv/dev
	@$(call step,Archiving the classes of Spark,$(BIN)/python -m tests.support.java_options)

.venv/docs: pyproject.toml | .venv/bin/python
	@$(PIP) --upgrade 'pip>=25.1'  # the first with --group
	@$(call step,Installing the tools of the documentation site,$(PIP) --group docs)
	@touch $@

# $(call step,TEXT,COMMAND): print the text, a dot every two seconds while the command runs, and how long it took.
define step
printf '  %s ' '$(1)' >&2; start=$$(date +%s); \
$(2) & job=$$!; \
while kill -0 $$job 2>/dev/null; do printf . >&2; sleep 2; done; \
wait $$job || exit 1; echo " $$(( $$(date +%s) - start )) s" >&2
endef
