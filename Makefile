# Everyday commands; `make` lists them. Every target works on a fresh Debian machine that has Rust and Python.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export CARGO_TARGET_DIR ?= $(HOME)/.cache/omnigraph-target

# Tools that come from Python packages, in an environment of their own outside the tree.
PYARROW := 26.0.1
BUF := 1.75.0
VENV := $(abspath $(CARGO_TARGET_DIR))/venv
PYTHON := $(VENV)/bin/python
BUF_BIN := $(VENV)/bin/buf

# Passed on: `make test ARGS='-p omnigraph-engine'`, `make demo ARGS=--help`, `make bench ARGS=--help`.
ARGS ?=

.PHONY: help setup venv demo clean-demo test check check-format bench fmt codegen

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name what; do printf '  make %-13s %s\n' "$$name" "$$what"; done

setup: ## install what the build needs and this machine lacks
	@scripts/setup.sh

venv: setup
	@if ! [ "$$('$(BUF_BIN)' --version 2>&1)" = '$(BUF)' ] \
		|| ! '$(PYTHON)' -c 'import pyarrow, sys; sys.exit(pyarrow.__version__ != "$(PYARROW)")' 2>/dev/null; then \
		echo 'preparing $(VENV)'; \
		rm -rf '$(VENV)'; \
		python3 -m venv '$(VENV)'; \
		'$(PYTHON)' -m pip install --quiet --disable-pip-version-check --only-binary :all: \
			'pyarrow==$(PYARROW)' 'buf-bin==$(BUF)'; \
	fi

demo: ## build everything and walk through it on a graph of its own
	@scripts/demo.sh $(ARGS)

clean-demo: ## remove what the demo left
	rm -rf '$(CARGO_TARGET_DIR)/demo'

test: venv ## run all tests
	OMNIGRAPH_TEST_PYTHON='$(PYTHON)' cargo test --locked $(if $(ARGS),$(ARGS),--workspace)

check: check-format ## formatting, lints and structure, warnings denied
	cargo test --locked -p omnigraph-tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings

check-format: venv ## the part of check that compiles nothing
	cargo fmt --all --check
	'$(BUF_BIN)' lint
	'$(BUF_BIN)' format -d --exit-code

bench: setup ## measure, in a release build
	cargo run --release --locked -p omnigraph-tests --bin omnigraph-bench -- $(ARGS)

fmt: venv ## format Rust and the contract
	cargo fmt --all
	'$(BUF_BIN)' format -w

codegen: ## regenerate the committed contract code
	cargo run --locked -p omnigraph-codegen
