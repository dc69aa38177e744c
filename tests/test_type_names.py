"""One name, one type: a reader who looks a name up finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "causeway"


def names(tree: ast.Module) -> set[str]:
    """Public classes, and type aliases: assignments of a capitalised name that is no constant."""
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0].isupper() and not name.isupper()}


def test_no_type_name_is_defined_twice() -> None:
    defined: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in names(ast.parse(path.read_text())):
            defined[name].append(str(path.relative_to(PACKAGE)))
    assert len(defined) > 300
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}
