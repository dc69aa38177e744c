"""`make faults-kaf-relay`, as far as it needs no broker: program, file, log, checks, table."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from causeway.compat.kaf_relay.config import Options, merged, translate
from faults import against_kaf_relay
from faults.against_kaf_relay import CONFIGURATION, comes_to_rest, main
from faults.arrivals import Timing, number_in
from faults.checker import RECORDS, check
from faults.fault_outcome import RESULT, FaultOutcome, cell, exit_code, show
from faults.pool_contenders import OURS, THEIRS, TITLES, path
from faults.pool_faults import SCHEDULE, PoolTarget
from faults.pool_history import history
from support.kaf_relay_program import MISSING, file_for, find, names, nodes_read
from support.records import Rec

NODES = {"n1": "127.0.0.1:1", "n2": "127.0.0.1:2", "n3": "127.0.0.1:3"}
LOG = """\
v1.4.0 (cd01323)
2026/11/19 20:00:00 read config for 3 servers in the source pool
{"time":"t","level":"INFO","msg":"poll loop got new healthy node","id":2,"server":["127.0.0.1:3"]}
{"time":"t","level":"ERROR","msg":"marking server as unhealthy","server":2}
{"time":"t","level":"INFO","msg":"poll loop got new healthy node","id":0,"server":["127.0.0.1:1"]}
"""
WRITTEN = [(n % 2, Rec(b"k", f"{n}...".encode(), (), 5)) for n in range(8)]


def outcome(fault: str = "kill", program: str = THEIRS, **facts: Any) -> FaultOutcome:
    known: dict[str, Any] = {
        "acknowledged": 10, "anomalies": {}, "examples": [], "said": [], "failures": [], "recovery_ms": None,
    }  # fmt: skip
    return FaultOutcome(fault, program, 0, **{**known, **facts})


# The program


@pytest.mark.parametrize(
    ("variable", "place"), [("PATH", "bin"), ("GOBIN", "gobin"), ("GOPATH", "gopath/bin"), ("HOME", "go/bin")]
)
def test_it_is_found_where_it_is_installed(tmp_path: Path, variable: str, place: str) -> None:
    values = {"PATH": "bin", "GOBIN": "gobin", "GOPATH": "gopath", "HOME": "."}
    environment = {"PATH": "/nowhere", "HOME": "/nowhere", variable: str(tmp_path / values[variable])}
    assert find(environment) is None
    program = tmp_path / place / "kaf-relay"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    assert find(environment) == program


def test_where_it_is_missing_nothing_starts_and_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(against_kaf_relay, "find", lambda: None)
    assert main([str(tmp_path / "out")]) == CONFIGURATION
    assert capsys.readouterr().err == f"{MISSING}\n"
    assert "v1.4.0" in MISSING
    assert not (tmp_path / "out").exists()


def test_one_file_configures_both_programs() -> None:
    """What Causeway makes of it; kaf-relay's own reader is the real one, in the runs."""
    text = file_for(NODES, "127.0.0.1:4", "orders", "copy", "relay", 7081)
    translated = translate(merged([tomllib.loads(text)]), "config.toml", Options(mode="failover"), Path("/x"))
    settings = translated.settings([], Path("/x"))
    pool = settings.pools["pool"]
    assert pool.nodes == ("n1", "n2", "n3")
    assert (pool.healthcheck_interval, pool.request_timeout, pool.lag_threshold) == (3.0, 0.1, 1000)
    assert translated.mirrors[0]["name"] == "kaf-relay-relay"
    assert 'metrics_server_addr = "127.0.0.1:7081"' in text


def test_its_log_has_the_nodes_that_it_read() -> None:
    assert nodes_read(LOG) == ["2", "0"]
    assert path(names(nodes_read(LOG), NODES)) == "n3 → n1"
    assert path([]) == "none"


# Times and counts


def test_the_next_record_is_one_that_was_written_after_the_fault() -> None:
    timing = Timing()
    timing.add([1, 2, 2], 10.0)
    assert (timing.count, timing.distinct, timing.next_ms) == (3, 2, None)
    timing.begin(5, 11.0)
    timing.add([3, 4], 11.5)
    assert timing.next_ms is None
    timing.add([5, 6], 12.25)
    timing.add([7], 13.0)
    assert timing.next_ms == 1250


def test_a_record_has_the_number_in_its_value() -> None:
    assert [number_in(value) for value in (b"17....", b"x17...", b"none", b"")] == [17, 17, -1, -1]


@pytest.mark.timeout(30)
def test_a_program_rests_when_all_is_done_nothing_moves_or_it_has_ended() -> None:
    def target(alive: bool) -> PoolTarget:
        facts = {"arrivals": SimpleNamespace(timing=Timing()), "contender": SimpleNamespace(alive=alive)}
        return cast(PoolTarget, SimpleNamespace(**facts))

    comes_to_rest(target(True), lambda: True, 5.0)
    comes_to_rest(target(True), lambda: False, 0.1)
    comes_to_rest(target(False), lambda: False, 600.0)


# The checker


def arrived(*numbers: int, partition: int | None = None) -> dict[int, list[tuple[int, Rec]]]:
    found: dict[int, list[tuple[int, Rec]]] = {0: [], 1: []}
    for n in numbers:
        records = found[n % 2 if partition is None else partition]
        records.append((len(records), WRITTEN[n][1]))
    return found


@pytest.mark.parametrize(
    ("numbers", "anomalies"),
    [
        ((0, 1, 2, 3, 4, 5, 6, 7), set()),
        ((0, 1, 3, 4, 5, 6, 7), {"lost"}),
        ((0, 1, 2, 3, 4, 5), {"unseen"}),
        ((0, 1, 2, 2, 3, 4, 5, 6, 7), {"repeated"}),
        ((0, 1, 4, 2, 3, 5, 6, 7), {"out-of-order"}),
    ],
)
def test_the_checker_names_what_happened(numbers: tuple[int, ...], anomalies: set[str]) -> None:
    report = check(history("t", WRITTEN, arrived(*numbers)))
    assert {each.name for each in report.anomalies} - {"not-converged"} == anomalies
    if not anomalies:
        report.require(*RECORDS)


def test_records_in_another_partition_and_with_another_content_are_not_lost() -> None:
    """kaf-relay puts all records into the first partition, with a header and a timestamp of its own."""
    records = [
        (offset, rec._replace(headers=(("_t", b"5"),), timestamp=9))
        for offset, rec in arrived(*range(8), partition=0)[0]
    ]
    report = check(history("t", WRITTEN, {0: records, 1: []}))
    counted = {name: [each.name for each in report.anomalies].count(name) for name in cell_names(report)}
    assert counted == {"misplaced": 4, "headers-changed": 8, "timestamp-changed": 8}


def cell_names(report: Any) -> set[str]:
    return {each.name for each in report.anomalies}


# The table


def test_a_cell_has_the_time_and_the_nodes() -> None:
    found = cell(outcome(anomalies={"repeated": 3}, next_ms=2345, notes=["read n1 → n2"]))
    assert found == ["3 repeated", "next record after 2.3 s", "read n1 → n2"]


def test_faults_and_programs_have_names_of_their_own() -> None:
    for group in ([fault.name for fault in SCHEDULE], [name for name, _ in TITLES]):
        assert len(set(group)) == len(group)


def test_the_summary_is_a_text_file_and_the_exit_code_is_about_causeway(tmp_path: Path) -> None:
    outcomes = [outcome(anomalies={"lost": 2}), outcome(program=OURS)]
    for one in outcomes:
        place = tmp_path / one.fault / one.mirror
        place.mkdir(parents=True)
        one.write(place / RESULT)
    show(tmp_path, [(fault.name, fault.title) for fault in SCHEDULE], TITLES, "title")
    summary = (tmp_path / "summary.txt").read_text()
    assert "2 lost" in summary
    assert "no anomaly" in summary
    assert len(json.loads((tmp_path / "results.json").read_text())) == 2
    assert exit_code(outcomes, OURS) == 0
    assert exit_code([outcome(program=OURS, trouble="not within 90 s")], OURS) == 1
