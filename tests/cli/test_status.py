"""`causeway status`: its output for people and for scripts, and its errors."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from rich.table import Table

from causeway.cli.api_client import ApiClient
from causeway.cli.status import status_report
from causeway.cli.status_output import line, sections, width_of
from causeway.core.snapshot import EventView, GapView, Snapshot
from causeway.web.app import application
from causeway.web.serve import Server
from cli.conftest import Configure, Serve, Type
from support.process import Causeway, eventually, interruptible
from web import made
from web.made import NOW, Shown, gap, mirror, partition, shard, snapshot, stopped_partition

REMEDY = "causeway offsets skip mirror.toml --topic orders --partition 1 --to earliest"


@pytest.fixture
def status(serve: Serve, configure: Configure, typed: Type) -> Callable[..., Any]:
    """Its output for a snapshot."""

    def asked(view: Snapshot, *arguments: str, names: Sequence[str] = ()) -> Any:
        names = names or [mirror.name for mirror in view.mirrors]
        return typed("status", configure(*names), "--url", serve(Shown(view)), *arguments)

    return asked


def failed() -> Snapshot:
    event = EventView(NOW - 1_000, "error", "the ledger is gone", "look for it")
    return snapshot(mirror(state="failed", events=(event,)))


def test_findings_come_first_then_figures(status: Callable[..., Any]) -> None:
    view = made.healthy()
    result = status(replace(view, mirrors=(replace(view.mirrors[0], latency=made.latency(1_000)),)))

    assert result.code == 0, result
    lines = [text.strip() for text in result.out.splitlines() if text.strip()]
    assert lines[0] == "ok       Healthy: 1,234 records/s, lag 0.4 s."
    assert re.split(r" {2,}", lines[1]) == [
        "mirror", "state", "records", "records/s", "MB/s", "lag", "lag time", "p50", "p99", "catch-up",
        "shards",
    ]  # fmt: skip
    row = re.split(r" {2,}", lines[2])
    assert row[:7] == ["paris-to-tokyo", "running", "1,980", "1,234", "0.1", "6", "0.4 s"]
    assert row[-2:] == ["caught up", "2 native"]
    assert lines[3] == "If the source were lost now, 6 records (0.4 s) would be lost."
    assert "1           2  worker-1  4001  native        0.9 s ago" in lines
    assert "5.0 s ago  info     slice 3 started" in lines
    assert lines[-1].endswith("process 4711 on mirror-1, up 2 h, causeway 0.1.0")


def test_a_source_pool_is_a_table_of_its_nodes_and_their_moves(status: Callable[..., Any]) -> None:
    result = status(made.pooled())
    assert result.code == 0, result
    lines = [re.split(r" {2,}", text.strip()) for text in result.out.splitlines()]
    assert ["pool", "node", "state", "lag", "shards", "why"] in lines
    assert ["paris", "paris-a", "dead", "0", "–", "every bootstrap server refuses the connection"] in lines
    assert ["paris", "paris-b", "fit", "12", "1, 2"] in lines
    assert ["paris", "paris-c", "unknown", "–", "–", "it has not responded yet"] in lines
    move = "shard 2: paris-a → paris-b (dead, 1.4 s between records): paris-a is dead ("
    assert f"9.0 s ago  {move}" in result.out
    told = json.loads(status(made.pooled(), "-o", "json").out)["mirrors"][0]["pools"][0]
    assert [node["state"] for node in told["nodes"]] == ["dead", "fit", "unknown"]


@pytest.mark.parametrize(
    ("view", "code", "words"),
    [
        (made.stopped(), 6, ["error    orders[1] is stopped (gap)", f"do: {REMEDY}\n", "stopped\n"]),
        (made.waiting(), 5, ["error    Waiting: paris has not responded for 3 min", "do: check the address"]),
        (made.without_node(), 5, ["error    Waiting for 3 min: no node of the pool paris can be read from"]),
        (failed(), 6, ["error    Failed: the ledger is gone", "do: look for it"]),
        (
            replace(made.healthy(), at=NOW - 60_000),
            5,
            ["error    No status from the driver for 60 s"],
        ),
        (made.lagging(), 0, ["notice   Lagging: 90,003 records", "not known yet"]),
        (made.paused(), 0, ["notice   Paused by ann for 5 min", "do: resume before", "when it runs again"]),
        (made.starting(), 0, ["notice   Starting", "is not known yet."]),
        (snapshot(), 0, ["notice   No mirrors yet."]),
        (made.refused(), 6, ["error    orders[2] is stopped (unroutable): topic orders has 2 partitions"]),
        (made.typo(), 3, ['warning  No topic matches "oders" of `topics` on paris; the nearest is orders.']),
        (
            snapshot(mirror([partition(0, quarantined=1)])),
            0,
            ["notice   1 record of orders is in quarantine", "do: `causeway offsets show CONFIG`"],
        ),
    ],
)
def test_the_exit_code_is_not_zero_when_an_operator_must_act(
    status: Callable[..., Any], view: Snapshot, code: int, words: list[str]
) -> None:
    result = status(view)
    assert result.code == code, result
    assert [text for text in words if text not in result.out] == [], result.out
    assert result.err == ""


def test_partitions_beyond_the_first_of_a_kind_are_listed_with_their_remedies(
    status: Callable[..., Any],
) -> None:
    view = snapshot(mirror([stopped_partition(number, todo=f"do it for {number}") for number in range(30)]))
    result = status(view).out
    assert "orders[0] and 29 others are stopped (gap)" in result
    assert "orders[19] (gap): offsets 50 to 69 (20) were deleted before they were replicated\n" in result
    assert "do: do it for 19\n" in result
    assert "orders[20] (gap)" not in result
    assert "… and 10 more" in result
    assert result.index("stopped partitions") > result.index("would be lost")
    assert "stopped partitions" not in status(made.stopped()).out, "the first line shows it already"


def test_a_topic_named_stopped_is_not_stopped(status: Callable[..., Any]) -> None:
    view = snapshot(mirror([stopped_partition(0), stopped_partition(1), partition(2, "stopped-orders")]))
    details = json.loads(status(view, "-o", "json").out)["details"]["paris-to-tokyo"]
    assert [row["name"] for row in details["stopped_partitions"]] == ["orders[0]", "orders[1]"]


def test_the_reason_for_the_object_carrier_is_shown(status: Callable[..., Any]) -> None:
    slow = shard(2, carrier="object (filters need an object for each record)")
    result = status(snapshot(mirror(shards=(shard(1), slow, shard(3, carrier="", host="", pid=0))))).out
    assert "3 native, object\n" in result
    assert "object (filters need an object for each record)" in result


def test_many_shards_are_shortened_only_in_text_output(status: Callable[..., Any]) -> None:
    view = snapshot(mirror(shards=tuple(shard(number) for number in range(1, 41))))
    assert "… and 24 more" in status(view).out
    assert len(json.loads(status(view, "-o", "json").out)["details"]["paris-to-tokyo"]["shards"]) == 40


def test_json_is_one_object_with_everything_from_the_api(
    serve: Serve, configure: Configure, typed: Type
) -> None:
    address = serve(Shown(made.stopped()))
    result = typed("status", configure(), "--url", address, "-o", "json")

    assert result.code == 6
    assert result.out.count("\n") == 1
    status_object = json.loads(result.out)
    response = httpx.get(f"{address}/api/v1/mirrors").json()
    details = status_object.pop("details")["paris-to-tokyo"]
    assert (status_object.pop("url"), status_object.pop("not_run_here")) == (address, [])
    assert status_object == response
    url = f"{address}/api/v1/mirrors/paris-to-tokyo"
    assert details["shards"] == httpx.get(f"{url}/shards").json()["shards"]
    assert details["events"] == httpx.get(f"{url}/events").json()["events"]
    [stopped] = details["stopped_partitions"]
    assert (stopped["name"], stopped["todo"]) == ("orders[1]", REMEDY)
    assert (stopped["expected"], stopped["found"], stopped["gone"]) == (50, 70, 20)
    assert details["gaps"] == httpx.get(f"{url}/gaps").json()["gaps"]
    assert [(gap["begin"], gap["end"], gap["by"]) for gap in details["gaps"]] == [(20, 30, "ann@tokyo-1")]


def test_gaps_and_quarantine_stay_shown_with_the_command_that_lists_them(
    status: Callable[..., Any], tmp_path: Path
) -> None:
    result = status(
        snapshot(mirror([partition(0, quarantined=1_234)], gaps=(gap(20, 30), gap(1_000, 6_000))))
    )
    assert result.code == 0, "no action is needed"
    show = f"causeway offsets show {tmp_path / 'mirror.toml'}"
    assert f"\n2 gaps (5,010 offsets skipped), 1,234 records in quarantine: {show}\n" in result.out
    assert "2 gaps" not in status(made.healthy()).out
    assert "offsets show" not in status(made.healthy()).out, "without gaps it is not mentioned"


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        ((gap(20, 21),), "1 gap (1 offset skipped)"),
        ((gap(30, 20),), "1 gap (10 offsets moved back)"),
        ((gap(20, 40), gap(40, 30)), "2 gaps (20 offsets skipped, 10 offsets moved back)"),
        ((gap(30, 0, skipped=0),), "1 gap (1 partition restarted with a recreated topic)"),
    ],
)
def test_how_gaps_are_summarized(status: Callable[..., Any], gaps: tuple[GapView, ...], words: str) -> None:
    assert f"\n{words}: causeway offsets show " in status(snapshot(mirror(gaps=gaps))).out


def test_gaps_of_several_mirrors_have_their_names(status: Callable[..., Any], tmp_path: Path) -> None:
    view = snapshot(mirror(gaps=(gap(),)), mirror(name="b c", gaps=(gap(0, 1),)), mirror(name="healthy"))
    out = status(view, names=("paris-to-tokyo", "other")).out
    show = f"causeway offsets show {tmp_path / 'mirror.toml'} --mirror paris-to-tokyo"
    assert f"\nparis-to-tokyo: 1 gap (10 offsets skipped): {show}\n" in out
    assert "\nb c: 1 gap (1 offset skipped): causeway offsets show CONFIG\n" in out, "not its configuration"
    assert "healthy: 0 gaps" not in out


def test_no_gap_is_left_out_however_many_there_are(status: Callable[..., Any]) -> None:
    view = snapshot(mirror(gaps=tuple(gap(number, number + 1) for number in range(1_500))))
    assert "1,500 gaps (1,500 offsets skipped)" in status(view).out
    assert len(json.loads(status(view, "-o", "json").out)["details"]["paris-to-tokyo"]["gaps"]) == 1_500


def two() -> Snapshot:
    back = mirror(name="back", sources=("tokyo",), destination="paris")
    return snapshot(made.stopped().mirrors[0], back, replace(back, name="third"))


def test_with_several_mirrors_each_line_names_its_mirror(status: Callable[..., Any]) -> None:
    result = status(two())
    assert result.code == 6
    assert "error    paris-to-tokyo: orders[1] is stopped" in result.out
    assert "info     back: slice 3 started" in result.out


def test_only_the_requested_mirrors_are_shown_and_judged(status: Callable[..., Any]) -> None:
    result = status(two(), "--mirror", "back")
    assert result.code == 0
    assert result.out.startswith("ok       Healthy")
    assert "paris-to-tokyo" not in result.out
    assert "If the source were lost now, 6 records (0.4 s) would be lost." in result.out
    result = status(two(), "--mirror", "back", "--mirror", "paris-to-tokyo")
    assert result.code == 6
    assert "third" not in result.out
    assert "Healthy" not in result.out
    assert "back: If the source were lost now, 6 records (0.4 s)" in result.out
    old = status(replace(two(), at=NOW - 60_000), "--mirror", "back")
    assert (old.code, "No status from the driver" in old.out) == (5, True), "that applies to all of them"


def test_a_mirror_that_this_process_does_not_run(status: Callable[..., Any]) -> None:
    result = status(made.healthy(), "--mirror", "b", names=("a", "b"))
    assert result.code == 5
    assert "error: the process at this address does not run mirror b\n" in result.err
    assert "why: it runs paris-to-tokyo" in result.err
    assert "--url" in result.err
    assert status(made.healthy(), "--mirror", "c", names=("a", "b")).code == 2, "the configuration has none"


def test_a_process_that_runs_none_of_the_mirrors_is_an_error(status: Callable[..., Any]) -> None:
    result = status(made.healthy(), names=("a", "b"))
    assert result.code == 5
    assert "error: the process at this address does not run mirrors a, b\n" in result.err
    assert "why: it runs paris-to-tokyo" in result.err
    assert "--url" in result.err
    assert result.out == ""


def test_mirrors_that_run_elsewhere_are_a_notice(status: Callable[..., Any]) -> None:
    result = status(made.healthy(), names=("paris-to-tokyo", "b"))
    assert result.code == 0
    assert "notice   b is in the configuration, but this process does not run it." in result.out


def test_foreign_text_does_not_control_the_terminal(status: Callable[..., Any]) -> None:
    event = EventView(NOW, "error", "a\x1b[2Jb\rc", "x\x07y")
    result = status(
        snapshot(mirror([stopped_partition(0, what="\x1b]0;owned\x07[red]x[/red]")], events=(event,)))
    )
    assert not set("\x1b\r\x07") & set(result.out)
    assert "[red]x[/red]" in result.out


def test_a_table_is_never_wider_than_the_terminal(serve: Serve) -> None:
    """First the gaps shrink, then the longest words are folded, then a list replaces the row."""
    paused = replace(made.paused().mirrors[0], name="paused")
    report = status_report(
        ApiClient(serve(Shown(replace(two(), mirrors=(*two().mirrors, paused))))), ["back"], {}, only=False
    )
    layouts = {}
    for width in range(150, 30, -1):
        *figures, _shards = (part for part in sections(report, width) if isinstance(part, Table))
        assert all(width_of(table) <= width for table in figures), width
        text = "\n".join(
            segment.text for table in figures for segment in Console(width=width).render(table) if segment
        )
        assert ("caught up" in text, "…" in text) == (True, False), width
        layouts[len(figures), "when it runs again" in text] = width
    assert list(layouts) == [(1, True), (1, False), (4, True)]
    assert layouts[1, False] <= 100, "an ordinary terminal shows a row"


def test_the_status_as_one_line(serve: Serve) -> None:
    report = status_report(ApiClient(serve(Shown(made.stopped()))), ["paris-to-tokyo"], {}, only=False)
    assert re.sub(r"p(50|99) [^,]*", r"p\1 –", line(report)) == (
        "2026-09-21 14:13:20 UTC error: orders[1] is stopped (gap): offsets 50 to 69 (20) were deleted"
        " before they were replicated | paris-to-tokyo: running, 1,980 records, 1,234 records/s, 0.1 MB/s,"
        " lag 503 / 2 h, p50 –, p99 –, catch-up: caught up, stopped: 1, gaps: 1"
    )


@pytest.mark.parametrize("output", ["table", "json"])
def test_watching_without_a_terminal_is_a_line_each_second_until_interrupted(
    configure: Configure, tmp_path: Path, output: str
) -> None:
    """It waits for a process that stops responding."""
    shown = Shown(made.healthy())
    server = Server(application(shown), port=0)
    server.start()
    port = int(server.address.rpartition(":")[2])
    watching = Causeway(
        "status", configure(web=f"port = {port}"), "--watch", "-o", output, log=tmp_path / "watch.log"
    )

    def lines() -> list[str]:
        return watching.output.splitlines()

    try:
        watching.until(lambda: len(lines()) >= 2, "two lines")
        server.stop()
        watching.until(lambda: "no mirror responds" in lines()[-1], "it reports the failure")
        server = Server(application(shown), port=port)
        server.start()
        watching.until(lambda: "paris-to-tokyo" in lines()[-1], "it continues")
        assert watching.interrupt() == 0
    finally:
        watching.kill()
        server.stop()
    if output == "json":
        objects = [json.loads(text) for text in lines()]
        assert objects[0]["mirrors"][0]["name"] == "paris-to-tokyo"
        assert (
            next(status_object for status_object in objects if "error" in status_object)["why"]
            == "Connection refused"
        )
    else:
        assert all(re.match(r"\d{4}-\d\d-\d\d |error: no mirror responds", text) for text in lines())


def test_watching_needs_a_first_response(typed: Type, configure: Configure, unreachable: str) -> None:
    assert typed("status", configure(), "--url", unreachable, "--watch").code == 5


def test_watching_on_a_terminal_redraws_and_ends_with_0(serve: Serve, configure: Configure) -> None:
    shown = Shown(made.healthy())
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "causeway", "status", str(configure()), "--url", serve(shown), "--watch"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "120", "LINES": "40", "TERM": "xterm"},
        preexec_fn=interruptible,
    )
    os.close(theirs)
    read = b""

    def drawn(words: bytes) -> bool:
        nonlocal read
        read += os.read(ours, 65_536)
        return words in read

    try:
        eventually(lambda: drawn(b"Healthy"), "the first picture")
        shown.view = made.paused()
        eventually(lambda: drawn(b"Paused by ann"), "the next picture")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"\x1b[1A" in read, "drawn over the previous output"
