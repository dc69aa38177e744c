"""A real schema registry: serves Confluent's API, on this machine alone, and keeps what it acknowledged."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from causeway.errors import SetupError
from causeway.local_kafka import SchemaRegistry
from causeway.local_kafka.ports import HOST


def request(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as response:
        return json.load(response)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SchemaRegistry]:
    with SchemaRegistry.start(tmp_path / "registry") as registry:
        yield registry


@pytest.mark.integration
def test_a_killed_one_comes_back_with_its_schemas(registry: SchemaRegistry) -> None:
    schema = {"schema": json.dumps({"type": "record", "name": "line", "fields": []})}
    answer = request(f"{registry.url}/subjects/orders-value/versions", schema)

    assert registry.pid is not None
    listening = {
        connection.laddr.ip.removeprefix("::ffff:")
        for connection in psutil.Process(registry.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {HOST}

    registry.kill()
    assert not registry.is_up
    registry.start_process()
    assert request(f"{registry.url}/schemas/ids/{answer['id']}")["schema"] == schema["schema"]
    assert request(f"{registry.url}/subjects") == ["orders-value"]


@pytest.mark.integration
def test_one_that_does_not_come_up_says_why_and_leaves_no_process(registry: SchemaRegistry) -> None:
    registry.stop()
    (data,) = (registry.directory / "data").iterdir()
    data.write_bytes(b"no database")
    with pytest.raises(SetupError, match="schema registry ended during its start") as caught:
        registry.start_process()
    assert "h2" in caught.value.why.lower() or "database" in caught.value.why.lower(), caught.value.why
    assert not registry.is_up


def test_a_damaged_description(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text("{")
    with pytest.raises(SetupError, match="description of this schema registry"):
        SchemaRegistry.open(tmp_path)
    (tmp_path / "registry.json").unlink()
    assert SchemaRegistry.open(tmp_path) is None
