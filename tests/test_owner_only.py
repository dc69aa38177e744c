"""Other users can read neither the state directory nor logs, whatever the umask, and whoever made them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.cli.demo import environment
from causeway.config import SparkSettings
from causeway.errors import SetupError
from causeway.local_kafka import named_clusters
from causeway.spark import session


@pytest.fixture(autouse=True)
def permissive() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def log_files(settings: SparkSettings) -> list[Path]:
    log = session.log_directory(settings) / "spark-1.log"
    return [log, session._log_files(settings, log)]


@pytest.mark.parametrize("existed", [False, True])
def test_the_state_directory_and_the_logs(state_directory: Path, existed: bool) -> None:
    settings = SparkSettings()
    if existed:
        (state_directory / "logs").mkdir(parents=True)
        (state_directory / "logs" / "spark-1.log").write_text("of an earlier version\n")
        assert rights(state_directory) == 0o777

    files = log_files(settings)

    assert [rights(path) for path in files] == [0o600, 0o600]
    assert rights(state_directory) == rights(state_directory / "logs") == 0o700
    assert files[0].read_text() == ("of an earlier version\n" if existed else ""), "logs are appended to"


def test_what_demo_and_local_clusters_keep(state_directory: Path) -> None:
    state_directory.mkdir(mode=0o755)
    with named_clusters._alone():
        assert rights(state_directory / "kafka") == 0o700
    assert rights(environment._make_kept_home()) == rights(state_directory) == 0o700


def test_a_directory_with_other_content_is_not_ours_to_close(state_directory: Path) -> None:
    (state_directory / "other program").mkdir(parents=True)

    log_files(SparkSettings())

    assert rights(state_directory) == 0o777
    assert rights(state_directory / "logs") == 0o700


def test_a_chosen_log_directory_keeps_its_rights_and_the_files_are_closed(tmp_path: Path) -> None:
    directory = tmp_path / "var" / "log"
    directory.mkdir(parents=True)

    assert [rights(path) for path in log_files(SparkSettings(log_dir=str(directory)))] == [0o600, 0o600]
    assert rights(directory) == 0o777


def test_a_link_that_another_user_has_left_there_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "spark-1.log").symlink_to(target)

    with pytest.raises(SetupError) as error:
        log_files(SparkSettings(log_dir=str(tmp_path)))

    assert target.read_text() == "mine"
    assert error.value.exit_code == 10
    assert error.value.where == str(tmp_path / "spark-1.log")
