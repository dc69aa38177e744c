"""A Kafka cluster as a client needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cluster:
    """An alias and client properties by their librdkafka names.

    Property values may be secret references (`${env:…}`, `${file:…}`). They are resolved when a
    client is created, so that no secret travels in a Spark plan. Some people write secrets as they are: the
    `repr` has no properties.
    """

    alias: str
    properties: Mapping[str, str] = field(repr=False)
    consumer: Mapping[str, str] = field(default_factory=dict, repr=False)
    producer: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def bootstrap_servers(self) -> str:
        return self.properties["bootstrap.servers"]

    def to_json(self) -> dict[str, Any]:
        return {
            "alias": self.alias,
            "properties": dict(self.properties),
            "consumer": dict(self.consumer),
            "producer": dict(self.producer),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Cluster:
        return Cluster(data["alias"], data["properties"], data["consumer"], data["producer"])
