"""What `import causeway` offers, and what it costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import causeway

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "causeway"


def test_all_names_what_there_is_and_nothing_else() -> None:
    members = {
        name
        for name in dir(causeway)
        if (not name.startswith("_") or name == "__version__")
        and not isinstance(getattr(causeway, name), ModuleType)
    }
    assert members - {"Any", "TYPE_CHECKING", "import_module"} == set(causeway.__all__)
    assert sorted(causeway.__all__) == causeway.__all__


def test_type_checkers_see_the_names_where_the_interpreter_finds_them() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imported = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == causeway._LAZY


def test_importing_it_is_cheap() -> None:
    code = "import sys, causeway; dir(causeway); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in loaded.stdout.split()}
    heavy = {"pyspark", "confluent_kafka", "pydantic", "pyarrow", "numpy", "pandas", "numba", "rich", "typer"}
    assert "causeway" in modules
    assert not modules & heavy


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    assert not hasattr(causeway, "mirror")


def test_the_page_describes_every_name() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    described = set(re.findall(r"`(?:causeway\.)?(\w+)", page))
    assert set(causeway.__all__) - described == set()


def test_commands_call_the_functions() -> None:
    """The command line is a layer over the API: no command imports the feature behind its function."""
    features = {"replication", "verification", "adoption", "checking"}
    for name in ("run", "serving", "check", "verify", "adopt"):
        text = (PACKAGE / "cli" / f"{name}.py").read_text()
        imported = re.findall(r"^from causeway\.(\w+)(\S*) import (.*)", text, re.MULTILINE)
        used = {(package, what) for package, _, what in imported if package in features}
        assert used <= {("replication", "SayEvent"), ("adoption", "LARGEST_WINDOW")}, name
        assert "api" in {package for package, _, _ in imported}, name
