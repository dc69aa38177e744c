"""Labels of quarantined records: headers with a record's source and the reason for its rejection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from causeway.core.position import SourcePartition
from causeway.rules.header_names import MOST_HEADERS, Headers, escaped, odd_names

PREFIX = "causeway-quarantine-"
_MOST_PARTS = 9  # the most headers in a label


@dataclass(frozen=True, slots=True)
class Label:
    """A quarantined record's coordinates on the source, its timestamp there, and the reason."""

    source: SourcePartition
    topic_id: str
    offset: int
    timestamp: int
    reason: str
    lacks: str = ""  # what the copy lacks: the record's headers, if they could not be read


def labelled(
    headers: Headers | None, label: Label, *, escape: bool = False
) -> list[tuple[str, bytes | None]]:
    """The record's own headers unchanged, and the label after them.

    With `escape`, names that not every client can write are escaped; the label lists these headers. A copy
    with more headers than the client parses could never be read again: its own headers are dropped, and the
    label reports that.
    """
    source = label.source
    own = list(headers or ())
    if len(own) + _MOST_PARTS > MOST_HEADERS:
        own, label = [], replace(label, lacks="headers")
    odd = odd_names(own) if escape else []
    for number in odd:
        own[number] = escaped(own[number][0]), own[number][1]
    parts = {
        "cluster": source.cluster,
        "topic": source.topic,
        "topic-id": label.topic_id,
        "partition": source.partition,
        "offset": label.offset,
        "timestamp": label.timestamp,
        "reason": label.reason,
    }
    if label.lacks:
        parts["lacks"] = label.lacks
    if odd:
        parts["escaped-names"] = ",".join(map(str, odd))
    return [*own, *((f"{PREFIX}{name}", str(value).encode()) for name, value in parts.items())]


def label_of(headers: Headers | None) -> Label | None:
    """The label of a quarantined record; None if there is none that can be read.

    The last header of a name counts: a quarantined record may have been in another quarantine before.
    """
    values = {name: value.decode("utf-8", "replace") for name, value in headers or () if value is not None}
    try:
        return Label(
            SourcePartition(
                values[f"{PREFIX}cluster"], values[f"{PREFIX}topic"], int(values[f"{PREFIX}partition"])
            ),
            values[f"{PREFIX}topic-id"],
            int(values[f"{PREFIX}offset"]),
            int(values[f"{PREFIX}timestamp"]),
            values[f"{PREFIX}reason"],
            values.get(f"{PREFIX}lacks", ""),
        )
    except (KeyError, ValueError):
        return None
