"""The mirror under test: the protocol that a scenario needs, and Causeway as an implementation.

A scenario measures progress by itself. What a mirror reports (`note_ledger`, `note_map`, `at_end`) is
optional: a tool without a ledger adds nothing, and always counts as at its end.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka.admin import AdminClient

from causeway.config.toml import written
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, Heartbeat, decode
from causeway.core.position import Position
from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.kafka.ledger import read_image
from causeway.local_kafka import EmbeddedCluster
from causeway.rules.ledger_state import LedgerState
from faults.events import LedgerPosition, Side
from faults.history import Journal
from faults.ledger_events import ledger_position, note_offset_map
from support.process import Causeway
from support.records import read_offsets


class Mirror(Protocol):
    """Any tool that replicates topics whose names begin with `<name>.` from a source to a destination."""

    name: str
    has_ledger: bool

    def start(self) -> object: ...

    def kill(self) -> None:
        """SIGKILL to all its processes."""

    def stop(self) -> int:
        """Stop it as its users do; returns the exit code."""

    @property
    def alive(self) -> bool: ...

    @property
    def output(self) -> str: ...

    def named(self, topic: str) -> str:
        """A source topic's name on the destination."""

    def pids(self) -> dict[str, list[int]]:
        """Its processes by role."""

    def note_ledger(self, journal: Journal, *, whole: bool) -> None:
        """Add its current positions to the journal; with `whole`, all positions that its log holds."""

    def note_map(self, journal: Journal) -> None: ...

    def at_end(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Whether its positions have reached these ends of source partitions."""


class CausewayMirror:
    """`causeway run`, started as often as a test needs: again after a crash, or beside a running one.

    It connects to `proxied` sides through their PROXY listener. Keywords are keys of the mirror's table; None
    omits one.
    """

    has_ledger = True

    def __init__(
        self, directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster, *,
        proxied: Collection[Side] = (), name: str = "", env: Mapping[str, str] | None = None,
        clusters: Mapping[str, Mapping[str, Any]] | None = None,  # "src", "dst" → tables inside of theirs
        spark: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> None:  # fmt: skip
        self.name = name or f"m{uuid.uuid4().hex[:8]}"
        self.directory = directory
        self.servers = {
            alias: cluster.proxied_servers if side in proxied else cluster.bootstrap_servers
            for alias, side, cluster in (("src", "source", source), ("dst", "destination", destination))
        }
        self.clusters, self.spark = clusters or {}, spark or {}
        self.env = dict(env or {})
        self.keys: dict[str, Any] = {
            "name": self.name, "source": "src", "destination": "dst", "topics": [f"{self.name}\\..*"],
            "refresh": "500ms", "heartbeat": "500ms", "transaction_timeout": "5s", "shards": 2, **keys,
        }  # fmt: skip
        self.config = directory / f"{self.name}.toml"
        self.runs: list[Causeway] = []
        self._destination = destination.bootstrap_servers  # for the test itself, without a proxy

    def write_config(self, **changes: Any) -> Path:
        """Write the configuration for the next runs."""
        self.keys |= changes
        tables: list[tuple[str, Mapping[str, Any]]] = []
        for alias, servers in self.servers.items():
            tables.append((f"[clusters.{alias}]", {"bootstrap_servers": servers}))
            tables += [
                (f"[clusters.{alias}.{key}]", rest) for key, rest in self.clusters.get(alias, {}).items()
            ]
        tables += [("[spark]", self.spark)] if self.spark else []
        tables.append(("[[mirrors]]", self.keys))
        self.config.write_text(
            "".join(
                "\n".join(
                    [head, *(f"{_key(k)} = {written(v)}" for k, v in body.items() if v is not None), ""]
                )
                for head, body in tables
            )
        )
        return self.config

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, **changes: Any) -> Causeway:
        """Start another run, which `run` returns from now on; earlier runs continue if they still live."""
        self.write_config(**changes)
        log = self.directory / f"run-{self.name}-{len(self.runs)}.log"
        self.runs.append(Causeway("run", self.config, *arguments, log=log, env={**self.env, **(env or {})}))
        return self.runs[-1]

    @property
    def run(self) -> Causeway:
        """The newest run."""
        return self.runs[-1]

    def kill(self) -> None:
        """Kill every run and what it left running."""
        for run in self.runs:
            run.kill()

    def stop(self) -> int:
        return self.run.stop()

    @property
    def alive(self) -> bool:
        return bool(self.runs) and self.run.alive

    @property
    def output(self) -> str:
        return "\n".join(f"--- {run.log.name}\n{run.output}" for run in self.runs)

    def named(self, topic: str) -> str:
        return f"{self.keys.get('prefix') or ''}{topic}{self.keys.get('suffix') or ''}"

    def pids(self) -> dict[str, list[int]]:
        run = self.run
        return {"driver": [run.process.pid], "jvm": run.jvm(), "workers": run.workers()}

    def ledger(self) -> LedgerState:
        return read_image(Cluster("dst", {"bootstrap.servers": self._destination}), self.name)

    def note_ledger(self, journal: Journal, *, whole: bool) -> None:
        rows = self._positions(journal.now())
        newest = {(row.topic, row.topic_id, row.partition): row for row in rows}
        journal.add(*(rows if whole else newest.values()))

    def note_map(self, journal: Journal) -> None:
        if self._has(offset_map_topic(self.name)):
            note_offset_map(journal, self._destination, self.name)

    def at_end(self, ends: Mapping[tuple[str, int], int]) -> bool:
        image = self.ledger()
        stopped = {(source.topic, source.partition) for source in image.stopped}
        reached = {(source.topic, source.partition): p.offset for source, p in image.positions.items()}
        return all(reached.get(one, 0) >= end for one, end in ends.items() if one not in stopped)

    def _positions(self, at: int) -> list[LedgerPosition]:
        """Every position that the ledger still holds, by generation and in the order of its log.

        The heartbeat before a position tells who wrote it: positions do not name an instance.
        """
        topic = ledger_topic(self.name)
        if not self._has(topic):
            return []
        found: list[tuple[int, int, LedgerPosition]] = []
        for partition, entries in read_offsets(self._destination, topic).items():
            lease = 0
            for offset, entry in entries:
                record = decode(entry.value) if entry.value is not None else None
                if isinstance(record, Heartbeat) and partition != CONTROL:
                    lease = record.lease
                elif isinstance(record, Position):
                    writer = max(lease, record.generation)
                    found.append((record.generation, offset, ledger_position(record, at, str(writer))))
        return [row for _, _, row in sorted(found, key=lambda one: one[:2])]

    def _has(self, topic: str) -> bool:
        return (
            topic
            in AdminClient({"bootstrap.servers": self._destination, "log_level": 0})
            .list_topics(timeout=10)
            .topics
        )


def failing(point: str, hit: int, action: str, flag: Path) -> dict[str, str]:
    """The environment of a run that fails at a failpoint (causeway/failpoint.py)."""
    return {"CAUSEWAY_FAILPOINT": f"{point}:{hit}:{action}:{flag}"}


def _key(name: str) -> str:
    return f'"{name}"' if "." in name else name
