"""Ledger and offset map as an earlier version wrote them: tests/fixtures/ledger-*.jsonl.

Made once with that version, by a run with two shards that replicated the same number of records from each
partition of one topic: every committed record of both topics, in log order. `example` rows are one record or
more of each kind, with every field set. The first line has the names and ids that the rows contain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from causeway.core.position import SourcePartition

FIXTURES = Path(__file__).parents[1] / "fixtures"


class EarlierRecord(NamedTuple):
    log: Literal["ledger", "offset_map", "example"]
    partition: int
    key: str
    value: str


@dataclass(frozen=True)
class EarlierLedger:
    topic: str
    records: int  # replicated from each partition of the topic
    partitions: int
    shards: int
    ids: dict[str, str]  # of both clusters, the topic on both sides, the ledger and the offset map
    rows: tuple[EarlierRecord, ...]

    def source(self, partition: int) -> SourcePartition:
        return SourcePartition(self.ids["source_cluster"], self.topic, partition)

    def of(self, log: str) -> list[EarlierRecord]:
        return [row for row in self.rows if row.log == log]

    def moved(self, topic: str, ids: dict[str, str]) -> EarlierLedger:
        """The same records for another topic on other clusters."""
        changes = [(self.ids[name], new) for name, new in ids.items()]

        def adapted(text: str, before: str, after: str) -> str:
            for old, new in [*changes, (f"{before}{self.topic}{after}", f"{before}{topic}{after}")]:
                text = text.replace(old, new)
            return text

        rows = (
            row._replace(
                key=adapted(f"{row.key}|", "|", "|").removesuffix("|"), value=adapted(row.value, '"', '"')
            )
            for row in self.rows
        )
        return EarlierLedger(
            topic, self.records, self.partitions, self.shards, {**self.ids, **ids}, tuple(rows)
        )


def earlier_ledgers() -> dict[str, EarlierLedger]:
    """All that are kept, by the version that wrote them."""
    return {
        path.stem.removeprefix("ledger-"): _read(path) for path in sorted(FIXTURES.glob("ledger-*.jsonl"))
    }


def _read(path: Path) -> EarlierLedger:
    head, *rows = map(json.loads, path.read_text().splitlines())
    del head["written_by"]
    counts = {name: head.pop(name) for name in ("records", "partitions", "shards")}
    return EarlierLedger(
        head.pop("topic"), ids=head, rows=tuple(EarlierRecord(**row) for row in rows), **counts
    )
