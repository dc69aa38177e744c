"""Headers are compared byte for byte; those that the client cannot parse do not count as equal."""

from __future__ import annotations

import uuid

import pytest

from causeway.core.cluster import Cluster
from causeway.core.pair import Pair
from causeway.core.position import Place, SourcePartition
from causeway.core.verify_report import Coordinates, Findings
from causeway.rules.header_names import MOST_HEADERS
from causeway.verification.comparison_job import compare_pair
from support import raw
from support.raw import Header, Raw
from support.world import World, now_ms

TOO_MANY = ((b"", b""),) * (MOST_HEADERS + 1)


def compared(
    world: World, source_headers: tuple[Header, ...], destination_headers: tuple[Header, ...]
) -> Findings:
    """Compare three records, the second of which has these headers on the two sides."""
    name, at = uuid.uuid4().hex, now_ms()
    topic = world.topic(name)
    world.topic(name, on="destination")
    for side, headers in (("source", source_headers), ("destination", destination_headers)):
        records = [Raw(b"k", b"0"), Raw(b"k", b"1", headers), Raw(b"k", b"2")]
        raw.produce(world.servers[side], topic, records, at)
    pair = Pair(SourcePartition("c", topic, 0), 0, 3, 3, 3, Place(topic, "id", 0), 0, 3, False, True)
    source, destination = (
        Cluster(side, {"bootstrap.servers": servers}) for side, servers in world.servers.items()
    )
    return compare_pair(pair, source, destination)


@pytest.mark.parametrize("name", [b"a\0b", b"\xff\xfe", b"\0"])
def test_equal_header_names_are_equal(world: World, name: bytes) -> None:
    assert compared(world, ((name, b"v"),), ((name, b"v"),)).equal


@pytest.mark.parametrize(
    ("source_headers", "destination_headers"), [(b"a\0b", b"a"), (b"a\0b", b"a\0c"), (b"\xff", b"\xfe")]
)
def test_header_names_that_differ_in_one_byte_are_not_equal(
    world: World, source_headers: bytes, destination_headers: bytes
) -> None:
    findings = compared(world, ((source_headers, b"v"),), ((destination_headers, b"v"),))
    assert findings.first["changed"] == (Coordinates(1, 1, ("headers",)),)


def test_headers_that_cannot_be_parsed_do_not_count_as_equal(world: World) -> None:
    findings = compared(world, TOO_MANY, TOO_MANY)
    assert not findings.equal
    assert {kind: count for kind, count in findings.counts.items() if count} == {"unreadable": 2}
    assert findings.first["unreadable"] == (Coordinates(1, None), Coordinates(None, 1))


def test_lost_headers_are_a_change(world: World) -> None:
    findings = compared(world, TOO_MANY, ())
    assert findings.counts["changed"] == findings.counts["unreadable"] == 1
    assert findings.first["changed"] == (Coordinates(1, 1, ("headers",)),)
