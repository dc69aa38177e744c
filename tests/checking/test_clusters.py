"""Clusters that respond, do not respond, or reject the user: all are reported, within seconds."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from causeway.cli.main import app
from causeway.errors import AccessDenied, UsageError
from causeway.kafka import versions
from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from checking.conftest import PASSWORD, CheckResult, CheckSetup, login


def test_a_cluster_that_responds(setup: CheckSetup) -> None:
    result = setup.check(setup.config("nothing-here-.*"))
    assert result.exit_code == 0
    first, second = result.of("src", "ok")
    assert setup.clusters["src"]["bootstrap.servers"] in first
    assert setup.view("src").connect() in first
    release = ".".join(DEFAULT_VERSION.split(".")[:2])
    assert second.startswith(f"Kafka ≥ {release}")


def test_clusters_that_do_not_respond_are_named_and_the_rest_is_checked(setup: CheckSetup) -> None:
    first, second = free_ports(2)
    setup.clusters |= {
        "far": {"bootstrap.servers": f"127.0.0.1:{first}"},
        "further": {"bootstrap.servers": f"127.0.0.1:{second}"},
    }
    topic = setup.topic("t", "src")
    result = setup.check(
        setup.config(topic),
        setup.config(topic, destination="far").replace(setup.mirror, "to-far"),
        setup.config(topic, source="further").replace(setup.mirror, "from-further", 1),
    )
    assert result.exit_code == 5
    for alias, port in (("far", first), ("further", second)):
        remark = result.only(alias, "problem")
        assert f'cluster "{alias}" at 127.0.0.1:{port}' in remark
    assert '"far" cannot be read' in result.only("to-far", "note")
    assert any('"further" cannot be read' in remark for remark in result.of("from-further", "note"))
    assert any("would be created" in remark for remark in result.of(setup.mirror, "note"))


def test_a_refused_password_is_reported_as_the_broker_does(
    setup: CheckSetup, guarded: EmbeddedCluster
) -> None:
    setup.clusters["locked"] = login(guarded, "the-wrong-one")
    setup.clusters["gone"] = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    result = setup.check(setup.config("t", source="locked", destination="gone"))
    remark = result.only("locked", "problem")
    assert "access denied" in remark
    assert f'cluster "locked" at {guarded.bootstrap_servers}' in remark
    assert "Invalid username or password" in remark
    assert result.of("gone", "problem")
    assert result.exit_code == 4  # more severe than one that does not respond


def test_a_run_is_refused_with_the_same_message(setup: CheckSetup, guarded: EmbeddedCluster) -> None:
    setup.clusters["locked"] = login(guarded, "the-wrong-one")
    config = setup.file(setup.config("t", source="locked"))
    refused = CliRunner().invoke(app, ["run", str(config)]).exception
    assert isinstance(refused, AccessDenied)
    assert refused.exit_code == 4
    assert "Invalid username or password" in refused.why
    assert f'cluster "locked" at {guarded.bootstrap_servers}' in refused.where


def test_the_right_password_opens_and_is_never_shown(setup: CheckSetup, guarded: EmbeddedCluster) -> None:
    setup.clusters["locked"] = login(guarded, PASSWORD)
    result = setup.check(setup.config("nothing-here-.*", source="locked"))
    assert result.exit_code == 0
    assert result.of("locked", "ok")
    [remark] = about_secrets(result)
    assert "clusters.locked.properties.sasl.password" in remark
    assert PASSWORD not in result.text
    assert PASSWORD not in setup.lines(setup.config("nothing-here-.*", source="locked"))


def test_a_password_by_reference_is_no_finding(
    setup: CheckSetup, guarded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKED_PASSWORD", PASSWORD)
    setup.clusters["locked"] = login(guarded, "${env:LOCKED_PASSWORD}")
    result = setup.check(setup.config("nothing-here-.*", source="locked"))
    assert len(result.of("locked", "ok")) == 2
    assert not about_secrets(result)


def about_secrets(result: CheckResult) -> list[str]:
    """Warnings, apart from the one that the listener has no TLS."""
    return [remark for remark in result.of("locked", "warning") if "PLAIN without TLS" not in remark]


def test_a_property_that_no_client_accepts_is_one_finding(setup: CheckSetup) -> None:
    setup.clusters["odd"] = {
        **setup.clusters["src"],
        "ssl.cipher.suites": "none-of-these",
        "security.protocol": "SSL",
    }
    result = setup.check(setup.config("t", source="odd"))
    assert result.exit_code == 3
    assert "the Kafka client rejects a property" in result.only("odd", "problem")
    assert result.of("dst", "ok")


def test_only_the_mirrors_asked_for_and_their_clusters(setup: CheckSetup) -> None:
    setup.clusters["far"] = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    other = setup.config("t", source="far").replace(setup.mirror, "other", 1)
    result = setup.check(setup.config("nothing-here-.*"), other, arguments=("--mirror", setup.mirror))
    assert result.exit_code == 0
    assert [section["name"] for section in result.data["sections"]] == ["src", "dst", setup.mirror]


def test_a_mirror_that_is_not_there(setup: CheckSetup) -> None:
    result = setup.invoke(setup.file(setup.config("t")), "--mirror", "unknown")
    assert isinstance(result.exception, UsageError)
    assert "unknown" in str(result.exception)


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
