# make demo    see a mirror at work, on real brokers started for it
# make test    lint, types, layers and all tests
# make test-fast  all tests that need no broker, JVM or browser, and what they cover: docs/testing.md
# make faults  every fault of the harness, and every login's, the deep ones too
# make faults-mm2  the same faults done to Causeway and to a real MirrorMaker 2, side by side
# make faults-kaf-relay  the same faults of a source pool's nodes, for Causeway and a real kaf-relay
# make soak    a mirror through random faults: SECONDS=600 SEED=7; says where it keeps what it saw
# make bench   Causeway against MirrorMaker 2 and the limits: QUICK=1 for the headline, FULL=1 for all shapes
# make sbom    a CycloneDX SBOM of the locked dependencies: build/sbom.cdx.json
# All set up .venv and Java first. ARGS goes to the program: make test ARGS="-k ledger"

ARGS ?=
BIN := .venv/bin
# Compiled tests are kept, whatever the environment says: each pytest worker would compile all of them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest

.PHONY: demo test test-all test-fast faults faults-mm2 faults-kaf-relay soak bench check ready sbom setup lock clean

demo: setup
	$(BIN)/causeway demo $(ARGS)

test: setup
	@$(MAKE) --no-print-directory -j2 check ready
	$(PYTEST) -n 3 --dist worksteal $(ARGS)

test-all: setup
	@$(MAKE) --no-print-directory -j2 check ready
	$(PYTEST) -n 3 --dist worksteal -m "not deep" $(ARGS)

test-fast: setup
	@mkdir -p build
	$(PYTEST) -n 4 --dist worksteal -m "not integration and not deep" --cov --cov-report= $(ARGS)
	@echo "coverage of these tests: $$($(BIN)/coverage report --format=total) % of the lines in src"

faults: setup
	$(PYTEST) tests/faults tests/security -m "deep or not deep" --spark $(ARGS)

faults-mm2: setup
	PYTHONPATH=tests $(BIN)/python -m faults.against_mm2 build/faults-mm2 $(ARGS)

# Needs kaf-relay v1.4.0 on the PATH or in ~/go/bin; says how to get it, and does not install it.
faults-kaf-relay: setup
	PYTHONPATH=tests $(BIN)/python -m faults.against_kaf_relay build/faults-kaf-relay $(ARGS)

SECONDS ?= 600
soak: setup
	PYTHONPATH=tests $(BIN)/python -m faults.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench: setup
	PYTHONPATH=tests:. $(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(FULL),--full) $(ARGS)

# What tests need besides .venv. Tests are compiled here, and not by each of three pytest workers.
ready: setup
	@scripts/browser
	@scripts/promtool
	@$(BIN)/python -m compileall -q src tests  # once, and not by each of the hundreds of processes
	@$(BIN)/python -m causeway.local_kafka.class_data_sharing || echo "Brokers will start without an archive of their classes." >&2
	@$(PYTEST) --collect-only -q >/dev/null || true

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python scripts/audit.py

sbom: setup
	@$(BIN)/python scripts/sbom.py $(ARGS)

setup:
	@scripts/setup

# requirements.txt from pyproject.toml: needs uv.
lock:
	uv pip compile --python-version 3.11 --universal --extra dev --extra fast --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		-o requirements.txt pyproject.toml

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
