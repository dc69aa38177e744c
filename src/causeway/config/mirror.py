"""The settings of a mirror: what it replicates, how, and what it does when something is wrong."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from causeway.config import fields
from causeway.config.fields import AutoCount, Between, Count, Duration, Flag, Shown, Size
from causeway.config.registries import SchemaSettings
from causeway.config.routing import ConfigTable, FilterSettings, SourceSettings
from causeway.config.units import parse_duration, parse_size
from causeway.core.choices import CarrierChoice, Delivery, OnGap, OnPoison, OnRecreate, Timings

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Timestamps = Literal["preserve", "broker"]
OnExistingRecords = Literal["refuse", "append"]
PartitionPlacement = Literal["preserve", "by-key"]
Partitioner = Literal["murmur2", "fnv1a"]


class MirrorSettings(ConfigTable):
    """A mirror: its sources, its destination, what to replicate and how."""

    name: fields.MirrorName = Field(
        description="Unique name of the mirror. It is part of the names of its ledger and of its "
        "transactional ids: a renamed mirror starts from the beginning.",
        examples=["paris-to-tokyo"],
    )
    source: fields.Names = Field(
        description="Alias of the cluster to read from, or a list of aliases.", examples=["paris"]
    )
    destination: str = Field(description="Alias of the cluster to write to.", examples=["tokyo"])
    topics: fields.Topics = Field(
        description="Topics to replicate: names, or regular expressions that must match the whole name.",
        examples=[["orders", "payments\\..*"]],
    )
    exclude: fields.Exclusions = Field(
        default=(),
        description="Topics among those that are not replicated: names, or regular expressions that must "
        "match the whole name.",
    )
    prefix: fields.Affix = Field(
        default="",
        description="Prefix of topic names at the destination; not added to names that already have it.",
    )
    suffix: fields.Affix = Field(
        default="",
        description="Suffix of topic names at the destination; not added to names that already have it.",
    )
    rename: fields.Renames = Field(
        default={},
        description="Destination names of single topics; replaces prefix and suffix for them.",
        examples=[{"orders": "orders-from-paris"}],
    )
    merge: Flag = Field(default=False, description="Let several source topics share one destination topic.")
    partitions: PartitionPlacement = Field(
        default="preserve",
        description='"preserve": records keep their partition number. "by-key": the record\'s key selects '
        "the partition, and records without a key are spread in batches.",
    )
    partitioner: Partitioner = Field(
        default="murmur2",
        description='Hash function of "by-key": "murmur2" as in Java producers, "fnv1a" as in Sarama (Kafka '
        "Topic Mirror, Go MirrorMaker).",
    )
    partition_map: fields.PartitionMap = Field(
        default={},
        description="Destination partitions, by source topic: a number for all partitions of the topic, or "
        "pairs of `src` and `dest`.",
        examples=[{"orders": [{"src": 0, "dest": 1}, {"src": 1, "dest": 0}], "audit": 3}],
    )
    modulo: Flag = Field(
        default=False,
        description="If the destination topic has fewer partitions (n), write partition p to partition "
        "p modulo n instead of refusing the topic.",
    )
    provenance: Flag = Field(
        default=False,
        description="For mirrors in both directions between topics with the same name: records get a header "
        "`causeway-origin` with the id of the cluster they first came from, and are not replicated back "
        "to it.",
    )
    filters: Annotated[
        tuple[FilterSettings, ...], BeforeValidator(fields.several), Shown("list of tables")
    ] = Field(
        default=(),
        description="Filters, each a [[mirrors.filters]].",
    )
    per_source: Annotated[dict[str, SourceSettings], Shown("tables by alias")] = Field(
        default={}, description="Settings for single sources, each a [mirrors.per_source.<alias>]."
    )
    schemas: SchemaSettings = Field(
        default=SchemaSettings(),
        description="Schemas that records name by ids: copied between registries, or left alone.",
        examples=[{"mode": "copy"}],
    )
    start: fields.Start = Field(
        default="earliest",
        description="Where to start topics that this mirror has never replicated: at the earliest record, "
        "at the latest (records committed after the mirror is ready), or at the first record at or after a "
        "timestamp (UTC if it has no offset).",
    )
    delivery: Delivery = Field(
        default="exactly-once",
        description='Delivery guarantee. "at-least-once" is for destinations without transactions.',
    )
    shards: AutoCount = Field(
        default=None,
        description='Number of parallel tasks. "auto" is one for each core and at most one for each '
        "partition; one if a rate limit is set.",
    )
    compression: Compression = Field(default="lz4", description="Compression of records that are produced.")
    timestamps: Timestamps = Field(
        default="preserve",
        description='"preserve": records keep their timestamps. "broker" also accepts destination topics '
        "that replace them (LogAppendTime).",
    )
    on_existing_records: OnExistingRecords = Field(
        default="refuse",
        description="What to do with a destination topic that has records this mirror did not write: refuse "
        "it, or append to it.",
    )
    on_gap: OnGap = Field(
        default="stop",
        description="What to do when source records were deleted or lost before they were replicated: stop "
        'the partition, or "continue" after them. The gap is recorded in the ledger.',
    )
    on_recreate: OnRecreate = Field(
        default="stop",
        description="What to do when a source topic was deleted and created again: stop its partitions, or "
        '"restart": replicate the new topic from its beginning, after the records that are already there.',
    )
    on_poison: OnPoison = Field(
        default="stop",
        description="What to do with a record that the destination rejects: stop its partition, or "
        '"quarantine" it in the topic __causeway.<name of the mirror>.quarantine and continue.',
    )
    create_topics: Flag = Field(
        default=True,
        description="Create missing destination topics, and add partitions to them when the source does.",
    )
    replication_factor: AutoCount = Field(
        default=None,
        description='Replication factor of created topics, including the ledger. "auto" is the source '
        "topic's, at most the number of brokers.",
    )
    source_group: Flag = Field(
        default=True,
        description="Commit replicated offsets to a consumer group on the source, for lag monitoring. They "
        "are never read back.",
    )
    source_group_name: fields.GroupName = Field(
        default="", description='Name of that group. Empty means "causeway.<name of the mirror>".'
    )
    slice: Annotated[Duration, Between("1s", "1d")] = Field(
        default=parse_duration("5m"), description="Duration of one Spark job; then the next one is planned."
    )
    refresh: Annotated[Duration, Between("100ms", "1h")] = Field(
        default=parse_duration("5s"), description="Interval for discovering topics and partitions."
    )
    heartbeat: Annotated[Duration, Between("100ms", "1m")] = Field(
        default=parse_duration("3s"),
        description="Interval of each shard's heartbeats in the ledger, also while it is idle.",
    )
    transaction_timeout: Annotated[Duration, Between("5s", "15m")] = Field(
        default=parse_duration("15s"),
        description="Time after which the destination aborts an abandoned transaction. Until then its "
        "read_committed consumers wait.",
    )
    max_transaction_records: Count = Field(default=100_000, description="Maximum records in a transaction.")
    max_transaction_bytes: Annotated[Size, Between("1KiB", "2047MiB")] = Field(
        default=parse_size("32MiB"), description="Maximum bytes of records in a transaction."
    )
    max_transaction_time: Annotated[Duration, Between("1ms", "5m")] = Field(
        default=parse_duration("1s"),
        description="Maximum time until the records of a transaction are committed. Must be shorter than "
        "transaction_timeout.",
    )
    queue_bytes: Annotated[Size, Between("1MiB", "2047MiB")] = Field(
        default=parse_size("32MiB"),
        description="Memory for values that a shard's consumer fetches ahead, and the same again for values "
        "in its producer's queue. One decompressed fetch is added to that: fetches start small, and shrink "
        "while more than 4 times queue_bytes + 128MiB is fetched ahead, headers included.",
    )
    queue_records: Annotated[Count, Field(le=10_000_000)] = Field(
        default=50_000,
        description="Maximum records in a shard's producer queue, and minimum records that its consumer "
        "fetches ahead. Each takes a few hundred bytes in addition to its own.",
    )
    carrier: CarrierChoice = Field(
        default="auto",
        description='Implementation that moves records: "native" is the fast one; "object" makes a Python '
        "object of each record, which filters, provenance and timings in headers need. "
        '"auto" takes the fastest possible.',
    )
    timings: Timings = Field(
        default="off",
        description='"topic": for each transaction and source partition a JSON record with offsets, times '
        "and counts on the topic timings_<destination topic>, in the same transaction. "
        '"headers": each record gets the headers causeway-consumed and causeway-produced. Times are '
        "milliseconds since the epoch.",
    )
    max_records_per_second: fields.Rate = Field(
        default=0, description="Maximum records per second of all shards together; 0 is no limit."
    )
    max_bytes_per_second: Size = Field(
        default=0,
        description="Maximum bytes of keys and values per second of all shards together; 0B is no limit.",
    )

    @model_validator(mode="before")
    @classmethod
    def _default_group_name(cls, data: Any) -> Any:
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
    def _shorter_than_timeout(cls, value: float, info: ValidationInfo) -> float:
        if value >= info.data.get("transaction_timeout", value + 1):
            raise ValueError("must be shorter than transaction_timeout")
        return value

    @property
    def copies_schemas(self) -> bool:
        return self.schemas.mode == "copy"

    def for_source(self, alias: str) -> MirrorSettings:
        """The mirror with the settings of one of its sources applied."""
        source = self.per_source.get(alias)
        if source is None:
            return self
        overridden = {
            name: value
            for name in SourceSettings.model_fields
            if (value := getattr(source, name)) is not None
        }
        return self.model_copy(update=overridden)

    @field_validator("timings")
    @classmethod
    def _headers_need_objects(cls, value: Timings, info: ValidationInfo) -> Timings:
        if value == "headers" and info.data.get("carrier") == "native":
            raise ValueError('must be "off" or "topic" with carrier = "native"')
        return value

    @property
    def start_at(self) -> Literal["earliest", "latest"] | int:
        """Where to start: "earliest", "latest", or milliseconds since 1970."""
        return fields.start_at(self.start)
