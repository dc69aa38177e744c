"""`causeway.adopt`: take over destinations that another tool has been writing to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, get_args

from causeway.adoption.adopt import Adoption, AdoptionRow
from causeway.adoption.handoff_advice import window_to_try
from causeway.adoption.resume_hints import AdoptOptions, Origin
from causeway.adoption.rules.advice import LARGEST_WINDOW
from causeway.api.adopt_pools import adopt_pools, refuse_nodes, write_each
from causeway.api.arguments import Config, check_callable, names_of, settings_of
from causeway.core.adopt_report import AdoptReport, MirrorHandoffs, PartitionHandoff, PoolAdoptionReport
from causeway.core.plural import counted
from causeway.errors import IntegrityError, PlanRefused, UsageError
from causeway.planning.clusters import chosen

SMALLEST_WINDOW = 10
Compared = Literal["key-and-value", "value"]


def adopt(  # noqa: PLR0913 - the options of the command
    config: Config,
    *,
    origin: Origin | Literal["pool"],
    group: str = "",
    at: datetime | None = None,
    window: int = 1_000,
    compare: Compared = "key-and-value",
    accept: Literal["repeat", "lose"] | None = None,
    unchecked: bool = False,
    mirrors: Iterable[str] | str | None = None,
    dry_run: bool = False,
    on_found: Callable[[MirrorHandoffs], object] | None = None,
    on_compared: Callable[[PoolAdoptionReport], object] | None = None,
    confirm: Callable[[AdoptReport], bool] | None = None,
    on_step: Callable[[str], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> AdoptReport:
    """Find where the old tool stopped, and write the mirrors' first positions.

    `origin` says where to search first: the old tool's `group`, the ends of the destination, or the timestamp
    `at`. With `dry_run` nothing is written, and partitions that cannot be taken over are in the report
    (`refused`). Otherwise they raise IntegrityError, and nothing is written; `accept` and `unchecked` take
    them over at a cost. `on_found` gets each mirror's handoffs when they are found; `confirm` gets all before
    they are written, and nothing is written if it returns False.

    With the origin "pool" mirrors of one cluster become mirrors of the source pool that their configuration
    names now. The other nodes are compared with that cluster; `on_compared` gets the result for each pool. A
    node that differs raises IntegrityError, and nothing is written.
    """
    for name, callback in (
        ("on_found", on_found), ("on_compared", on_compared), ("confirm", confirm), ("on_step", on_step),
        ("on_progress", on_progress),
    ):  # fmt: skip
        check_callable(name, callback)
    names = names_of(mirrors)
    if origin == "pool":
        if group or at is not None or accept or unchecked or (window, compare) != (1_000, "key-and-value"):
            raise UsageError("origin = 'pool' takes no group, time, window, or way to compare or accept")
        return adopt_pools(settings_of(config), names, dry_run, on_compared, confirm, on_step, on_progress)
    request = _request(origin, group, at, window, compare, accept, unchecked)
    settings = settings_of(config)
    adoptions = [Adoption(settings, mirror, request) for mirror in chosen(settings, names)]
    found: list[MirrorHandoffs] = []
    for adoption in adoptions:
        adoption.search(on_step or _ignore, on_progress or _ignore)
        found.append(_handoffs(adoption))
        if on_found is not None:
            on_found(found[-1])
    report = AdoptReport(tuple(found), written=False)
    if not report.partitions:
        raise PlanRefused(
            "there is nothing to adopt: no destination topic holds records",
            todo="`causeway run` begins there",
        )
    if dry_run:
        return report
    raise_if_refused(report)
    if confirm is not None and not confirm(report):
        return report
    write_each(adoption for adoption in adoptions if adoption.rows)
    return AdoptReport(tuple(found), written=True)


def raise_if_refused(report: AdoptReport) -> None:
    """Raise IntegrityError if partitions or nodes cannot be taken over as they are."""
    refuse_nodes(report)
    for mirror in report.mirrors:
        if mirror.refused:
            # An "unexpected" handoff may be due to another partition's records: name that partition first.
            named = min(mirror.refused, key=lambda partition: partition.verdict == "unexpected")
            wider = mirror.window_to_try
            search_further = f"search further: --window {wider}; or " if wider else ""
            refused, every = len(mirror.refused), len(mirror.partitions)
            raise IntegrityError(
                f"{refused} of {counted(every, 'partition')} cannot be taken over as they are;"
                f" {named.source}: {named.what}",
                where=f'mirror "{mirror.mirror}"',
                why="nothing was written",
                todo=f"{search_further}{named.todo}",
            )


def _request(
    origin: Origin,
    group: str,
    at: datetime | None,
    window: int,
    compare: Compared,
    accept: Literal["repeat", "lose"] | None,
    unchecked: bool,
) -> AdoptOptions:
    for name, value, values in (
        ("origin", origin, (*get_args(Origin), "pool")),
        ("compare", compare, get_args(Compared)),
        ("accept", accept, ("repeat", "lose", None)),
    ):
        if value not in values:
            raise UsageError(f"{name} is {value!r}: must be one of {', '.join(map(repr, values))}")
    if at is not None and not isinstance(at, datetime):
        raise TypeError(f"at must be a datetime, not {type(at).__name__}")
    if (at is not None) != (origin == "timestamp"):
        raise UsageError("origin = 'timestamp' needs `at`, and no other origin does")
    if group and origin != "group":
        raise UsageError("`group` belongs to origin = 'group'")
    if not SMALLEST_WINDOW <= window <= LARGEST_WINDOW:
        raise UsageError(f"window is {window}: must be from {SMALLEST_WINDOW} to {LARGEST_WINDOW} records")
    # UTC unless the timestamp has an offset, as in the configuration.
    moment = at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
    return AdoptOptions(
        origin=origin,
        group=group,
        at=int(moment.timestamp() * 1000) if moment is not None else 0,
        window=window,
        values_only=compare == "value",
        accept=accept or "",
        unchecked=unchecked,
    )


def _handoffs(adoption: Adoption) -> MirrorHandoffs:
    refused = [row.result for row in adoption.rows if row.offset is None]
    return MirrorHandoffs(
        mirror=adoption.mirror.name,
        sources=tuple(adoption.mirror.source),
        destination=adoption.mirror.destination,
        partitions=tuple(_handoff(row) for row in adoption.rows),
        empty_topics=tuple(adoption.empty_topics),
        window_to_try=window_to_try(refused) if refused else 0,
    )


def _handoff(row: AdoptionRow) -> PartitionHandoff:
    handoff = row.result.handoff
    return PartitionHandoff(
        cluster=row.lane.source.cluster,
        topic=row.lane.source.topic,
        partition=row.lane.source.partition,
        to_topic=row.lane.place.topic,
        to_partition=row.lane.place.partition,
        hint=row.hint.origin_text,
        hint_offset=row.hint.offset,
        offset=row.offset,
        verdict=handoff.verdict,
        what=handoff.what,
        todo=handoff.todo,
        compared=sum(len(tail.digests) for tail in row.result.tails),
        unchecked=row.unchecked,
        twice=row.twice,
        lost=row.lost,
    )


def _ignore(*_: object) -> None:
    """Without a callback."""
