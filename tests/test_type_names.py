"""One name, one type: a reader who looks a name up finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TREES = {
    "product": (("src/causeway/**/*.py",), 300),
    "fault harness": (("tests/faults/*.py", "tests/support/*.py"), 60),
}
"""Files whose types share one set of names, and how many names there are at least."""


def names(tree: ast.Module) -> set[str]:
    """Public classes, and type aliases: assignments of a capitalised name that is no constant."""
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0].isupper() and not name.isupper()}


@pytest.mark.parametrize(("patterns", "least"), TREES.values(), ids=TREES)
def test_no_type_name_is_defined_twice(patterns: tuple[str, ...], least: int) -> None:
    defined: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        if not path.name.startswith(("test_", "conftest")):
            for name in names(ast.parse(path.read_text())):
                defined[name].append(str(path.relative_to(ROOT)))
    assert len(defined) > least
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}
