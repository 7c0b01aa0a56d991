# Everything a person does here, by name. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
UV_VERSION := 0.13.9
TOOLS := .tools
# uv from the PATH if there is one, else one that `make` brings from PyPI into $(TOOLS).
UV := $(or $(shell command -v uv 2>/dev/null),$(TOOLS)/bin/uv)
PYTHON ?= python3
RUN := $(UV) run --frozen --no-sync
# First with the certificates that uv brings, then with the machine's own: behind some proxies only those hold.
sync = $(UV) sync --frozen --quiet $(1) 2>/dev/null || UV_SYSTEM_CERTS=true $(UV) sync --frozen --quiet $(1)

.PHONY: help
help: ## Show what can be done
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(TOOLS)/bin/uv:
	@echo "uv is not here: bringing it from PyPI into $(TOOLS)"
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.PHONY: install
install: $(filter $(TOOLS)/%,$(UV)) ## Install Taximeter and what its tests need into .venv
	@$(call sync,)

.PHONY: demo
demo: install ## Run a simulated day and open the meter on it
	@$(RUN) taximeter demo

.PHONY: up
up: install ## Start every program on this machine
	@$(RUN) taximeter up

.PHONY: test
test: install ## Run the tests
	@$(RUN) pytest

.PHONY: check
check: $(filter $(TOOLS)/%,$(UV)) ## Format check, lint, types, import directions
	@$(call sync,--group dev)
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@$(RUN) lint-imports

.PHONY: format
format: $(filter $(TOOLS)/%,$(UV)) ## Format the code
	@$(call sync,--group dev)
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

.PHONY: bench
bench: install ## Run the benchmarks (not a gate)
	@$(RUN) python -m benchmarks

.PHONY: clean
clean: ## Remove what was installed and generated
	rm -rf .venv $(TOOLS) demo-data .pytest_cache .mypy_cache .ruff_cache .hypothesis
