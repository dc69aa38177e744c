"""Labels of quarantined records: headers that say where a record came from, and why it was refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from causeway.model.position import SourcePartition

PREFIX = "causeway-quarantine-"

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Label:
    """A quarantined record's coordinates on the source, its timestamp there, and the reason."""

    source: SourcePartition
    topic_id: str
    offset: int
    timestamp: int
    reason: str


def labelled(headers: Headers | None, label: Label) -> list[tuple[str, bytes | None]]:
    """The record's own headers as they were, and the label behind them."""
    source = label.source
    parts = {
        "cluster": source.cluster,
        "topic": source.topic,
        "topic-id": label.topic_id,
        "partition": source.partition,
        "offset": label.offset,
        "timestamp": label.timestamp,
        "reason": label.reason,
    }
    return [*(headers or ()), *((f"{PREFIX}{name}", str(value).encode()) for name, value in parts.items())]


def label_of(headers: Headers | None) -> Label | None:
    """The label of a quarantined record; None where there is none that can be read.

    The last header of a name counts: a quarantined record may have been in another quarantine before.
    """
    said = {name: value.decode("utf-8", "replace") for name, value in headers or () if value is not None}
    try:
        return Label(
            SourcePartition(
                said[f"{PREFIX}cluster"], said[f"{PREFIX}topic"], int(said[f"{PREFIX}partition"])
            ),
            said[f"{PREFIX}topic-id"],
            int(said[f"{PREFIX}offset"]),
            int(said[f"{PREFIX}timestamp"]),
            said[f"{PREFIX}reason"],
        )
    except (KeyError, ValueError):
        return None
