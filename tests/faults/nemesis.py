"""Random faults as data: kinds with a name, a weight and an injection, and a schedule of them from a seed.

The schedule depends only on the seed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from faults import injections, losses, outages, shortages
from faults.events import Side
from faults.fault_target import Injection
from faults.network import MOMENT, RESET, Trouble, dead

Family = Literal["processes", "brokers", "network", "topics", "data", "quotas", "files"]
FAMILIES: tuple[Family, ...] = get_args(Family)
TRANSACTION_SECONDS = 5
RECOVERY_MS, RESTART_MS = 15_000, 25_000
"""From a fault's end to zero lag; the second if the whole process has to start again."""
_OVERLAPS = 0.2
_ALL = frozenset({"mirror", "source", "destination"})


@dataclass(frozen=True)
class FaultKind:
    name: str
    family: Family
    act: Injection
    weight: int = 1
    seconds: tuple[float, float] = (0.0, 0.0)  # how long it lasts, once it is there
    touches: frozenset[str] = _ALL
    crash: bool = False  # a process that replicates dies or is fenced
    restarts: bool = False  # the whole mirror has to start again

    @property
    def limit_ms(self) -> int:
        return RESTART_MS if self.restarts else RECOVERY_MS


@dataclass(frozen=True)
class ScheduledFault:
    """Faults that begin together; the seed chooses their victims."""

    kinds: tuple[FaultKind, ...]
    seconds: float
    seed: int

    def __str__(self) -> str:
        return " + ".join(kind.name for kind in self.kinds)


def schedule(seed: int, kinds: Collection[FaultKind]) -> Iterator[ScheduledFault]:
    """Endless. Kinds are dealt like cards, each as often as its weight: none is omitted for long."""
    random = Random(seed)
    deck: list[FaultKind] = []
    while True:
        if not deck:
            deck = [kind for kind in kinds for _ in range(kind.weight)]
            random.shuffle(deck)
        together = [deck.pop()]
        if random.random() < _OVERLAPS:
            fitting = [kind for kind in deck if not kind.touches & together[0].touches]
            if fitting:
                together.append(random.choice(fitting))
                deck.remove(together[1])
        seconds = max(random.uniform(*kind.seconds) for kind in together)
        yield ScheduledFault(tuple(together), round(seconds, 1), random.getrandbits(32))


_SOME = (0.5, 4.0)
_LONGER_THAN_A_TRANSACTION = (TRANSACTION_SECONDS + 1.0, TRANSACTION_SECONDS + 4.0)
_UNTIL_NOTICED = (TRANSACTION_SECONDS + 1.0, 18.0)
"""A suspended worker is replaced after fifteen seconds, so some of these faults last longer."""
_MIRROR = frozenset({"mirror"})


def _process_kinds() -> list[FaultKind]:
    def kind(name: str, act: Injection, weight: int, *, alone: bool = False, **more: object) -> FaultKind:
        touches = _ALL if alone else _MIRROR
        return FaultKind(name, "processes", act, weight, touches=touches, crash=True, **more)  # type: ignore[arg-type]

    return [
        kind("mirror: kill -9", injections.tree_killed, 3, restarts=True),
        kind("mirror: kill -9, and at start", injections.killed_at_start, 2, alone=True, restarts=True),
        kind("mirror: SIGTERM", injections.terminated, 2, alone=True, restarts=True),
        kind("mirror: SIGSTOP", injections.tree_held, 1, seconds=_LONGER_THAN_A_TRANSACTION),
        kind("mirror: second instance", injections.second_instance, 2, alone=True),
        kind("mirror: SIGSTOP, taken over", injections.zombie, 1, alone=True),
        kind("mirror: other shard count", injections.resharded, 2, restarts=True),
        kind("driver: kill -9", injections.driver_killed, 2, restarts=True),
        kind("driver: SIGSTOP", injections.driver_held, 1, seconds=_LONGER_THAN_A_TRANSACTION),
        kind("JVM: kill -9", injections.jvm_killed, 1, alone=True, restarts=True),
        kind("worker: kill -9", injections.worker_killed, 3),
        kind("workers: kill -9 of all", injections.workers_killed, 1),
        kind("worker: SIGSTOP", injections.worker_held, 2, seconds=_UNTIL_NOTICED),
    ]


def _broker_kinds(side: Side, brokers: int) -> list[FaultKind]:
    def kind(name: str, act: Injection, weight: int, **more: object) -> FaultKind:
        return FaultKind(f"{side}: {name}", "brokers", act, weight, touches=frozenset({side}), **more)  # type: ignore[arg-type]

    if brokers == 1:
        return [
            kind("broker kill -9", outages.without(side, clean=False), 3, seconds=_SOME),
            kind("broker clean stop", outages.without(side, clean=True), 2, seconds=_SOME),
        ]
    return [
        kind("leader kill -9", outages.without(side, clean=False), 3),
        kind("leader clean stop", outages.without(side, clean=True), 2),
        kind("rolling restart", outages.rolled(side), 1),
        kind("leader election", outages.elected(side), 2),
        kind("broker SIGSTOP", outages.paused(side), 1, seconds=(2.0, 12.0)),
        kind("controller kill -9", outages.controller_killed(side), 1),
        kind("replicas moved", outages.moved(side), 1),
        kind("too few in sync", outages.too_few_in_sync(side), 1, seconds=_LONGER_THAN_A_TRANSACTION),
        kind("all brokers kill -9", outages.all_away(side), 1, seconds=_LONGER_THAN_A_TRANSACTION),
        *([kind("coordinator kill -9", outages.coordinator_killed, 2)] if side == "destination" else []),
    ]


def _network_kinds(side: Side, brokers: int) -> list[FaultKind]:
    def kind(
        name: str,
        act: Injection,
        weight: int = 1,
        *,
        touches: frozenset[str] = frozenset({side}),
        **more: object,
    ) -> FaultKind:
        return FaultKind(f"{side}: {name}", "network", act, weight, touches=touches, **more)  # type: ignore[arg-type]

    far = Trouble("300 ms", lambda lines: lines.each(lambda proxy: proxy.delay(0.3)))
    found = [
        kind("cut", injections.troubled(side, MOMENT), 2, seconds=(0.2, 3.0)),
        kind("cut > transaction", injections.troubled(side, MOMENT), 1, seconds=_LONGER_THAN_A_TRANSACTION),
        kind("reset", injections.troubled(side, RESET), 3),
        kind("torn frame", injections.torn(side), 1, touches=_ALL),  # waits for records in flight
        kind("300 ms", injections.troubled(side, far), 1, seconds=(2.0, 5.0)),
        kind("1 MB/s, 3 MB", injections.thin(side), 1, seconds=(1.0, 2.0), touches=_ALL),
    ]
    found += [
        kind(
            f"{way} {'late' if late else 'lost'}",
            injections.troubled(side, dead(way, late=late)),
            seconds=(1.0, 5.0),
        )
        for way in ("requests", "answers")
        for late in (True, False)
    ]
    if brokers > 1:
        found.append(kind("one line cut", injections.one_line_cut(side), 2, seconds=(1.0, 6.0)))
    if side == "destination":
        asks = frozenset({side, "mirror"})  # they wait for a commit, and a suspended worker sends none
        found.append(kind("commit response lost", injections.commit_response_lost, 3, touches=asks))
        found.append(kind("commit late", injections.commit_late, 2, seconds=(1.0, 4.0), touches=asks))
    return found


def _data_kinds() -> list[FaultKind]:
    """With policies that continue. No other fault at the same time if the mirror is suspended or cut off."""

    def kind(what: str, when: losses.When, act: Injection) -> FaultKind:
        touches = _ALL if when in ("held", "cut off") else frozenset({"mirror", "source"})
        return FaultKind(
            f"source: {what}, mirror {when}", "data", act, seconds=(0.0, 2.0), touches=touches,
            crash=when in ("held", "down"), restarts=when == "down",
        )  # fmt: skip

    gone: tuple[losses.When, ...] = ("held", "cut off", "down")
    anew: tuple[losses.When, ...] = ("running", "held", "down")
    return [
        *(kind("records deleted", when, losses.removed(when)) for when in gone),
        *(kind("recreated shorter", when, losses.replaced(when, "shorter")) for when in anew),
        *(kind("recreated longer", when, losses.replaced(when, "longer")) for when in anew),
    ]


def _shortage_kinds() -> list[FaultKind]:
    sides: tuple[Side, ...] = get_args(Side)
    return [
        *(
            FaultKind(f"{side}: quota", "quotas", shortages.throttled(side), seconds=(2.0, 6.0))
            for side in sides
        ),
        FaultKind("files gone", "files", shortages.files_gone, seconds=_SOME, crash=True),
        FaultKind("files gone at start", "files", shortages.started_without_files, crash=True, restarts=True),
        FaultKind(
            "scratch gone", "files", shortages.scratch_gone, seconds=_SOME, touches=_MIRROR, crash=True
        ),
    ]


def kinds(three: Side, families: Collection[Family] = FAMILIES) -> list[FaultKind]:
    """Every kind of fault, for this side with three brokers and the other one with one."""
    one: Side = "source" if three == "destination" else "destination"
    found = [
        *_process_kinds(),
        *_broker_kinds(three, 3), *_broker_kinds(one, 1),
        *_network_kinds(three, 3), *_network_kinds(one, 1),
        FaultKind("source: one more partition", "topics", injections.grown, 1),
        *_data_kinds(), *_shortage_kinds(),
    ]  # fmt: skip
    return [kind for kind in found if kind.family in families]
