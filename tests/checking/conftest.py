"""`causeway check` on real brokers: its report, and the clusters."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner, Result

from causeway.cli.main import app
from causeway.config.toml import written
from causeway.core.cluster import Cluster
from causeway.kafka.admin import ClusterView
from causeway.local_kafka import EmbeddedCluster

USER, PASSWORD = "causeway", "the-right-one"


@dataclass(frozen=True)
class CheckResult:
    """The report of a check, and its exit code."""

    exit_code: int
    data: Mapping[str, Any]
    text: str

    def of(self, name: str, level: str = "") -> list[str]:
        """Remarks about a cluster or a mirror, each with what to do about it."""
        (section,) = [entry for entry in self.data["sections"] if entry["name"] == name]
        return [
            f"{entry['what']} | {entry['todo']}"
            for entry in section["remarks"]
            if not level or entry["level"] == level
        ]

    def only(self, name: str, level: str) -> str:
        remarks = self.of(name, level)
        assert len(remarks) == 1, remarks
        return remarks[0]


class CheckSetup:
    """Configurations, topics and records for one test, and the command itself."""

    def __init__(self, directory: Path, clusters: Mapping[str, Mapping[str, str]]) -> None:
        self.directory = directory
        self.clusters = {alias: dict(properties) for alias, properties in clusters.items()}
        self.mirror = f"m{uuid.uuid4().hex[:8]}"

    def name(self, suffix: str) -> str:
        return f"{self.mirror}.{suffix}"

    def config(self, *topics: str, source: str = "src", destination: str = "dst", **mirror: Any) -> str:
        """A mirror's table; its keys are the named arguments."""
        settings = {
            "name": self.mirror,
            "source": source,
            "destination": destination,
            "topics": list(topics),
            **mirror,
        }
        return "[[mirrors]]\n" + "".join(f"{key} = {written(value)}\n" for key, value in settings.items())

    def file(self, *mirrors: str) -> Path:
        path = self.directory / f"{uuid.uuid4().hex}.toml"
        tables = [
            f"[clusters.{alias}]\nbootstrap_servers = {json.dumps(properties['bootstrap.servers'])}\n"
            f"[clusters.{alias}.properties]\n"
            + "".join(
                f"{json.dumps(key)} = {json.dumps(value)}\n"
                for key, value in properties.items()
                if key != "bootstrap.servers"
            )
            + (
                f"[clusters.{alias}.sasl]\nunsafe = true\n"
                if properties.get("sasl.mechanism") == "PLAIN"
                else ""
            )
            for alias, properties in self.clusters.items()
        ]
        path.write_text("".join([*tables, *mirrors]))
        return path

    def check(self, *mirrors: str, arguments: tuple[str, ...] = ()) -> CheckResult:
        result = self.invoke(self.file(*mirrors), "-o", "json", *arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        data = json.loads(result.stdout)
        assert data["exit_code"] == result.exit_code
        return CheckResult(result.exit_code, data, result.stdout)

    def lines(self, *mirrors: str) -> str:
        """The same for people."""
        return self.invoke(self.file(*mirrors)).stdout

    def invoke(self, config: Path, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["check", str(config), *arguments])

    def cluster(self, alias: str) -> Cluster:
        return Cluster(alias, self.clusters[alias])

    def view(self, alias: str) -> ClusterView:
        return ClusterView(self.cluster(alias))

    def admin(self, alias: str) -> AdminClient:
        return AdminClient(dict(self.clusters[alias]))

    def topic(self, suffix: str, on: str, partitions: int = 1, **config: str) -> str:
        """A topic; names of settings have underscores for dots. It keeps records for ever by default."""
        settings = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in config.items()}}
        self.create(self.name(suffix), on, partitions, settings)
        return self.name(suffix)

    def create(self, name: str, on: str, partitions: int, settings: Mapping[str, str]) -> None:
        assert self.view(on).create_topic(name, partitions, 1, settings)

    def produce(self, topic: str, on: str, count: int = 1, partition: int = 0, timestamp: int = 0) -> None:
        producer = Producer(dict(self.clusters[on]))
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=partition, timestamp=timestamp)
        assert producer.flush(30) == 0


@pytest.fixture
def setup(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> CheckSetup:
    return CheckSetup(
        tmp_path,
        {
            "src": {"bootstrap.servers": source.bootstrap_servers},
            "dst": {"bootstrap.servers": destination.bootstrap_servers},
        },
    )


@pytest.fixture(scope="package")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A cluster that asks for a password, cannot do transactions, and never had a consumer group."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    with EmbeddedCluster.start(
        "guarded",
        directory=tmp_path_factory.mktemp("guarded"),
        config={
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
            "transaction.max.timeout.ms": "12000",
            "log.retention.ms": "-1",
        },
    ) as cluster:
        yield cluster


def _is_unsafe(properties: Mapping[str, str]) -> bool:
    """Must the configuration allow it explicitly?"""
    return properties.get("security.protocol") == "SASL_PLAINTEXT"


def login(cluster: EmbeddedCluster, password: str) -> dict[str, str]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": password,
    }
