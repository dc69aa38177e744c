"""`causeway kaf-relay` and `causeway convert kaf-relay` as they are typed: output and exit codes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from causeway import __version__
from causeway.config import load
from support import typed
from support.kaf_relay import NEWER, PLAIN

CLOSED = "127.0.0.1:1"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def causeway(*arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CAUSEWAY__")}
    return typed.causeway(*arguments, environ=environ)


def test_the_version_is_printed_and_no_file_is_read(here: Path) -> None:
    ended = causeway("kaf-relay", "--version")
    assert (ended.returncode, ended.stdout) == (0, f"causeway {__version__}\n")


def test_an_unknown_mode_is_a_usage_error(here: Path) -> None:
    (here / "config.toml").write_text(PLAIN)
    ended = causeway("kaf-relay", "--mode", "both")
    assert ended.returncode == 2
    assert "'both' is not one of 'single', 'failover'" in ended.stderr


def test_files_that_cannot_be_read_are_all_named(here: Path) -> None:
    (here / "b.toml").write_text("[app")
    ended = causeway("kaf-relay", "--config", "a.toml", "--config", "b.toml")
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [
        "error: the configuration cannot be read",
        "  - a.toml: No such file or directory",
        "  - b.toml: end of document: not TOML: expected ']' at the end of a table declaration",
    ]
    assert "config.toml: No such file" in causeway("kaf-relay").stderr


@pytest.mark.parametrize("command", [("kaf-relay",), ("convert", "kaf-relay")])
def test_unsupported_keys_are_listed(here: Path, command: tuple[str, ...]) -> None:
    (here / "config.toml").write_text(PLAIN.replace("servers", "server", 1))
    ended = causeway(*command, "--topic", "x,a:b:c", "--filter", "./testfilter/testfilter.filter")
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "error: 5 settings of kaf-relay cannot be honoured",
        "  - --topic x: must be source:target or source:target:partition",
        '  - --topic a:b:c: must name a partition from 0 on, not "c"',
        '  - sources[0].server: unknown key, did you mean "servers"?',
        '  - sources[0].servers: missing, for example servers = ["node1:9092"]',
        f"  - --filter ./testfilter/testfilter.filter: there is no file {here}/testfilter/testfilter.filter",
        "where: config.toml",
    ]


def test_the_printed_file_runs_the_same_mirror(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "config.toml").write_text(NEWER)
    (here / "more.toml").write_text('[topics]\nlater = "later_copy"\n[target]\ncompression = "gzip"\n')
    files = ("--config", "config.toml,more.toml")
    ended = causeway("convert", "kaf-relay", *files, "--topic", "extra:extra_copy:3", "--stop-at-end")
    assert ended.returncode == 0, ended.stderr
    notes = ended.stderr.splitlines()
    assert notes[:2] == [
        "note: app.metrics_server_addr: serves /metrics, with kaf-relay's metric names in addition to "
        "Causeway's own, to every machine and without a token; the page and its API there need `token` under "
        "[web]",
        "note: app.log_level: Causeway logs to stderr; Spark's log is a file",
    ]
    assert notes[-4] == "note: --stop-at-end: is an option of `causeway run` as well"
    variables = ["NODE1_SASL_PASSWORD", "NODE3_SASL_PASSWORD"]
    assert [line.split(": ")[1] for line in notes[-2:]] == variables
    assert [line.removeprefix("# ") for line in ended.stdout.splitlines()[2 : 2 + len(notes)]] == [
        line.removeprefix("note: ") for line in notes
    ]
    (here / "relay.toml").write_text(ended.stdout)
    for name in variables:
        monkeypatch.setenv(name, "s")
    settings = load(here / "relay.toml")
    assert (settings.web.host, settings.web.port, settings.metrics.compat) == (
        "0.0.0.0",
        7081,
        ("kaf-relay",),
    )
    mirror = settings.mirrors[0]
    # [topics] of the second file replaces [[topics]] of the first, as in kaf-relay.
    assert mirror.rename == {"later": "later_copy", "extra": "extra_copy"}
    assert mirror.partition_map == {"extra": 3}
    assert (mirror.compression, mirror.source) == ("gzip", ("node1",))


def test_failover_mode_prints_a_pool_that_loads(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "config.toml").write_text(NEWER)
    ended = causeway("convert", "kaf-relay", "--mode", "failover")
    assert ended.returncode == 0, ended.stderr
    (here / "relay.toml").write_text(ended.stdout)
    for name in ("NODE1_SASL_PASSWORD", "NODE3_SASL_PASSWORD"):
        monkeypatch.setenv(name, "s")
    settings = load(here / "relay.toml")
    assert settings.mirrors[0].source == ("pool",)
    assert settings.pools["pool"].nodes == ("node1", "node2")
    assert (settings.pools["pool"].request_timeout, settings.pools["pool"].backoff_min) == (0.1, 2.0)
