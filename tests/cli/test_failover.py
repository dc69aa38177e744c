"""`causeway failover`: through the API if the mirror runs, otherwise in its ledger."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from causeway.cli import failover as command
from causeway.config import MirrorSettings, Settings
from causeway.core.control_records import NodeRequest
from causeway.core.pool_snapshot import NodeRequestView, NodeResultView
from causeway.kafka.ledger_access import who
from cli.conftest import Serve, Type
from web import made
from web.made import NOW, TOKEN, Shown

LATER = 0.3
MOVED = (
    NodeResultView(1, "moved", "paris-b", "by an operator's command"),
    NodeResultView(2, "unchanged", "paris-b", "paris-b is read from already"),
)
REFUSED = (MOVED[0], NodeResultView(2, "refused", "paris-a", "paris-b is lagging (orders[0]: …)"))


class Executing(Shown):
    """The shards execute a request after some time."""

    def __init__(self, results: Sequence[NodeResultView], at: int = NOW) -> None:
        super().__init__(made.pooled())
        self._results = tuple(results)
        self._at = at

    def failover(self, mirror: str, pool: str, node: str, by: str, *, force: bool) -> int:
        super().failover(mirror, pool, node, by, force=force)
        self._request((), (1, 2), self._at)
        threading.Timer(LATER, self._request, (self._results, (), self._at)).start()
        return NOW

    def _request(self, results: Sequence[NodeResultView], waiting: Sequence[int], at: int) -> None:
        request = NodeRequestView(at, "paris-b", "bob", False, tuple(results), tuple(waiting))
        pool = replace(self.view.mirrors[0].pools[0], request=request)
        self.view = replace(self.view, mirrors=(replace(self.view.mirrors[0], pools=(pool,)),))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mirror.toml"
    clusters = ("paris-a", "paris-b", "paris-c", "tokyo")
    path.write_text(
        "".join(f'[clusters.{name}]\nbootstrap_servers = "127.0.0.1:1"\n' for name in clusters)
        + '[pools.paris]\nnodes = ["paris-a", "paris-b", "paris-c"]\n'
        + f'[web]\ntoken = "{TOKEN}"\n'
        + '[[mirrors]]\nname = "paris-to-tokyo"\nsource = "paris"\ndestination = "tokyo"\n'
        + 'topics = ["orders"]\n'
    )
    return path


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> list[NodeRequest]:
    """A fake ledger."""
    requests: list[NodeRequest] = []

    def write(_: Settings, mirror: MirrorSettings, request: NodeRequest, why: str) -> None:
        assert (mirror.name, bool(why)) == ("paris-to-tokyo", True)
        requests.append(request)

    monkeypatch.setattr(command, "write_node_request", write)
    return requests


def test_it_waits_for_every_shard_and_prints_what_each_did(
    serve: Serve, typed: Type, config: Path, written: list[NodeRequest]
) -> None:
    shown = Executing(MOVED)
    result = typed("failover", config, "--to", "paris-b", "--url", serve(shown))
    assert result.code == 0, result
    assert result.out.splitlines() == [
        "paris-to-tokyo reads paris from paris-b",
        "shard 1 reads paris-b: by an operator's command",
        "shard 2 reads paris-b: paris-b is read from already",
    ]
    assert shown.asked == [("failover", "paris-to-tokyo", "paris", "paris-b", who(), "")]
    assert written == []


def test_a_refusal_names_the_shards_and_the_reason(serve: Serve, typed: Type, config: Path) -> None:
    shown = Executing(REFUSED)
    result = typed("failover", config, "--url", serve(shown), "--force")
    assert result.code == 3, result
    assert "error: 1 shard of paris-to-tokyo did not move" in result.err
    assert "  - shard 2 reads paris-a: paris-b is lagging (orders[0]: …)" in result.err
    assert shown.asked == [("failover", "paris-to-tokyo", "paris", "", who(), "force")]


def test_a_shard_that_does_not_execute_it_in_time(
    serve: Serve, typed: Type, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "WAIT_SECONDS", 0.1)
    result = typed("failover", config, "--url", serve(Executing(MOVED)))
    assert result.code == 5, result
    assert "error: shard 1, 2 has not executed the request yet" in result.err
    assert "why: it is running" in result.err


def test_a_later_request_ends_the_wait(serve: Serve, typed: Type, config: Path) -> None:
    result = typed("failover", config, "--url", serve(Executing(MOVED, at=NOW + 1)))
    assert (result.code, "a later request of bob has replaced this one" in result.err) == (5, True), result


def test_a_paused_mirror_executes_it_when_it_is_resumed(serve: Serve, typed: Type, config: Path) -> None:
    shown = Shown(made.pooled(state="paused"))
    result = typed("failover", config, "--url", serve(shown))
    assert (result.code, "execute the request when it is resumed" in result.out) == (0, True), result
    assert len(shown.asked) == 1


def test_a_mirror_that_does_not_run_has_it_in_its_ledger(
    typed: Type, config: Path, unreachable: str, written: list[NodeRequest]
) -> None:
    result = typed("failover", config, "--url", unreachable, "--to", "paris-c")
    assert result.code == 0, result
    assert "does not run; when it is started, it reads paris from paris-c" in result.out
    assert [(request.pool, request.node, request.force) for request in written] == [
        ("paris", "paris-c", False)
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "rome"], "rome is not a node of paris: paris-a, paris-b, paris-c"),
        (["--pool", "lyon"], "the mirror has no pool lyon: paris"),
        (["--mirror", "other"], "other"),
    ],
)
def test_a_pool_or_node_that_does_not_exist_is_a_usage_error(
    typed: Type, config: Path, arguments: list[str], words: str
) -> None:
    result = typed("failover", config, *arguments)
    assert (result.code, words in result.err) == (2, True), result


def test_without_a_token_the_remedy_is_reported(serve: Serve, typed: Type, config: Path) -> None:
    config.write_text(config.read_text().replace(TOKEN, ""))
    shown = Executing(MOVED)
    result = typed("failover", config, "--url", serve(shown))
    assert (result.code, "set `token = " in result.err) == (4, True), result
    assert shown.asked == []
