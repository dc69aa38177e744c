"""The whole configuration: its tables, and the settings of clusters and of Spark.

Every setting has its name, type, default, description and example in its table, here and in `mirror.py`,
`routing.py`, `pools.py` and `observability.py`. The reference, the sample and the messages are generated
from them.

Settings are frozen, survive pickle and JSON (`model_dump_json`, `model_validate_json`) and never show
the value of a secret property in their `repr`.
"""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BeforeValidator, Field, PrivateAttr

from causeway.config import fields
from causeway.config.authentication import SaslSettings, TlsSettings
from causeway.config.fields import ClientProperties, Dotted, Late
from causeway.config.mirror import MirrorSettings
from causeway.config.observability import LogSettings, MetricsSettings, WebSettings
from causeway.config.pools import PoolSettings
from causeway.config.registries import RegistrySettings
from causeway.config.routing import ConfigTable, FilterSettings, SourceSettings

if TYPE_CHECKING:
    from causeway.config.literals import LiteralSecret


class ClusterSettings(ConfigTable):
    """A Kafka cluster: where it is and how to connect to it."""

    bootstrap_servers: fields.Servers = Field(
        description="Bootstrap brokers, as host:port separated by commas.",
        examples=["paris-1:9092,paris-2:9092"],
    )
    sasl: SaslSettings | None = Field(
        default=None,
        description="How clients authenticate: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
        examples=[
            {"mechanism": "SCRAM-SHA-512", "username": "causeway", "password": "${env:PARIS_PASSWORD}"}
        ],
    )
    tls: TlsSettings | None = Field(
        default=None,
        description="TLS: switched on by this table. `certificate` and `key` are for client certificates.",
        examples=[{"ca": "/etc/kafka/ca.pem"}],
    )
    properties: ClientProperties = Field(
        default={},
        description="Other properties of every client of this cluster, by their librdkafka names.",
        examples=[{"client.id": "causeway-paris", "socket.keepalive.enable": "true"}],
    )
    consumer: ClientProperties = Field(
        default={},
        description="Properties of consumers only; they override `properties`.",
        examples=[{"client.rack": "rack-1"}],
    )
    producer: ClientProperties = Field(
        default={},
        description="Properties of producers only; they override `properties`.",
        examples=[{"linger.ms": "5"}],
    )


class SparkSettings(ConfigTable):
    """The Spark that runs the tasks."""

    master: str = Field(
        default="local",
        min_length=1,
        description='Spark\'s master URL. "local" means this machine, with a thread for each shard.',
        examples=["spark://master:7077"],
    )
    properties: fields.SparkProperties = Field(
        default={},
        description="Spark properties, by their full names. Write secrets as references, which are resolved "
        "when Spark starts.",
        examples=[{"spark.executor.memory": "2g"}],
    )
    log_dir: str = Field(
        default="",
        description="Directory for Spark's log. Empty means the state directory.",
    )


def _tables(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError("each mirror is written as [[mirrors]], with two brackets on each side")
    return fields.many(value)


class Settings(ConfigTable):
    """The whole configuration."""

    clusters: dict[fields.Alias, ClusterSettings] = Field(
        min_length=1, description="Clusters by their aliases."
    )
    pools: dict[fields.Alias, PoolSettings] = Field(default={}, description="Source pools by their names.")
    registries: dict[fields.Alias, RegistrySettings] = Field(
        default={}, description="Schema registries by their names."
    )
    mirrors: Annotated[tuple[MirrorSettings, ...], BeforeValidator(_tables)] = Field(
        description="Mirrors, each a [[mirrors]]."
    )
    spark: SparkSettings = Field(default=SparkSettings(), description="Spark.")
    web: WebSettings = Field(default=WebSettings(), description="The page, the API, the probes.")
    metrics: MetricsSettings = Field(default=MetricsSettings(), description="Metrics.")
    log: LogSettings = Field(default=LogSettings(), description="The log.")
    _literal_secrets: tuple[Any, ...] = PrivateAttr(default=())

    @property
    def literal_secrets(self) -> tuple[LiteralSecret, ...]:
        """Secrets that are written in the configuration itself."""
        return self._literal_secrets

    def __eq__(self, other: object) -> bool:
        """By the settings alone, wherever they were written."""
        return isinstance(other, Settings) and self.__dict__ == other.__dict__


NESTED: dict[str, type[ConfigTable]] = {"filters": FilterSettings, "per_source": SourceSettings}
"""Tables inside a mirror."""

TABLES: dict[str, type[ConfigTable]] = {
    "clusters": ClusterSettings,
    "pools": PoolSettings,
    "registries": RegistrySettings,
    "mirrors": MirrorSettings,
    "spark": SparkSettings,
    "web": WebSettings,
    "metrics": MetricsSettings,
    "log": LogSettings,
}
"""Which model the tables of a section follow."""


def _choices(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def inner_tables(table: type[ConfigTable]) -> dict[str, type[ConfigTable]]:
    """Keys whose values are tables of their own: [clusters.paris.tls]."""
    return {
        key: choice
        for key, field in table.model_fields.items()
        for choice in _choices(field.annotation)
        if isinstance(choice, type) and issubclass(choice, ConfigTable)
    }


NAMED = ("clusters", "pools", "registries")
"""Sections with a table for each alias."""


def resolves_late(table: type[ConfigTable], key: str) -> bool:
    """Whether references stay in the key's value until a client is created."""
    field = table.model_fields.get(key)
    return field is not None and any(isinstance(mark, Late) for mark in field.metadata)


def is_property_table(table: type[ConfigTable], key: str) -> bool:
    """Whether the key holds a table whose names keep their dots: client properties, topics."""
    field = table.model_fields.get(key)
    return field is not None and any(isinstance(mark, Dotted) for mark in field.metadata)
