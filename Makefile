# Everything that a fresh machine needs: Python 3.11 or newer with venv, node with npm, git; for the
# tests gcc with a static libc. No root; Docker for test-docker alone.
#   make demo    verify a server that lies, and see the contradiction
#   make test    all tests, real public servers included
#   make check   the gates: lint, format, types, layers
#   make test-docker   the tests that need a Docker engine and the image of `hintproof doctor --build`
#   make test-all      both
#   make locks         pin anew what the image is built from

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
REAL := .real
# Two at once, since most of them wait for a server; each file in one process, since its tests share what they run.
WORKERS := 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Compiling the package anew for each of the many processes of a test run would take most of its time.
unexport PYTHONDONTWRITEBYTECODE

PIP := -m pip install --quiet
NPM := npm install --no-audit --no-fund --no-update-notifier --ignore-scripts --loglevel=error

NPM_VERSION := 2026.8.31
NPM_SERVERS := server-filesystem server-memory server-everything server-sequential-thinking

.PHONY: help setup real demo test test-docker test-all check locks benchmark clean

help:
	@sed -n 's/^#   //p' Makefile

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@$(call make_venv,$(VENV))
	@echo "hintproof: installing into $(VENV)"
	@$(BIN)/python $(PIP) --upgrade 'pip>=25.1'
	@$(BIN)/python $(PIP) --editable . --group dev
	@touch $@

real: $(REAL)/node/.installed $(REAL)/venv/.installed $(REAL)/venv-sqlite/.installed

$(REAL)/node/.installed: Makefile
	@command -v npm >/dev/null || { echo 'hintproof: npm is missing; install node with npm' >&2; exit 1; }
	@echo "hintproof: installing the real servers of npm into $(REAL)/node"
	@mkdir -p $(REAL)/node
	@$(NPM) --prefix $(REAL)/node $(NPM_SERVERS:%=@modelcontextprotocol/%@$(NPM_VERSION))
	@touch $@

$(REAL)/venv/.installed: Makefile
	@$(call make_venv,$(REAL)/venv)
	@echo "hintproof: installing the real servers of PyPI into $(REAL)/venv"
	@$(REAL)/venv/bin/python $(PIP) mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24
	@touch $@

$(REAL)/venv-sqlite/.installed: Makefile
	@$(call make_venv,$(REAL)/venv-sqlite)
	@echo "hintproof: installing mcp-server-sqlite into $(REAL)/venv-sqlite"
	@$(REAL)/venv-sqlite/bin/python $(PIP) mcp-server-sqlite==2025.4.25 'mcp<2' 'pydantic<2.12'
	@touch $@

# The lying server must be caught: exit code 1 of verify is what the demo wants to see.
demo: setup
	@code=0; $(BIN)/hintproof verify -- $(BIN)/python scenarios/user-admin/lying/server.py || code=$$?; \
	if [ $$code -eq 1 ]; then echo; echo 'The label was a lie, and hintproof showed it. (The command is $(BIN)/hintproof here.)'; exit 0; fi; \
	echo "hintproof: expected a contradiction (exit code 1), got exit code $$code" >&2; exit 1

test: setup real
	@$(PYTEST) $(PYTEST_ARGS)

test-docker: setup real
	@$(PYTEST) -m docker --hosts docker $(PYTEST_ARGS)

test-all: setup real
	@$(PYTEST) -m 'docker or not docker' --hosts local,docker $(PYTEST_ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Hashes, and no address: whoever builds the image takes the packages from where his pip does.
LOCK := UV_CUSTOM_COMPILE_COMMAND='make locks' $(BIN)/uv pip compile --quiet --upgrade --universal \
	--generate-hashes --no-annotate --no-emit-index-url --python-version 3.11

locks: setup
	@$(BIN)/python $(PIP) --group uv
	@$(LOCK) pyproject.toml --output-file locks/hintproof.txt
	@$(LOCK) --group uv --output-file locks/uv.txt
	@$(LOCK) --group node --output-file locks/node.txt

benchmark: setup real
	$(BIN)/python benchmarks/run

clean:
	rm -rf $(VENV) $(REAL)

define make_venv
if [ -z "$(PYTHON)" ]; then echo 'hintproof: Python 3.11 or newer is missing' >&2; exit 1; fi; \
if [ -x $(1)/bin/python ] && $(1)/bin/python -c 'import pip' 2>/dev/null; then :; else \
	rm -rf $(1); \
	$(PYTHON) -m venv $(1) || { rm -rf $(1); \
		echo 'hintproof: $(PYTHON) cannot make a virtual environment; install its venv package (Debian and Ubuntu: python3-venv)' >&2; exit 1; }; \
fi
endef
