"""Clusters that answer, do not answer, or refuse: all of them are said, within seconds."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from causeway.cli.main import app
from causeway.errors import AccessDenied, UsageError
from causeway.kafka import versions
from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from checking.conftest import PASSWORD, Desk, login


def test_a_cluster_that_answers(desk: Desk) -> None:
    said = desk.check(desk.config("nothing-here-.*"))
    assert said.exit_code == 0
    first, second = said.of("src", "ok")
    assert desk.clusters["src"]["bootstrap.servers"] in first
    assert desk.view("src").connect() in first
    release = ".".join(DEFAULT_VERSION.split(".")[:2])
    assert second.startswith(f"Kafka ≥ {release}")


def test_clusters_that_do_not_answer_are_named_and_the_rest_is_looked_at(desk: Desk) -> None:
    here, there = free_ports(2)
    desk.clusters |= {
        "far": {"bootstrap.servers": f"127.0.0.1:{here}"},
        "further": {"bootstrap.servers": f"127.0.0.1:{there}"},
    }
    topic = desk.topic("t", "src")
    said = desk.check(
        desk.config(topic),
        desk.config(topic, destination="far").replace(desk.mirror, "to-far"),
        desk.config(topic, source="further").replace(desk.mirror, "from-further", 1),
    )
    assert said.exit_code == 5
    for alias, port in (("far", here), ("further", there)):
        remark = said.one(alias, "problem")
        assert f'cluster "{alias}" at 127.0.0.1:{port}' in remark
    assert '"far" cannot be read' in said.one("to-far", "note")
    assert any('"further" cannot be read' in remark for remark in said.of("from-further", "note"))
    assert any("would be created" in remark for remark in said.of(desk.mirror, "note"))


def test_a_refused_password_is_said_as_the_broker_said_it(desk: Desk, guarded: EmbeddedCluster) -> None:
    desk.clusters["locked"] = login(guarded, "the-wrong-one")
    desk.clusters["gone"] = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    said = desk.check(desk.config("t", source="locked", destination="gone"))
    remark = said.one("locked", "problem")
    assert "access denied" in remark
    assert f'cluster "locked" at {guarded.bootstrap_servers}' in remark
    assert "Invalid username or password" in remark
    assert said.of("gone", "problem")
    assert said.exit_code == 4  # graver than one that does not answer


def test_a_run_is_refused_in_the_same_words(desk: Desk, guarded: EmbeddedCluster) -> None:
    desk.clusters["locked"] = login(guarded, "the-wrong-one")
    config = desk.file(desk.config("t", source="locked"))
    refused = CliRunner().invoke(app, ["run", str(config)]).exception
    assert isinstance(refused, AccessDenied)
    assert refused.exit_code == 4
    assert "Invalid username or password" in refused.why
    assert f'cluster "locked" at {guarded.bootstrap_servers}' in refused.where


def test_the_right_password_opens_and_is_never_shown(desk: Desk, guarded: EmbeddedCluster) -> None:
    desk.clusters["locked"] = login(guarded, PASSWORD)
    said = desk.check(desk.config("nothing-here-.*", source="locked"))
    assert said.exit_code == 0
    assert said.of("locked", "ok")
    remark = said.one("locked", "warning")
    assert "clusters.locked.properties.sasl.password" in remark
    assert PASSWORD not in said.text
    assert PASSWORD not in desk.lines(desk.config("nothing-here-.*", source="locked"))


def test_a_password_by_reference_is_no_finding(
    desk: Desk, guarded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKED_PASSWORD", PASSWORD)
    desk.clusters["locked"] = login(guarded, "${env:LOCKED_PASSWORD}")
    said = desk.check(desk.config("nothing-here-.*", source="locked"))
    assert len(said.of("locked", "ok")) == 2
    assert not said.of("locked", "warning")


def test_a_property_that_no_client_takes_is_one_finding(desk: Desk) -> None:
    desk.clusters["odd"] = {
        **desk.clusters["src"],
        "ssl.ca.location": "/no/such/file",
        "security.protocol": "SSL",
    }
    said = desk.check(desk.config("t", source="odd"))
    assert said.exit_code == 3
    assert "a client property is not accepted" in said.one("odd", "problem")
    assert said.of("dst", "ok")


def test_only_the_mirrors_asked_for_and_their_clusters(desk: Desk) -> None:
    desk.clusters["far"] = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    other = desk.config("t", source="far").replace(desk.mirror, "other", 1)
    said = desk.check(desk.config("nothing-here-.*"), other, arguments=("--mirror", desk.mirror))
    assert said.exit_code == 0
    assert [section["name"] for section in said.data["sections"]] == ["src", "dst", desk.mirror]


def test_a_mirror_that_is_not_there(desk: Desk) -> None:
    result = desk.invoke(desk.file(desk.config("t")), "--mirror", "nobody")
    assert isinstance(result.exception, UsageError)
    assert "nobody" in str(result.exception)


def test_the_lowest_of_all_brokers_counts() -> None:
    line = "APIVERSION [x#producer-1] [thrd:main]: host:9092/{}:   ApiKey {} ({}) Versions 0..{}"
    lines = [
        line.format("bootstrap", "Produce", 0, 13),
        line.format("bootstrap", "Unknown-88?", 88, 0),
        line.format("1", "Produce", 0, 9),
        "FEATURE [x#producer-1] [thrd:main]: host:9092/1: Feature ApiVersion: Produce (0..32767) supported",
    ]
    assert versions.read(lines) == {0: 9}
    assert versions.read([]) == {}
