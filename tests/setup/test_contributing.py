"""CONTRIBUTING.md and the decisions name what exists; the commit hooks are the checks of `make check`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
DIRECTORIES = ("src/", "tests/", "deploy/", "docs/", "scripts/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_and_link_exists(page: Path) -> None:
    text = page.read_text()
    paths = {path for path in re.findall(r"`([\w./*-]+)`", text) if path.startswith(DIRECTORIES)}
    assert {path for path in paths if not list(ROOT.glob(path.rstrip("/")))} == set()
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)}
    assert {link for link in links if not (page.parent / link).exists()} == set()


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"`make ([\w-]+)", (ROOT / "CONTRIBUTING.md").read_text()))
    assert "test" in named
    assert {target for target in named if f"\n{target}:" not in makefile} == set()


def test_every_decision_is_listed_once() -> None:
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs" / "decisions" / "README.md").read_text())
    assert listed == [page.name for page in PAGES if re.match(r"\d{4}-", page.name)]


def test_the_hooks_are_the_checks_and_download_nothing() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    assert {hook["language"] for hook in repo["hooks"]} == {"system"}
    hooks = {
        hook["entry"].removeprefix(".venv/bin/").removesuffix(" --force-exclude") for hook in repo["hooks"]
    }
    check = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert check
    checks = {line.strip().removeprefix("@").removeprefix("$(BIN)/") for line in check[1].splitlines()}
    assert hooks == checks - {"python scripts/audit.py"}  # which asks a service on the network
