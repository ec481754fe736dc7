# SPDX-License-Identifier: GPL-2.0-or-later
# The tests build the plugins for this Python: Debian's own, which has a shared libpython.
PYTHON ?= /usr/bin/python3
BIN := .venv/bin
# pytest compiles all tests again in each of its processes unless it may keep what it has compiled.
unexport PYTHONDONTWRITEBYTECODE
C_FILES = $(shell find native tests -name '*.[ch]' -not -path '*/.*')
SHELL_FILES = $(shell git grep -lE -e '^\#!(/usr)?/bin/(env )?(ba)?sh' -- ':!tests/fuzz/corpus' ':!*.md' ':!*.py' 2>/dev/null)

# Tests that need one release of Slurm run on another one at each commit.
test rest soak: export SLURMHOOKS_TEST_TURN ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)

.PHONY: help venv check format test rest soak demo bench docs deb rpm release clean
.DEFAULT_GOAL := help

help: ## show this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 15

venv: .venv/.complete ## set up .venv with the dependencies of the other targets

.venv/.complete: pyproject.toml tools/setup
	@tools/setup $(PYTHON)

# Otherwise each worker of pytest compiles all tests of a fresh clone.
.venv/.tests: .venv/.complete
	@$(BIN)/pytest -q --collect-only tests >/dev/null || : # the tests themselves say what is wrong
	@touch $@

CHECKS = mypy unit-tests sizes ruff ruff-format clang-format shellcheck codespell
.PHONY: $(CHECKS) stubs
check: venv ## run everything that needs no Slurm: linters, types, formats, unit and native tests
	@$(MAKE) --no-print-directory --keep-going --jobs 2 $(CHECKS)

ruff:
	@tools/step $@ $(BIN)/ruff check
ruff-format:
	@tools/step $@ $(BIN)/ruff format --check
stubs:
	@$(BIN)/python tools/make_stubs.py
mypy: stubs
	@tools/step $@ $(BIN)/mypy
clang-format:
	@tools/step $@ $(BIN)/clang-format --dry-run -Werror $(C_FILES)
shellcheck:
	@tools/step $@ $(BIN)/shellcheck $(SHELL_FILES)
codespell:
	@tools/step $@ $(BIN)/codespell
# How much there is to read and to learn; tests/project/test_sizes.py compares it with docs/architecture.md.
sizes:
	@$(BIN)/python -m tests.project.sizes
# These files of tests/cluster have quick tests that need no cluster; to collect the others takes a quarter of all.
WITHOUT_CLUSTER = calls rules run_without_clusters source_tree turns
# Some tests wait, so there is a worker more than processors.
unit-tests: stubs .venv/.tests
	@$(BIN)/pytest -q -n $$(($$(nproc) + 1)) --dist worksteal -m 'not (cluster or sanitized or slow or soak)' \
		$(WITHOUT_CLUSTER:%=tests/cluster/test_%.py) tests/fuzz tests/native tests/project tests/typing tests/unit

format: venv ## rewrite Python and C sources in the house style
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format
	@$(BIN)/clang-format -i $(C_FILES)

# Root file systems that are missing are made while check runs; cluster-tests waits for them, and says what is wrong.
# Not $(MAKE), for which "make -n" would run the line.
test: venv ## run check, then sanitizers and all tests on real clusters of all supported releases
	@{ tests/cluster/run possible && tests/cluster/run rootfs $(SLURMHOOKS_TEST_RELEASES); } >/dev/null 2>&1 & \
	make --no-print-directory check && tools/cluster-tests $(BIN)/pytest; code=$$?; wait; exit $$code

rest: venv ## run what test leaves out on real clusters: other releases, and what takes long; see .ci/run
	@tools/cluster-tests $(BIN)/pytest -m rest

.venv/.soak: .venv/.complete
	@echo "setup: tools for long tests"
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --quiet -e '.[soak]'
	@touch $@

soak: .venv/.soak ## run the statistical and long tests, with their durations
	@$(BIN)/pytest -v -m soak --durations=0 tests

demo: ## show hooks at work on a real Slurm, which this sets up
	@tools/need python3 git
	@tests/cluster/demo

bench: venv ## measure what hooks cost on a real Slurm
	@$(BIN)/python tests/cluster/bench

# Uses Debian's Sphinx (python3-sphinx python3-myst-parser furo) if installed, otherwise the one of the package index.
SPHINX_PATH = $(shell $(PYTHON) -c 'import furo, myst_parser, sphinx; print(sphinx.__path__[0].rpartition("/")[0])' 2>/dev/null)
SITE_PACKAGES = $(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

.venv/.docs: .venv/.complete
	@[ -n "$(SPHINX_PATH)" ] || { echo "setup: Sphinx"; \
		$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --quiet -e '.[docs]'; }
	@touch $@

docs: .venv/.docs ## build the documentation
	@PYTHONPATH=$(SITE_PACKAGES):$(SPHINX_PATH) \
		tools/step sphinx $(BIN)/python -m sphinx -n -W --keep-going -q -b html docs build/docs
	@echo "file://$(CURDIR)/build/docs/index.html"

deb: venv ## make the Debian source package in dist
	@contrib/packaging/make-deb $(BIN)/python

rpm: venv ## make the source RPM in dist
	@contrib/packaging/make-rpm $(BIN)/python

release: check ## build and verify the files of a release, from a commit that RELEASING.md prepares
	@tools/release $(BIN)/python

clean: ## remove build results, but not the cache of clusters (see tests/cluster/run)
	@rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
