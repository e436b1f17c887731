# Everything a developer types. `make help` lists it. Each target installs what it needs into .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo dev test test-page check-deploy soak lint format bench lock clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

install: $(INSTALLED) ## Install the worker and its tools into .venv, every package checked against its hash

$(INSTALLED): pyproject.toml deploy/lock/all.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/lock/all.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(INSTALLED) ## Start real PostgreSQL and Kafka, rate generated matches through them, show what came out
	$(BIN)/python -m deploy.local run -- $(BIN)/rating-worker demo

dev: $(INSTALLED) ## Keep the stack and a worker up under steady traffic, until Ctrl-C
	$(BIN)/python -m deploy.local run -- $(BIN)/rating-worker dev

test: $(INSTALLED) ## Run every test, on real services
	$(BIN)/python -m pytest

test-page: $(INSTALLED) ## Visit the worker's page in a browser (needs Chromium); PAGE_SCREENSHOTS=FOLDER keeps pictures
	$(BIN)/python -m pytest tests/page/in_browser.py

check-deploy: $(INSTALLED) ## Run the image's steps, render the chart, hold both and compose against their schemas (needs Go)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/lock/deploy.txt
	$(BIN)/python -m deploy.check.tools
	$(BIN)/python -m pytest deploy/check

soak: $(INSTALLED) ## Kill, freeze and cut everything for half an hour under load, then check what came of it
	$(BIN)/python -m tests.faults.soak

lint: $(INSTALLED) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED) ## Mend what can be mended of the style, and bring what is made from elsewhere up to date
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m deploy.helm

bench: $(INSTALLED) ## Measure throughput against a straightforward consumer, in one run
	$(BIN)/python -m deploy.local run --large -- $(BIN)/python -m tests.benchmarks

lock: ## Pin every dependency anew (needs uv), for all Pythons and platforms, with hashes and without an index
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra local --extra tracing --group dev pyproject.toml -o deploy/lock/all.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		-c deploy/lock/all.txt pyproject.toml -o deploy/lock/worker.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		-c deploy/lock/all.txt --extra tracing pyproject.toml -o deploy/lock/tracing.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		-c deploy/lock/all.txt --group build -o deploy/lock/build.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		-c deploy/lock/all.txt --group deploy -o deploy/lock/deploy.txt

clean: ## Remove what was installed and built here
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
