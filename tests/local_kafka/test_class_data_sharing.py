"""The archive of Kafka's parsed classes: used where it exists, and never needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster, broker, kept_process


def test_the_archive_is_used_if_it_exists_for_this_java(tmp_path: Path) -> None:
    java, other = tmp_path / "java", tmp_path / "other"
    for binary in (java, other):
        binary.touch()
    path = broker.class_archive(java, tmp_path)
    assert path != broker.class_archive(other, tmp_path)
    assert broker.shared_classes(java, tmp_path) == []
    path.touch()
    assert f"-XX:SharedArchiveFile={path}" in broker.shared_classes(java, tmp_path)
    assert broker.shared_classes(other, tmp_path) == []


@pytest.mark.integration
def test_a_damaged_archive_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "classes.jsa"
    damaged.write_bytes(b"damaged" * 1_000)
    monkeypatch.setattr(broker, "class_archive", lambda java, jars: damaged)
    with EmbeddedCluster.start("damaged", directory=tmp_path / "cluster") as cluster:
        assert cluster.brokers[0].is_up
        log = cluster.brokers[0].log.read_text()
    assert "kafka.server" in log.lower() or "started" in log.lower()
    assert kept_process.meaningful([line for line in log.splitlines() if "classes.jsa" in line]) == []
