"""Snapshots made by hand, one for each situation, and a source that shows them and remembers its orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from causeway.core.job import Job
from causeway.core.plan import Unmatched
from causeway.core.pool_snapshot import NodeMoveView, NodeView, SourcePoolView
from causeway.core.position import NO_LATENCY
from causeway.core.snapshot import EventView, GapView, MirrorView, PartitionView, ShardView, Snapshot
from causeway.errors import CausewayError

NOW = 1_790_000_000_000
TOKEN = "a-token-of-the-tests"
LOCAL = "http://localhost"
MARKUP = "<img src=x onerror=alert(1)>"
CONFIGURATION = '[[mirrors]]\nname = "paris-to-tokyo"\nsource = "paris"\ndestination = "tokyo"\n'


def partition(number: int = 0, topic: str = "orders", **other: Any) -> PartitionView:
    view = PartitionView(
        cluster="paris",
        topic=topic,
        partition=number,
        to_topic=topic,
        to_partition=number,
        shard=1 + number % 2,
        start=100,
        position=1_100,
        log_start=90,
        log_end=1_103,
        to_end=2_000,
        committed_at=NOW - 400,
        delivered=990,
        holes=10,
        bytes=99_000,
        lag_records=3,
        lag_bytes=300,
        lag_seconds=0.4,
    )
    return replace(view, **other)


def stopped_partition(number: int = 1, **other: Any) -> PartitionView:
    reason = {
        "verdict": "gap",
        "what": "offsets 50 to 69 (20) were deleted before they were replicated",
        "todo": "causeway offsets skip mirror.toml --topic orders --partition 1 --to earliest",
        "lag_records": 500,
        "lag_seconds": 7_200.0,
        "expected": 50,
        "found": 70,
        "gone": 20,
    }
    return partition(number, **{**reason, **other})


def shard(number: int = 1, **other: Any) -> ShardView:
    return replace(ShardView(number, "worker-1", 4_000 + number, "native", 3, NOW - 900, 2), **other)


def mirror(
    partitions: Sequence[PartitionView] = (partition(0), partition(1)),
    name: str = "paris-to-tokyo",
    **other: Any,
) -> MirrorView:
    view = MirrorView(
        name=name,
        state="running",
        state_since=NOW - 3_600_000,
        sources=("paris",),
        destination="tokyo",
        delivery="exactly-once",
        lease=7,
        slice=3,
        partitions=tuple(partitions),
        shards=(shard(1), shard(2)),
        events=(EventView(NOW - 5_000, "info", "slice 3 started"),),
        gaps=(),
        records_per_second=1_234.5,
        bytes_per_second=123_450.0,
        latency=latency(1_000),
        latency_seconds=20.0,
        configuration=CONFIGURATION,
    )
    return replace(view, **other)


def latency(count: int, bucket: int = 7) -> tuple[int, ...]:
    """All in one bucket: the seventh is that of 15 to 20 ms."""
    counts = list(NO_LATENCY)
    counts[bucket] = count
    return tuple(counts)


def snapshot(*mirrors: MirrorView, at: int = NOW, prepared: bool = True) -> Snapshot:
    return Snapshot(at, "0.1.0", "mirror-1", 4_711, NOW - 7_200_000, mirrors, prepared)


def healthy() -> Snapshot:
    return snapshot(mirror())


def lagging() -> Snapshot:
    return snapshot(
        mirror([partition(0, lag_records=90_000, lag_seconds=45.0, log_end=91_100), partition(1)])
    )


def stopped() -> Snapshot:
    event = EventView(
        NOW - 60_000,
        "error",
        stopped_partition().what,
        stopped_partition().todo,
        2,
        "orders",
        1,
        50,
        50,
        70,
        20,
    )
    return snapshot(mirror([partition(0, skipped=10), stopped_partition(1)], events=(event,), gaps=(gap(),)))


def gap(begin: int = 20, end: int = 30, **other: Any) -> GapView:
    why = "retention was two days"
    told = f"offsets {begin} to {end - 1} skipped, by ann@tokyo-1: {why}"
    view = GapView(
        NOW - 86_400_000, "paris", "orders", 0, "gap", begin, end, "ann@tokyo-1", told, why, end - begin
    )
    return replace(view, **other)


def paused() -> Snapshot:
    return snapshot(
        mirror(state="paused", state_since=NOW - 300_000, paused_by="ann", records_per_second=0.0)
    )


def waiting() -> Snapshot:
    return snapshot(mirror(state="waiting", state_since=NOW - 180_000, waiting_for="paris"))


def node(name: str = "paris-a", **other: Any) -> NodeView:
    lag = {("orders", 0): 0, ("orders", 1): 0}
    return replace(NodeView(name, f"{name}-id", "fit", "", True, NOW - 700, 2_206, lag), **other)


def pool(*nodes: NodeView, **other: Any) -> SourcePoolView:
    """Shard 2 has left a node that died; a third node has never responded."""
    why = "every bootstrap server refuses the connection"
    shown = nodes or (
        node("paris-a", state="dead", why=why, responds=False),
        node("paris-b", lag={("orders", 0): 12, ("orders", 1): 0}, shards=(1, 2)),
        node(
            "paris-c", cluster_id="", state="unknown", why="it has not responded yet", responds=False,
            checked_at=-1, log_ends=-1, lag={},
        ),
    )  # fmt: skip
    move = NodeMoveView(NOW - 9_000, 2, "paris-a", "paris-b", "dead", f"paris-a is dead ({why})", 1_400)
    return replace(SourcePoolView("paris", shown, (move,), {("dead", "paris-a"): 1}), **other)


def pooled(**other: Any) -> Snapshot:
    return snapshot(mirror(pools=(pool(),), **other))


def without_node() -> Snapshot:
    """All nodes of the pool are gone."""
    dead = node("paris-a", state="dead", why="no response", responds=False, shards=(1, 2))
    short = node("paris-b", state="short", why="orders[0]: the log end 7 is before the position 9")
    why = (
        "no node of the pool paris can be read from: paris-a is dead (no response), paris-b is short"
        " (orders[0]: the log end 7 is before the position 9)"
    )
    shown = pool(dead, short, no_node=why)
    since = NOW - 180_000
    return snapshot(
        mirror(
            state="waiting",
            state_since=since,
            waiting_for="paris",
            waiting_why=why,
            waiting_todo="bring back a node",
            pools=(shown,),
        )
    )


def starting() -> Snapshot:
    return snapshot(mirror([], state="starting", shards=(), events=()), prepared=False)


def unknown_ends() -> Snapshot:
    """The source has not responded since the start: no log end is known."""
    unknown = partition(position=-1, start=-1, log_start=-1, log_end=-1, to_end=-1, committed_at=-1)
    return snapshot(mirror([replace(unknown, lag_records=0, lag_bytes=0, lag_seconds=0.0)]))


def typo() -> Snapshot:
    """`topics` select nothing."""
    return snapshot(mirror([], unmatched=(Unmatched("oders", ("paris",), "orders"),), shards=()))


def refused() -> Snapshot:
    """The source grew, the destination did not; and a record was set aside before."""
    what, todo = "topic orders has 2 partitions, 3 are needed", "kafka-topics.sh --alter --topic orders"
    third = stopped_partition(
        2, verdict="unroutable", what=what, todo=todo, position=-1, to_partition=-1, expected=-1
    )
    return snapshot(mirror([partition(0, quarantined=1), partition(1), third]))


def thousand() -> Snapshot:
    """Ten topics of a hundred partitions, each lagging more than the one before; one is stopped."""
    views = [
        partition(number, f"topic-{topic}", lag_seconds=topic * 8.0 + number * 0.1, shard=1 + number % 4)
        for topic in range(10)
        for number in range(100)
    ]
    views[455] = stopped_partition(55, topic="topic-4")
    return snapshot(mirror(views, shards=tuple(shard(number) for number in range(1, 5))))


def markup() -> Snapshot:
    """Every text that comes from data tries to be more than text."""
    nasty = partition(0, MARKUP, to_topic=MARKUP, verdict="gap", what=MARKUP, todo="</script><b>x")
    event = EventView(NOW, "error", MARKUP, MARKUP, 1, MARKUP, 0, 5)
    passed = GapView(NOW, MARKUP, MARKUP, 0, "gap", 1, 2, MARKUP, MARKUP, MARKUP, 1)
    view = mirror(
        [nasty], name=MARKUP, events=(event,), gaps=(passed,), sources=(MARKUP,), destination=MARKUP
    )
    return snapshot(replace(view, shards=(shard(host=MARKUP),), configuration=f'x = "{MARKUP}"\n'))


class Shown:
    """A source of one snapshot. `asked` is everything that would have changed something."""

    def __init__(self, view: Snapshot) -> None:
        self.view = view
        self.asked: list[tuple[str, ...]] = []
        self.error: Exception | None = None
        self.jobs: dict[str, Job] = {}

    def snapshot(self) -> Snapshot:
        return self.view

    def metrics(self) -> bytes:
        return b"causeway_records_total 1\n"

    def pause(self, mirror: str, by: str) -> None:
        self._ask("pause", mirror, by)

    def resume(self, mirror: str, by: str) -> None:
        self._ask("resume", mirror, by)

    def failover(self, mirror: str, pool: str, node: str, by: str, *, force: bool) -> int:
        self._ask("failover", mirror, pool, node, by, "force" if force else "")
        return NOW

    def verify(self, mirror: str) -> str:
        self._ask("verify", mirror)
        self.jobs["job-1"] = Job("job-1", mirror, "running", NOW)
        return "job-1"

    def job(self, id: str) -> Job | None:
        return self.jobs.get(id)

    def _ask(self, *what: str) -> None:
        if self.error is not None:
            raise self.error
        self.asked.append(what)


def refusal() -> CausewayError:
    return CausewayError("the mirror is about to end", todo="start it again")
