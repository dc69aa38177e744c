"""Every setting: its name, type, default, description and example.

This is the one place where a setting is described; the reference, the sample and the messages are
generated from it. Settings are frozen, survive pickle and JSON (`model_dump_json`, `model_validate_json`)
and never show the value of a secret property in their `repr`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from causeway.config import fields
from causeway.config.fields import (
    AutoCount,
    Between,
    ClientProperties,
    Count,
    Dotted,
    Duration,
    Flag,
    Shown,
    Size,
)
from causeway.config.observability import LogSettings, MetricsSettings, WebSettings
from causeway.config.routing import ConfigTable, FilterSettings, SourceSettings
from causeway.config.units import parse_duration, parse_size
from causeway.core.choices import CarrierChoice, Delivery, OnGap, OnPoison, OnRecreate

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Timestamps = Literal["preserve", "broker"]
OntoExisting = Literal["refuse", "append"]
PartitionPlacement = Literal["preserve", "by-key"]
Partitioner = Literal["murmur2", "fnv1a"]


class ClusterSettings(ConfigTable):
    """A Kafka cluster: where it is and how to connect to it."""

    bootstrap_servers: fields.Servers = Field(
        description="Brokers to ask first, as host:port with commas between.",
        examples=["paris-1:9092,paris-2:9092"],
    )
    properties: ClientProperties = Field(
        default={},
        description="Properties of every client of this cluster (TLS, SASL, buffers and so on), by their "
        "librdkafka names.",
        examples=[
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "causeway",
                "sasl.password": "${env:PARIS_PASSWORD}",
            }
        ],
    )
    consumer: ClientProperties = Field(
        default={},
        description="Properties of consumers alone, over `properties`.",
        examples=[{"client.rack": "rack-1"}],
    )
    producer: ClientProperties = Field(
        default={},
        description="Properties of producers alone, over `properties`.",
        examples=[{"linger.ms": "5"}],
    )


class MirrorSettings(ConfigTable):
    """A mirror: its sources, its destination, what to replicate and how."""

    name: fields.MirrorName = Field(
        description="Unique name of the mirror. Its ledger and its transactions bear it: a mirror that is "
        "renamed starts anew.",
        examples=["paris-to-tokyo"],
    )
    source: fields.Names = Field(
        description="Alias of the cluster to read from, or a list of several.", examples=["paris"]
    )
    destination: str = Field(description="Alias of the cluster to write to.", examples=["tokyo"])
    topics: fields.Topics = Field(
        description="Topics to carry: names, or regular expressions that must match the whole name.",
        examples=[["orders", "payments\\..*"]],
    )
    exclude: fields.Exclusions = Field(
        default=(),
        description="Topics to leave out of those: names, or regular expressions that must match the whole "
        "name.",
    )
    prefix: fields.Affix = Field(
        default="",
        description="Put before the names of topics at the destination; not a second time on topics that "
        "have it already.",
    )
    suffix: fields.Affix = Field(
        default="", description="Put behind the names of topics at the destination, under the same terms."
    )
    rename: fields.Renames = Field(
        default={},
        description="Names at the destination of single topics; over prefix and suffix.",
        examples=[{"orders": "orders-from-paris"}],
    )
    merge: Flag = Field(default=False, description="Let several source topics share one destination topic.")
    partitions: PartitionPlacement = Field(
        default="preserve",
        description='"preserve": records keep their partition number. "by-key": the record\'s key chooses '
        "the partition, and records without one are spread in batches.",
    )
    partitioner: Partitioner = Field(
        default="murmur2",
        description='How "by-key" hashes: "murmur2" as Java producers do, "fnv1a" as Sarama does (Kafka '
        "Topic Mirror, Go MirrorMaker).",
    )
    partition_map: fields.PartitionMap = Field(
        default={},
        description="Topics whose partitions go elsewhere: a number sends all of them to one partition, "
        "pairs of `src` and `dest` each where it belongs.",
        examples=[{"orders": [{"src": 0, "dest": 1}, {"src": 1, "dest": 0}], "audit": 3}],
    )
    modulo: Flag = Field(
        default=False,
        description="Where the destination has fewer partitions, partition p goes to p modulo their number, "
        "instead of being refused.",
    )
    provenance: Flag = Field(
        default=False,
        description="For mirrors both ways between topics of equal names: records get a header "
        "`causeway-origin` with the id of the cluster they came from first, and do not go back there.",
    )
    filters: Annotated[
        tuple[FilterSettings, ...], BeforeValidator(fields.several), Shown("list of tables")
    ] = Field(
        default=(),
        description="Filters, each a [[mirrors.filters]].",
    )
    per_source: Annotated[dict[str, SourceSettings], Shown("tables by alias")] = Field(
        default={}, description="What differs for single sources, each a [mirrors.per_source.<alias>]."
    )
    start: fields.Start = Field(
        default="earliest",
        description="Where to begin with topics that this mirror has never carried: the earliest record, "
        "the latest (what is committed once the mirror is ready), or the first one at or after a "
        "timestamp (UTC unless it says otherwise).",
    )
    delivery: Delivery = Field(
        default="exactly-once",
        description='How records are delivered. "at-least-once" is for destinations without transactions.',
    )
    shards: AutoCount = Field(
        default=None,
        description='How many tasks share the work. "auto" is one for each core, never more than partitions; '
        "and one alone where there is a limit a second.",
    )
    compression: Compression = Field(
        default="lz4", description="How records are compressed on their way to the destination."
    )
    timestamps: Timestamps = Field(
        default="preserve",
        description='Records keep their timestamps. "broker" also accepts destination topics that replace '
        "them with their own (LogAppendTime).",
    )
    onto_existing: OntoExisting = Field(
        default="refuse",
        description="What to do with a destination topic that holds records this mirror did not write.",
    )
    on_gap: OnGap = Field(
        default="stop",
        description="What to do when records were deleted from the source before they were carried, or lost "
        'there: stop the partition, or "continue" after them; the gap stays in the ledger.',
    )
    on_recreate: OnRecreate = Field(
        default="stop",
        description="What to do when a source topic was deleted and created again: stop its partitions, or "
        '"restart": carry the new one from its beginning, behind what is there.',
    )
    on_poison: OnPoison = Field(
        default="stop",
        description="What to do with a record that the destination will not take: stop its partition, or "
        '"quarantine" it in the topic __causeway.<name of the mirror>.quarantine and go on.',
    )
    create_topics: Flag = Field(
        default=True, description="Create destination topics that do not exist, and let them grow."
    )
    replication_factor: AutoCount = Field(
        default=None,
        description='Replicas of topics that are created, the ledger\'s among them. "auto" is as many as '
        "the source topic has, at most as many as there are brokers.",
    )
    source_group: Flag = Field(
        default=True,
        description="Commit what has been carried to a consumer group on the source, for lag tools. It is "
        "never read back.",
    )
    source_group_name: fields.GroupName = Field(
        default="", description='Name of that group. Empty means "causeway.<name of the mirror>".'
    )
    slice: Annotated[Duration, Between("1s", "1d")] = Field(
        default=parse_duration("5m"), description="How long one Spark job goes on before the next is planned."
    )
    refresh: Annotated[Duration, Between("100ms", "1h")] = Field(
        default=parse_duration("5s"), description="How often topics and partitions are looked up."
    )
    heartbeat: Annotated[Duration, Between("100ms", "1m")] = Field(
        default=parse_duration("3s"),
        description="How often each shard says in the ledger that it is alive, idle or not.",
    )
    transaction_timeout: Annotated[Duration, Between("5s", "15m")] = Field(
        default=parse_duration("15s"),
        description="When the destination gives up a transaction that nobody finishes. Until then its "
        "read_committed readers wait.",
    )
    max_transaction_records: Count = Field(default=100_000, description="Most records in one transaction.")
    max_transaction_bytes: Annotated[Size, Between("1KiB", "2047MiB")] = Field(
        default=parse_size("32MiB"), description="Most bytes of records in one transaction."
    )
    max_transaction_time: Annotated[Duration, Between("1ms", "5m")] = Field(
        default=parse_duration("1s"),
        description="Longest time that records wait for their transaction to be committed. Shorter than "
        "transaction_timeout.",
    )
    queue_bytes: Annotated[Size, Between("1MiB", "2047MiB")] = Field(
        default=parse_size("32MiB"),
        description="Memory for values that a shard's consumer fetches ahead, and as much again for those "
        "that its producer holds. One fetch, decompressed, comes on top: fetches start small and shrink "
        "again where more than 4 times queue_bytes + 128MiB is fetched ahead, headers included.",
    )
    queue_records: Annotated[Count, Field(le=10_000_000)] = Field(
        default=50_000,
        description="Most records that a shard's producer holds, and how many are fetched ahead at least: "
        "each takes some hundred bytes besides its own.",
    )
    carrier: CarrierChoice = Field(
        default="auto",
        description='What moves the records: "native" is the fast one, and "object" makes a Python object of '
        "each, as filters and provenance need it. By itself the fastest that can be had is taken.",
    )
    max_records_per_second: fields.Rate = Field(
        default=0, description="Most records that all shards together deliver in a second; 0 is no limit."
    )
    max_bytes_per_second: Size = Field(
        default=0,
        description="Most bytes of keys and values that all shards together deliver in a second; 0B is no "
        "limit.",
    )

    @model_validator(mode="before")
    @classmethod
    def _name_the_group(cls, data: Any) -> Any:
        # An invalid name is one problem, not two.
        if (
            isinstance(data, dict)
            and not data.get("source_group_name")
            and fields.is_mirror_name(data.get("name"))
        ):
            return {**data, "source_group_name": f"causeway.{data['name']}"}
        return data

    @field_validator("max_transaction_time")
    @classmethod
    def _ends_in_time(cls, value: float, info: ValidationInfo) -> float:
        if value >= info.data.get("transaction_timeout", value + 1):
            raise ValueError("must be shorter than transaction_timeout")
        return value

    def seen_from(self, alias: str) -> MirrorSettings:
        """The mirror as it is for one of its sources."""
        own = self.per_source.get(alias)
        if own is None:
            return self
        given = {
            name: value for name in SourceSettings.model_fields if (value := getattr(own, name)) is not None
        }
        return self.model_copy(update=given)

    @property
    def start_at(self) -> Literal["earliest", "latest"] | int:
        """Where to start: "earliest", "latest", or milliseconds since 1970."""
        return fields.start_at(self.start)


class SparkSettings(ConfigTable):
    """The Spark that runs the tasks."""

    master: str = Field(
        default="local",
        min_length=1,
        description='Spark\'s master URL. "local" means this machine, with as many threads as there are '
        "shards.",
        examples=["spark://master:7077"],
    )
    properties: fields.SparkProperties = Field(
        default={},
        description="Spark's own properties, by their full names; secrets as references, "
        "which are resolved when Spark starts.",
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
    mirrors: Annotated[tuple[MirrorSettings, ...], BeforeValidator(_tables)] = Field(
        description="Mirrors, each a [[mirrors]]."
    )
    spark: SparkSettings = Field(default=SparkSettings(), description="Spark.")
    web: WebSettings = Field(default=WebSettings(), description="The page, the API, the probes.")
    metrics: MetricsSettings = Field(default=MetricsSettings(), description="Metrics.")
    log: LogSettings = Field(default=LogSettings(), description="The log.")


NESTED: dict[str, type[ConfigTable]] = {"filters": FilterSettings, "per_source": SourceSettings}
"""Tables inside a mirror."""

TABLES: dict[str, type[ConfigTable]] = {
    "clusters": ClusterSettings,
    "mirrors": MirrorSettings,
    "spark": SparkSettings,
    "web": WebSettings,
    "metrics": MetricsSettings,
    "log": LogSettings,
}
"""Which model the tables of a section follow."""


def is_property_table(table: type[ConfigTable], key: str) -> bool:
    """Whether the key holds a table whose names keep their dots: client properties, topics."""
    field = table.model_fields.get(key)
    return field is not None and any(isinstance(mark, Dotted) for mark in field.metadata)
