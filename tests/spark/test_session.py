from __future__ import annotations

import sys
from pathlib import Path

import pytest

from causeway.config import SparkSettings
from causeway.spark import session


@pytest.mark.parametrize(
    ("place", "there", "used"), [("a", True, True), ("a", False, False), ("a b", True, False)]
)
def test_the_archive_of_classes_is_used_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, there: bool, used: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / place))
    path = session.class_archive()
    if there:
        path.parent.mkdir(parents=True)
        path.touch()

    assert session.shared_classes() == (f"-XX:SharedArchiveFile={path} -Xshare:auto" if used else "")


def test_sparks_web_ui_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    for master in ("local", "spark://elsewhere:7077"):
        made = session._properties(SparkSettings(master=master), 1, tmp_path, "")
        assert made["spark.ui.enabled"] == "false"
