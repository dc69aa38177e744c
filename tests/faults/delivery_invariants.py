"""I1–I6: every record, once, in order, in its place, bit for bit. Decided from records alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from faults.content import differences
from faults.events import Damage, Drained, Fault
from faults.exemptions import Exemptions, compacted_away
from faults.history import History
from faults.invariant_result import Anomaly, InvariantResult, decide
from faults.trace import Arrival, Log, Original, Trace


def no_loss(history: History, traced: Trace, exempt: Exemptions) -> InvariantResult:
    """I1: what is visible on the source is on the destination, or the mirror reported that it is not."""
    broken: list[Anomaly] = []
    doubts = unread(history, traced)
    late = 0
    truncated = {
        Log(one.topic, one.topic_id, one.partition): one.offset
        for one in history.of(Damage)
        if (one.side, one.kind) == ("source", "truncated")
    }
    for log, originals in traced.originals.items():
        last = max((one.offset for one in originals if one in traced.first), default=-1)
        read = traced.drains.get(("source", log))
        for one in originals:
            if one in traced.first or one.offset < traced.start(log) or exempt.exemption(one):
                continue
            if compacted_away(traced, one):
                continue
            began, whole = _destination_read(traced, one)
            if not one.in_source and read and one.offset >= read.start and one.at <= read.began:
                if one.offset < truncated.get(log, one.offset + 1):
                    what = "it was acknowledged, and the source itself does not hold it any more"
                    broken.append(Anomaly("I1", "lost-in-source", str(one), what))
            elif began is None:
                continue  # already unknown
            elif not whole:
                doubts.append(f"{one} is not there, and the destination lost its own first records")
            elif one.at > began:
                late += 1
            elif one.offset < last:
                what = f"it is visible on the source, {log}@{last} after it arrived, and it did not"
                broken.append(Anomaly("I1", "lost", str(one), what))
            else:
                what = "it is visible on the source and did not arrive before the end"
                broken.append(Anomaly("I1", "unseen", str(one), what))
    for record in traced.unplaced:
        log = Log(record.topic, record.topic_id, record.partition)
        read = traced.drains.get(("source", log))
        if read and read.start == 0 and read.began >= record.at:
            what = "it was acknowledged, and the source does not hold it"
            broken.append(Anomaly("I1", "lost-in-source", f"{log} {record.token}", what))
        else:
            doubts.append(f"{log} {record.token} was acknowledged without an offset, and not read again")
    if late:
        doubts.append(f"{late} records were acknowledged after the destination was read")
    return decide("I1", broken, doubts)


def unread(history: History, traced: Trace) -> list[str]:
    """Partitions that were not read to their end: records that were not seen there may still be there."""
    doubts = [] if traced.routes else ["no route is known"]
    read: dict[Log, int] = {}  # when the last reading of a whole source partition began
    for drain in history.of(Drained):
        if drain.side == "source" and drain.start == 0:
            read[Log(drain.topic, drain.topic_id, drain.partition)] = drain.began
    open_fates: dict[Log, int] = defaultdict(int)
    for token, fate in traced.fates.items():
        record = traced.sent[token]
        log = Log(record.topic, record.topic_id, record.partition)
        if fate == "unknown" and read.get(log, -1) < record.at:
            open_fates[log] += 1
    doubts += [
        f"{count} records of {log} have an unknown outcome, and the whole source was not read after them"
        for log, count in open_fates.items()
    ]
    places = {place for side, place in traced.drains if side == "destination"}
    for log in traced.originals:
        route = traced.routes[log.topic]
        same = route.placement == "same"
        if not any(p.topic == route.to and (not same or p.partition == log.partition) for p in places):
            doubts.append(f"the destination of {log} was not read to its end")
    if not traced.originals:
        doubts.append("nothing is visible on the source")
    return doubts


def _destination_read(traced: Trace, one: Original) -> tuple[int | None, bool]:
    """When the last reading of its destination partition began (None: never), and whether all was there."""
    drains = [
        drain
        for (side, place), drain in traced.drains.items()
        if side == "destination" and traced.placed(one, place)
    ]
    return min((drain.began for drain in drains), default=None), all(drain.start == 0 for drain in drains)


def no_phantom(history: History, traced: Trace) -> InvariantResult:
    """I2: what is on the destination comes from the source, and is not what was aborted there."""
    broken = [
        Anomaly("I2", "inconsistent-offsets", f"{seen.topic}[{seen.partition}]@{seen.offset}",
                "two readings of the destination found different records there")
        for side, seen in traced.conflicts if side == "destination"
    ]  # fmt: skip
    doubts = not_read(traced)
    ours = {route.to for route in traced.routes.values()}
    for arrival in _arrivals(traced):
        if arrival.original is None and (arrival.place.topic in ours or arrival.token in traced.sent):
            if _may_have_been_there(history, traced, arrival):
                doubts.append(f"{arrival} may come from what the source does not show any more")
            else:
                broken.append(_stranger(traced, arrival))
    return decide("I2", broken, doubts)


def not_read(traced: Trace) -> list[str]:
    if not any(side == "destination" for side, _ in traced.drains):
        return ["the destination was not read to its end"]
    return [] if any(traced.arrivals.values()) else ["nothing arrived"]


def _may_have_been_there(history: History, traced: Trace, arrival: Arrival) -> bool:
    """Whether the source may have shown this record at a time when it was not read."""
    if traced.fates.get(arrival.token) == "hidden":
        return False
    topics = {route.topic for route in traced.routes.values() if route.to == arrival.place.topic}
    damaged = {one.topic for one in history.of(Damage) if one.side == "source"}
    read = {log.topic: drain for (side, log), drain in traced.drains.items() if side == "source"}
    return any(topic in damaged or topic not in read or read[topic].start > 0 for topic in topics)


def _stranger(traced: Trace, arrival: Arrival) -> Anomaly:
    record = traced.sent.get(arrival.token)
    if record is None:
        return Anomaly("I2", "phantom", str(arrival), "no record of the source is like it")
    fate, where = traced.fates[arrival.token], f"{record.topic}[{record.partition}] {record.token}"
    if fate == "hidden" and record.transaction:
        what = f"{where} was aborted with transaction {record.transaction}, and is at {arrival}"
        return Anomaly("I2", "aborted-delivered", str(arrival), what)
    return Anomaly(
        "I2", "phantom", str(arrival), f"{where} ({fate} to its producer) is not in the source, but here"
    )


def order(traced: Trace, exactly: bool) -> InvariantResult:
    """I3: records of a source partition arrive in its order; a replay goes back and leaves nothing out."""
    broken: list[Anomaly] = []
    for log, row in _rows(traced):
        ranks = {one: n for n, one in enumerate(one for one in traced.originals[log] if one in traced.first)}
        whole = traced.routes[log.topic].placement == "same"  # by key, a partition gets a part of them
        highest = previous = _of(row[0])
        replaying = False
        for arrival in row[1:]:
            one = _of(arrival)
            if arrival.occurrence == 1 and one.offset < highest.offset:
                what = f"it is at {arrival}, after {highest}, which is after it on the source"
                broken.append(Anomaly("I3", "out-of-order", str(one), what))
            later = replaying and previous is not highest
            if not exactly and whole and later and ranks[one] > ranks[previous] + 1:
                what = f"a replay went from {previous} to {one}, and left out what is between them"
                broken.append(Anomaly("I3", "broken-replay", str(one), what))
            previous, highest = one, max(one, highest, key=lambda o: o.offset)
            replaying = arrival.occurrence > 1
    return decide("I3", broken, not_read(traced))


def no_repeats(history: History, traced: Trace) -> InvariantResult:
    """I4: nothing arrives twice; at least once: one batch for each crash, in each partition."""
    terms = history.terms
    broken: list[Anomaly] = []
    allowed = sum(fault.crash for fault in history.of(Fault)) if terms.delivery == "at-least-once" else 0
    for _, row in _rows(traced):
        replays: list[list[Arrival]] = []
        in_replay = False
        for arrival in row:
            if arrival.occurrence > 1:
                begins = not in_replay or _of(arrival).offset <= _of(replays[-1][-1]).offset
                if begins:
                    replays.append([])
                replays[-1].append(arrival)
            in_replay = arrival.occurrence > 1
        for number, replay in enumerate(replays):
            too_much = replay if number >= allowed else replay[terms.replay :]
            for arrival in too_much:
                first = traced.first[_of(arrival)]
                what = f"it arrived at {first}, and again at {arrival}"
                broken.append(Anomaly("I4", "repeated", str(arrival.original), what))
    return decide("I4", broken, not_read(traced))


def placement(traced: Trace) -> InvariantResult:
    """I5: the route's topic and the record's partition; by key: one key, one partition."""
    broken: list[Anomaly] = []
    homes: dict[tuple[str, str, str], Arrival] = {}
    for arrival in _arrivals(traced):
        one = arrival.original
        if one is None:
            continue
        route = traced.routes[one.log.topic]
        if not traced.placed(one, arrival.place):
            to = route.to if route.placement == "key" else f"{route.to}[{one.log.partition}]"
            broken.append(Anomaly("I5", "misplaced", str(one), f"it belongs to {to} and is at {arrival}"))
        elif route.placement == "key" and one.content.key is not None:
            home = homes.setdefault((one.log.topic, one.log.topic_id, one.content.key), arrival)
            if home.place != arrival.place:
                what = f"it is at {arrival}, and {home.original} with the same key at {home}"
                broken.append(Anomaly("I5", "key-split", str(one), what))
    return decide("I5", broken, not_read(traced))


def fidelity(traced: Trace) -> InvariantResult:
    """I6: key, value, headers and timestamp are unchanged."""
    broken = [
        Anomaly("I6", f"{field}-changed", str(one), f"{one.content} became {arrival.content} at {arrival}")
        for arrival in _arrivals(traced)
        if (one := arrival.original) is not None
        for field in differences(one.content, arrival.content)
    ]
    return decide("I6", broken, not_read(traced))


def _arrivals(traced: Trace) -> Iterator[Arrival]:
    for row in traced.arrivals.values():
        yield from row


def _rows(traced: Trace) -> Iterator[tuple[Log, list[Arrival]]]:
    """What came from each source partition to each destination partition, in offset order."""
    for row in traced.arrivals.values():
        by_log: dict[Log, list[Arrival]] = defaultdict(list)
        for arrival in row:
            if arrival.original is not None:
                by_log[arrival.original.log].append(arrival)
        yield from by_log.items()


def _of(arrival: Arrival) -> Original:
    assert arrival.original is not None
    return arrival.original
