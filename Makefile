# make demo    see a mirror at work, on real brokers started for it
# make test    lint, types, layers and all tests
# Both set up .venv and Java first. ARGS goes to the program: make test ARGS="-k ledger"

ARGS ?=
BIN := .venv/bin

.PHONY: demo test check setup lock clean

demo: setup
	$(BIN)/causeway demo $(ARGS)

test: check
	$(BIN)/pytest $(ARGS)

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

setup:
	@scripts/setup

# requirements.txt from pyproject.toml: needs uv.
lock:
	uv pip compile --python-version 3.11 --universal --extra dev --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		-o requirements.txt pyproject.toml

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
