"""Which offsets are compared with which, and how they are labelled."""

from __future__ import annotations

from dataclasses import replace

from causeway.core.pair import Pair
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.verification.rules.pairing import Bounds, pair_of

SOURCE = SourcePartition("cluster", "orders", 2)
POSITION = Position(
    source=SOURCE,
    topic_id="here",
    start=10,
    offset=50,
    epoch=3,
    place=Place("orders", "there", 2),
    place_start=5,
    place_end=45,
    generation=1,
    at=0,
)
BOUNDS = Bounds("here", 10, 60, "there", 5, 48, 70)


def pair(position: Position | None = POSITION, bounds: Bounds = BOUNDS, stopped: str = "") -> Pair:
    return pair_of(SOURCE, position, bounds, compacted=False, timestamps=True, stopped=stopped)


def test_both_sides_are_read_from_the_mirrors_start_to_what_was_replicated_meanwhile() -> None:
    made = pair()

    assert (made.source_from, made.position, made.end, made.source_to) == (10, 50, 60, 70)
    assert (made.place, made.place_from, made.place_to) == (POSITION.place, 5, 48)
    assert (made.source_trimmed, made.place_trimmed, made.notes) == (False, False, ())


def test_a_partition_without_a_position_is_required_up_to_the_captured_end() -> None:
    made = pair(position=None)

    assert (made.source_from, made.position, made.end, made.place) == (10, 60, 60, None)
    assert made.notes == ("never replicated",)


def test_an_empty_partition_without_a_position_has_no_notes() -> None:
    assert pair(position=None, bounds=replace(BOUNDS, log_start=60)).notes == ()


def test_a_recreated_source_topic_was_never_replicated() -> None:
    made = pair(bounds=replace(BOUNDS, topic_id="another"))

    assert (made.place, made.position) == (None, 60)
    assert "created again" in made.notes[0]


def test_a_deleted_destination_topic_leaves_nothing_to_compare_with() -> None:
    made = pair(bounds=replace(BOUNDS, place_topic_id=None))

    assert (made.place, made.position, made.end) == (None, 50, 60)
    assert "does not exist" in made.notes[0]


def test_a_recreated_destination_topic_is_read_from_its_start() -> None:
    made = pair(bounds=replace(BOUNDS, place_topic_id="another", place_log_start=0))

    assert (made.place_from, made.place_trimmed) == (0, False)
    assert "created again" in made.notes[0]


def test_a_configured_start_is_distinguished_from_retention() -> None:
    late = pair(bounds=replace(BOUNDS, log_start=4))
    trimmed = pair(bounds=replace(BOUNDS, log_start=30, place_log_start=20))
    lost = pair(bounds=replace(BOUNDS, log_start=55))

    assert late.notes == (
        "the mirror was configured to start at offset 10: 6 offsets before it are not compared",
    )
    assert (late.source_from, late.source_trimmed) == (10, False)
    assert (trimmed.source_from, trimmed.source_trimmed) == (30, True)
    assert (trimmed.place_from, trimmed.place_trimmed) == (20, True)
    assert lost.notes == ("source offsets 50 to 54 (5) expired before replication",)


def test_ends_that_contradict_the_ledger_are_noted() -> None:
    truncated = pair(bounds=replace(BOUNDS, end=40, now=40))
    held_back = pair(bounds=replace(BOUNDS, place_end=30))

    assert truncated.notes == ("the source log ends at offset 40, but was replicated up to 50",)
    assert "read up to offset 30, but was written up to 45" in held_back.notes[0]


def test_filtered_records_and_stops_are_noted() -> None:
    made = pair(replace(POSITION, tally=Tally(filtered=3)), stopped="the topic was truncated")

    assert made.ledger_counts == {"filtered": 3}
    assert made.notes == ("stopped: the topic was truncated",)


def test_a_pair_survives_json() -> None:
    for made in (pair(), pair(position=None), pair(stopped="why")):
        assert Pair.from_json(made.to_json()) == made
