"""What `make faults-mm2` is made of, as far as it needs no broker: settings, schedule, words, table."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from causeway.local_kafka.properties import render
from faults import checker
from faults.against_mm2 import OURS, report_all
from faults.contenders import CONTENDERS, MirrorMaker
from faults.events import Verdict
from faults.fault_outcome import WORDS, FaultOutcome, cell, exit_code, table
from faults.history import Journal
from faults.scenario import Scenario
from faults.schedules import SCHEDULE
from support.mirrormaker2 import Flow, Setting, failed, properties
from support.records import Rec

FLOW = Flow("src-m1", "127.0.0.1:1", "127.0.0.1:2", r"m1\..*")
TOO_LARGE = (
    "org.apache.kafka.connect.errors.ConnectException: no\nCaused by: a.b.RecordTooLargeException: big\n"
)


def outcome(fault: str = "kill", mirror: str = "mm2", **facts: Any) -> FaultOutcome:
    known: dict[str, Any] = {
        "seed": 1, "acknowledged": 10, "anomalies": {}, "examples": [], "said": [], "failures": [],
        "recovery_ms": None,
    }  # fmt: skip
    return FaultOutcome(fault, mirror, **{**known, **facts})


# MirrorMaker 2's settings


def test_as_shipped_nothing_is_said_about_guarantees() -> None:
    told = properties(FLOW, "default")
    assert not [key for key in told if "exactly" in key or "isolation" in key or "transaction" in key]
    assert not [key for key in told if key.startswith(("consumer.", "producer.", "offset.flush"))]


def test_exactly_once_has_all_that_the_manual_asks_for() -> None:
    told = properties(FLOW, "exactly-once", 8083)
    assert told["dst.exactly.once.source.support"] == "enabled"
    assert told["dedicated.mode.enable.internal.rest"] == "true"
    assert told["src-m1.consumer.isolation.level"] == "read_committed"
    assert properties(FLOW, "default").items() <= told.items(), "it differs in nothing else"


@pytest.mark.parametrize("setting", ["default", "exactly-once"])
def test_topics_keep_their_names_and_nothing_listens_on_all_interfaces(setting: Setting) -> None:
    told = properties(FLOW, setting, 8083)
    assert told["replication.policy.class"].endswith(".IdentityReplicationPolicy")
    assert (told["src-m1->dst.enabled"], told["dst->src-m1.enabled"]) == ("true", "false")
    assert told.get("listeners", "http://127.0.0.1:8083") == "http://127.0.0.1:8083"
    assert r"src-m1->dst.topics=m1\u005c..*" in render(told).splitlines()


def status(task: str, state: str, trace: str | None = None) -> Rec:
    body = json.dumps({"state": state, "trace": trace}).encode()
    return Rec(f"status-task-{task}".encode(), body, (), 0)


def test_a_task_has_failed_when_its_last_state_says_so() -> None:
    other = status("MirrorHeartbeatConnector-0", "FAILED", "no matter")
    failure = status("MirrorSourceConnector-0", "FAILED", "why")
    runs = status("MirrorSourceConnector-0", "RUNNING")
    assert failed([other, runs, failure]) == ["why"]
    assert failed([failure, runs]) == []
    assert failed([failure, Rec(failure.key, None, (), 0)]) == []


# What it says


class Refused(MirrorMaker):
    def failures(self) -> list[str]:
        return [self.why]

    why = TOO_LARGE


def said_by(mirror: MirrorMaker, directory: Path) -> list[tuple[str, str, int, str]]:
    """Everything it says when it is asked twice."""
    with Journal(directory / "history.jsonl") as journal:
        facts = SimpleNamespace(journal=journal, topics={"t": 2, "u": 1}, ids={"t": "T", "u": "U"})
        for _ in range(2):
            mirror.say(cast(Scenario, facts))
        found = journal.history().of(Verdict)
    return [(one.verdict, one.topic, one.partition, one.topic_id) for one in found]


def test_a_refused_record_is_said_once_of_the_topic_that_the_log_names(tmp_path: Path) -> None:
    mirror = Refused(tmp_path, "127.0.0.1:1", "127.0.0.1:2", "default")
    mirror.log.write_text("… WorkerSourceTask{id=MirrorSourceConnector-0} failed to send record to u: \n")
    assert said_by(mirror, tmp_path) == [("poison", "u", 0, "U")]


def test_a_task_that_failed_for_another_reason_says_nothing_of_partitions(tmp_path: Path) -> None:
    mirror = Refused(tmp_path, "127.0.0.1:1", "127.0.0.1:2", "exactly-once")
    mirror.why = "org.apache.kafka.common.errors.InvalidProducerEpochException: old"
    mirror.log.write_text("… Task{id=MirrorSourceConnector-0} failed to send record to u: \n")
    assert said_by(mirror, tmp_path) == []


# The schedule


def test_faults_and_mirrors_have_names_of_their_own() -> None:
    for group in ([one.name for one in SCHEDULE], [one.name for one in CONTENDERS]):
        assert len(set(group)) == len(group)
        assert all(name == name.lower() and " " not in name for name in group)


# The table


def test_words_are_for_anomalies_that_the_checker_knows() -> None:
    known = checker.__doc__ or ""
    unknown = [name for name in WORDS if name not in known and not name.startswith("silent-")]
    assert not unknown


def test_a_cell_counts_what_the_checker_named() -> None:
    found = cell(outcome(anomalies={"lost": 85, "silent-gap": 1, "no-recovery": 1, "ledger-unbalanced": 2}))
    assert found == ["85 lost", "1 skipped silently", "1 lag stays", "2 ledger-unbalanced"]


def test_a_replaced_topic_that_was_not_reported_is_not_called_a_gap() -> None:
    assert cell(outcome(anomalies={"silent-source-recreated": 1})) == ["1 replaced silently"]


def test_a_summary_is_left_out_only_where_its_records_are_named() -> None:
    assert cell(outcome(anomalies={"unseen": 7, "not-converged": 1})) == ["7 not arrived"]
    assert cell(outcome(anomalies={"not-converged": 1})) == ["1 not-converged"]


def test_a_cell_tells_what_was_said_and_how_long_it_took() -> None:
    found = cell(outcome(said=["stop u[0]: gap, 5 expected, 9 found"], recovery_ms=1234))
    assert found == ["no anomaly", "says: stop u[0]: gap, 5 expected, 9 found", "zero lag after 1.2 s"]


def test_a_failed_task_is_told_by_its_innermost_cause() -> None:
    assert cell(outcome(failures=[TOO_LARGE]))[-1] == "task failed: RecordTooLargeException: big"


def test_a_scenario_that_was_not_brought_to_its_end_does_not_look_like_a_good_one() -> None:
    unfinished = outcome(mirror="causeway", trouble="not within 90 s: 50 records have arrived")
    assert cell(unfinished) == ["not brought to its end: not within 90 s: 50 records have arrived"]
    assert exit_code([unfinished], OURS) == 1


def test_the_exit_code_is_about_causeway() -> None:
    assert exit_code([outcome(anomalies={"lost": 1}), outcome(mirror="causeway")], OURS) == 0
    assert exit_code([outcome(), outcome(mirror="causeway", anomalies={"repeated": 1})], OURS) == 1


def test_mirrors_stand_side_by_side_and_what_was_not_run_is_left_out() -> None:
    faults = [("kill", "killed"), ("cut", "cut off"), ("hold", "held")]
    mirrors = [("causeway", "Causeway"), ("mm2", "MM2"), ("other", "Other")]
    outcomes = [
        outcome("kill", "causeway"),
        outcome("kill", "mm2", anomalies={"repeated": 3}),
        outcome("cut"),
    ]
    console = Console(width=100, file=StringIO())
    with console.capture() as shown:
        console.print(table(outcomes, faults, mirrors))
    lines = shown.get().splitlines()
    assert any("Causeway" in line and "MM2" in line and "Other" not in line for line in lines)
    assert any("killed" in line and "no anomaly" in line and "3 repeated" in line for line in lines)
    assert not [line for line in lines if "held" in line]


def test_a_schedule_can_be_run_in_pieces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one in (outcome("kill", "causeway"), outcome("cut", "mm2", anomalies={"lost": 2})):
        place = tmp_path / one.fault / one.mirror
        place.mkdir(parents=True)
        one.write(place / "result.json")
    report_all(tmp_path)
    shown = capsys.readouterr().out
    assert "no anomaly" in shown and "2 lost" in shown
    assert [one["fault"] for one in json.loads((tmp_path / "results.json").read_text())] == ["cut", "kill"]
    assert "2 lost" in (tmp_path / "summary.txt").read_text()
