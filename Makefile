# `make demo` and `make test` do all of their own set-up; a second run starts in seconds.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check build clean
demo: .venv/installed
	@$(BIN)/cbnet demo

test: .venv/installed
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

build: .venv/installed
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -f src/cbnet/_kernels/*.c src/cbnet/_kernels/*.so
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The package is installed in place: edits to Python files are live, a changed kernel is compiled anew.
.venv/installed: pyproject.toml setup.py $(wildcard src/cbnet/_kernels/*.p[yx][xd])
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "cbnet needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up .venv: a few minutes the first time ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@touch $@
