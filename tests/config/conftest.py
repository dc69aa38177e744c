"""A configuration in a file named mirror.toml, loaded or refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from causeway.config import Settings, load
from causeway.errors import ConfigError

CLUSTERS = """
[clusters.paris]
bootstrap_servers = "paris-1:9092,paris-2:9092"
[clusters.tokyo]
bootstrap_servers = "tokyo-1:9092"
"""
MIRROR = """
[[mirrors]]
name = "paris-to-tokyo"
source = "paris"
destination = "tokyo"
topics = ["orders", "payments\\\\..*"]
"""
GOOD = CLUSTERS + MIRROR
PROPERTIES = Path(__file__).with_name("java_client_properties.txt")
"""All keys of ConsumerConfig, ProducerConfig and AdminClientConfig of Kafka 4.3.1, with their types."""


class Load(Protocol):
    def __call__(self, text: str, *overrides: str, environ: Mapping[str, str] = ...) -> Settings: ...


class Problems(Protocol):
    def __call__(self, text: str, *overrides: str, environ: Mapping[str, str] = ...) -> list[str]: ...


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAUSEWAY__FOREIGN", "the real environment must not be read")

    def run(text: str, *overrides: str, environ: Mapping[str, str] = {}) -> Settings:
        Path("mirror.toml").write_text(text, encoding="utf-8")
        return load(Path("mirror.toml"), overrides, environ)

    return run


@pytest.fixture
def problems(loaded: Load) -> Problems:
    def run(text: str, *overrides: str, environ: Mapping[str, str] = {}) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            loaded(text, *overrides, environ=environ)
        return list(caught.value.problems)

    return run
