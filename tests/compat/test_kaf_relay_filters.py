"""kaf-relay's filters: Go plugins, and Python files that replace them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.translation import Translation
from causeway.config import secrets
from support.kaf_relay import PLAIN

FILTER = "class Filter:\n    def keep(self, record):\n        return True\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "plugins").mkdir()
    for name in ("europe.py", "plugins/test.py"):
        (tmp_path / name).write_text(FILTER)
    for name in ("testfilter.filter", "test.so", "plugins/v2"):
        (tmp_path / name).touch()
    return tmp_path


def filtered(here: Path, more: Mapping[str, Any], *flags: str, text: str = PLAIN) -> Translation:
    tree = merged([tomllib.loads(text), more])
    return translate(tree, "config.toml", Options(filters=flags), here)


@pytest.mark.parametrize(
    ("more", "flags", "wanted"),
    [
        ({}, ("europe.py",), [("europe.py:Filter", {})]),
        (
            {},
            ("europe.py:Europe", "./plugins/test.py"),
            [("europe.py:Europe", {}), ("plugins/test.py:Filter", {})],
        ),
        (
            {"filter": {"europe": {"config": '{"a": 1, "b": null}'}}},
            ("europe.py",),
            [("europe.py:Filter", {"a": 1})],
        ),
        ({"filters": {"test": {"enabled": False, "path": "test.bin", "config": "{}"}}}, (), []),
        ({"filters": {"test": {"path": "test.bin"}}}, (), []),
        (
            {"filters": {"test": {"enabled": True, "path": "plugins/test.py", "config": '{"a": [1]}'}}},
            (),
            [("plugins/test.py:Filter", {"a": [1]})],
        ),
        # A Go plugin's ID is the file's name, or the table's.
        ({}, ("./testfilter.filter",), [("testfilter.filter:testfilter", {})]),
        (
            {"filters": {"test": {"enabled": True, "path": "plugins/v2", "config": '{"db": 10}'}}},
            ("test.so", "testfilter.filter"),
            [("test.so:test", {"db": 10}), ("testfilter.filter:testfilter", {})],
        ),
        (
            {"filters": {"europe": {"enabled": True, "path": "plugins/v2", "config": '{"db": 10}'}}},
            (),
            [("plugins/v2:europe", {"db": 10})],
        ),
        # The file of Causeway's replaces the plugin of the same name, and gets its table.
        (
            {"filters": {"test": {"enabled": 1, "path": "test.so", "config": '{"a": {"b": null, "c": 2}}'}},
             "filter": {"test": {"config": '{"a": "an older one"}'}}},
            ("plugins/test.py",),
            [("plugins/test.py:Filter", {"a": {"c": 2}})],
        ),
        (
            {"filters": {"keep": {"config": '{"a": 1}'}}},
            ("company.filters.keep:Keep",),
            [("company.filters.keep:Keep", {"a": 1})],
        ),
    ],
)  # fmt: skip
def test_filters(here: Path, more: dict[str, Any], flags: tuple[str, ...], wanted: list[Any]) -> None:
    relayed = filtered(here, more, *flags)
    loaded = relayed.settings([], here).mirrors[0].filters
    packed = "company."
    at = [(name if name.startswith(packed) else f"{here}/{name}", config) for name, config in wanted]
    assert [(spec.filter, spec.config) for spec in loaded] == at


@pytest.mark.parametrize(
    ("more", "flags", "problem"),
    [
        ({"filters": {"test": {"enabled": True}}}, (),
         "filters.test.path: must be the path of a Go plugin or of a Python file"),
        ({"filters": {"a:b": {"enabled": True, "path": "test.so"}}}, (),
         'filters.a:b.path: the id "a:b" must not contain a colon'),
        ({"filter": {"europe": {"config": "{"}}}, ("europe.py",),
         "filter.europe.config: is not JSON: Expecting property name enclosed in double quotes: line 1 "
         "column 2 (char 1)"),
        ({"filter": {"europe": {"config": '{"a": NaN}'}}}, ("europe.py",),
         "filter.europe.config: is not JSON: NaN is no number"),
        ({"filter": {"europe": {"config": "[1]"}}}, ("europe.py",),
         "filter.europe.config: must be a JSON object, which becomes the filter's table"),
        ({"filter": {"europe": {"config": '{"a": [null]}'}}}, ("europe.py",),
         "filter.europe.config: has a null in a list, which TOML does not support"),
        ({"filter": {"europe": {"config": {"a": 1}}}}, ("europe.py",),
         "filter.europe.config: must be a string, not a table"),
    ],
)  # fmt: skip
def test_invalid_filters(here: Path, more: dict[str, Any], flags: tuple[str, ...], problem: str) -> None:
    assert filtered(here, more, *flags).problems == [problem]


@pytest.mark.parametrize("name", ["no.py", "no.filter", "plugins"])
def test_a_filter_that_does_not_exist(here: Path, name: str) -> None:
    translation = filtered(here, {}, name)
    assert translation.problems == [f"--filter {name}: there is no file {here}/{name}"]


def test_a_filters_table_has_the_json_values_and_no_references(here: Path) -> None:
    relayed = filtered(
        here, {"filter": {"europe": {"config": '{"a": "${env:HOME}", "b": ["$${"]}'}}}, "europe.py"
    )
    (loaded,) = relayed.settings([], here).mirrors[0].filters
    assert secrets.resolve(loaded.config["a"]) == "${env:HOME}"
    assert secrets.resolve(loaded.config["b"][0]) == "$${"
