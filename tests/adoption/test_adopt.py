"""Takeover from another tool, in the middle of a topic: no record is lost or duplicated.

The old tools are plain loops, with the properties that matter: what they commit, and when; where they put
records; what they keep of them.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from causeway.adoption.adopt import Adoption
from causeway.adoption.resume_hints import AdoptOptions
from causeway.config import load
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterRecord
from causeway.core.handoff import Handoff
from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.range_reader import last_records
from causeway.planning.clusters import limits_of
from support.old_tool import (
    RECORDS,
    OldTool,
    adopt,
    assert_taken_over,
    begins,
    by_fnv1a,
    by_murmur2,
    copied_topic,
    fill,
    same,
)
from support.process import eventually
from support.records import Rec
from support.terminal import in_terminal
from support.typed import causeway
from support.verifying import run_verify
from support.world import World, now_ms


def test_takeover_from_four_tools_in_the_middle_of_a_topic(world: World) -> None:
    """Kafka Topic Mirror commits late; Go MirrorMaker and Kafka REO before records are where they belong;
    kaf-relay commits nothing. Each puts records somewhere else, and most forget timestamps and headers.
    """
    ktm, relay, gomm, reo = (
        world.topic(name, partitions)
        for name, partitions in (("ktm", 3), ("relay", 2), ("gomm", 2), ("reo", 2))
    )
    fresh = world.topic("relay-fresh", 1)
    for suffix, partitions in (("ktm-out", 4), ("relay", 2), ("gomm-out", 2), ("reo-out", 3)):
        world.topic(suffix, partitions, on="destination")
    more = [(ktm, 3, True), (relay, 2, True), (gomm, 2, True), (reo, 2, False)]
    for topic, partitions, nulls in [*more, (fresh, 1, True)]:
        fill(world, topic, partitions, nulls=nulls)
    old = OldTool(world, ktm, f"{ktm}-out")
    old.copy([251, 190, 222], by_fnv1a(4), timestamps=True)
    old.commit(f"{ktm}-group", [240, 170, 222])
    OldTool(world, relay, relay).copy([300, 131], lambda number, _: 1 - number)
    old = OldTool(world, gomm, f"{gomm}-out")
    old.copy([200, 5], same)
    old.commit(f"{gomm}-group", [250, 40])
    old = OldTool(world, reo, f"{reo}-out")
    old.copy([177, 203], by_murmur2(3), transactions=True)
    old.commit(f"{reo}-group", [200, 203])
    swapped = [{"src": 0, "dest": 1}, {"src": 1, "dest": 0}]
    by_key = {"suffix": "-out", "partitions": "by-key"}
    config = world.mirrors(
        {
            **by_key,
            "topics": ktm,
            "partitioner": "fnv1a",
            "source_group_name": f"{ktm}-group",
            "start": "latest",
        },
        {"topics": f"{world.mirror}\\.relay.*", "partition_map": {relay: swapped}},
        {"topics": gomm, "suffix": "-out"},
        {**by_key, "topics": reo, "partitioner": "murmur2", "source_group_name": f"{reo}-group"},
    )
    names = [world.mirror, *(f"{world.mirror}-{n}" for n in (1, 2, 3))]

    refused = world.run(config, "--stop-at-end")
    assert refused.wait() == 6, refused.output
    assert "causeway adopt CONFIG --from group|destination-end|timestamp" in refused.output

    groups = ("--from", "group", "--mirror", names[0], "--mirror", names[3])
    shown = adopt(config, *groups, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert f"{ktm}[0]: committed 240; starts at 251: " in shown.stdout
    assert f"{reo}[0]: committed 200; starts at 177: " in shown.stdout
    assert "whether the old tool duplicated or lost records" in shown.stdout
    assert not world.ledger().positions
    assert not world.ledger().adopted

    relays = ("--from", "destination-end", "--mirror", names[1])
    for arguments in (groups, relays, ("--from", "group", "--group", f"{gomm}-group", "--mirror", names[2])):
        done = adopt(config, *arguments, "--yes")
        assert done.returncode == 0, done.stderr
        assert (f"{fresh}: nothing to adopt" in done.stdout) is (arguments is relays)
    assert [begins(world, name) for name in names] == [
        {(ktm, 0): 251, (ktm, 1): 190, (ktm, 2): 222},
        {(relay, 0): 300, (relay, 1): 131},
        {(gomm, 0): 200, (gomm, 1): 5},
        {(reo, 0): 177, (reo, 1): 203},
    ]
    (record,) = world.ledger(names[2]).adopted.values()
    assert (record.hint, record.accepted, record.unchecked) == (f"group {gomm}-group", "", {})
    assert record.ends == {f"{gomm}-out[0]": 200, f"{gomm}-out[1]": 5}
    assert "@" in record.by

    for topic, partitions, nulls in more:
        fill(world, topic, partitions, start=RECORDS, count=50, nulls=nulls)
    world.carry_all(config)
    assert_taken_over(world, relay, relay)
    for topic in (ktm, gomm, reo):
        assert_taken_over(world, topic, f"{topic}-out")
    assert len(world.read(fresh)[0]) == RECORDS
    verified = run_verify(config)
    assert verified.exit_code == 0, verified.stdout + verified.stderr

    for arguments in (groups, relays):
        again = adopt(config, *arguments, "--yes")
        assert again.returncode == 6, again.stderr
        assert "adopting twice is refused" in again.stderr


def test_an_unclean_handoff_is_refused_and_the_operator_may_choose(world: World) -> None:
    """Records are missing in the middle; the acceptance is recorded, and not requested twice."""
    torn, old = copied_topic(world, "incomplete", [150])
    later = [(0, Rec(rec.key, rec.value, (), now_ms())) for rec in old.records[0][153:160]]
    world.produce(torn, later, on="destination")
    clean, _ = copied_topic(world, "clean", [100])
    config = world.config()
    arguments = (config, "--from", "destination-end")

    refused = adopt(*arguments, "--yes")
    assert refused.returncode == 6, refused.stderr
    assert (
        "missing on the destination: 3 records from offset 150 on; later ones that it has: 7"
        in refused.stderr
    )
    assert "--accept repeat starts at offset 150" in refused.stderr
    assert "--accept lose starts at offset 160" in refused.stderr
    assert adopt(*arguments, "--unchecked", "--yes").returncode == 6, (
        "an incomplete handoff is not an unknown one"
    )
    assert not world.ledger().positions

    done = adopt(*arguments, "--accept", "repeat", "--yes")
    assert done.returncode == 0, done.stderr
    assert begins(world) == {(torn, 0): 150, (clean, 0): 100}
    (record,) = world.ledger().adopted.values()
    assert record.accepted == "repeat"
    places = {source.topic: at.place_start for source, at in world.ledger().positions.items()}
    assert places == {torn: 157, clean: 100}


def test_other_contents_are_refused_without_unchecked(world: World) -> None:
    """Keys were replaced: by value they are found. Values were replaced: nothing is."""
    keys, values = world.topic("keys", 1), world.topic("values", 1)
    for topic in (keys, values):
        world.topic(topic.rpartition(".")[2], 1, on="destination")
        fill(world, topic, 1)
    here = world.read(keys, "source")[0]
    other = [(0, Rec(b"0", rec.value or b"", (), now_ms())) for rec in here[:120] if rec.value]
    world.produce(keys, other, on="destination")
    world.produce(values, world.numbers(90), on="destination")
    at = ("--from", "timestamp", "--at", "2001-01-01T00:00:00Z", "--window", "200")
    config = world.config([keys])

    refused = adopt(config, *at, "--yes")
    assert refused.returncode == 6, refused.stderr
    assert "the handoff cannot be confirmed" in refused.stderr
    torn = adopt(config, *at, "--compare", "value", "--yes")
    assert "missing on the destination: " in torn.stderr, "records without a value were left out"
    done = adopt(config, *at, "--compare", "value", "--accept", "lose", "--yes")
    assert done.returncode == 0, done.stderr
    assert begins(world) == {(keys, 0): 120}

    config = world.config([values])
    assert adopt(config, *at, "--accept", "lose", "--yes").returncode == 6
    done = adopt(config, *at, "--unchecked", "--yes")
    assert done.returncode == 0, done.stderr
    assert begins(world) == {(keys, 0): 120, (values, 0): 0}
    assert [record.unchecked for record in world.ledger().adopted.values()] == [{}, {f"{values}[0]": 0}]


def test_adopt_is_refused_while_the_old_tool_runs(world: World) -> None:
    """A member of its group; new records during the comparison; a transaction that is still open."""
    topic, old = copied_topic(world, "t", [100, 110])
    group = f"{topic}-group"
    old.commit(group, [100, 110])
    config = world.config(source_group_name=group)
    settings = load(config, [])
    member = Consumer(
        {"bootstrap.servers": world.servers["source"], "group.id": group, "client.id": "old-one"}
    )
    member.subscribe([topic])
    eventually(lambda: (member.poll(0.1), member.assignment())[1], "it has joined the group")

    refused = adopt(config, "--from", "group", "--yes")
    assert refused.returncode == 3, refused.stderr
    assert "has live members: old-one on " in refused.stderr
    assert "stop the old tool first" in refused.stderr
    member.close()

    adoption = Adoption(settings, settings.mirrors[0], AdoptOptions("group"))
    adoption.search()
    world.produce(topic, world.numbers(1, 2), on="destination")
    with pytest.raises(IntegrityError, match="something still writes to"):
        adoption.write()
    assert not world.ledger().positions

    producer = Producer({"bootstrap.servers": world.servers["destination"], "transactional.id": group})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(10)
    with pytest.raises(IntegrityError, match=r"a transaction is open in .*\[0\], from offset 101"):
        adoption.search()
    producer.abort_transaction(10)


def test_adopt_is_refused_while_the_mirror_runs(world: World) -> None:
    """It has replicated nothing yet, so only its heartbeat shows that it runs."""
    copied_topic(world, "t", [100])
    config = world.config(heartbeat="10s")  # a busy machine takes seconds to start the command
    mirror = load(config, []).mirrors[0]
    cluster = Cluster("dst", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 1, None)
    control = Control(cluster, world.mirror, mirror.delivery, limits_of(mirror))
    control.acquire("")
    control.heartbeat(1)
    control.close()

    refused = adopt(config, "--from", "destination-end", "--yes")

    assert refused.returncode == 6, refused.stderr
    assert f"the mirror is running on {socket.gethostname()} (process {os.getpid()})" in refused.stderr
    assert not world.ledger().positions


def test_the_last_records_are_found_among_markers_and_in_many_partitions(world: World) -> None:
    """A tool that writes in small transactions leaves half of the offsets without a record."""
    topic, wide = world.topic("t", 1, on="destination"), world.topic("wide", 60, on="destination")
    servers = {"bootstrap.servers": world.servers["destination"]}
    producer = Producer({**servers, "transactional.id": topic})
    producer.init_transactions(10)
    for n in range(30):
        producer.begin_transaction()
        producer.produce(topic, f"{n}".encode(), partition=0)
        producer.commit_transaction(10)
    world.produce(wide, world.numbers(180, 60), on="destination")
    view = ClusterView(Cluster("dst", servers))

    def value(record: FilterRecord) -> bytes:
        return (record.value or b"").rstrip(b".")

    (ending,) = last_records(view, [(topic, 0)], 20, value).values()
    assert list(ending.seen) == [f"{n}".encode() for n in range(10, 30)]
    assert (ending.begin, ending.end) == (20, 60)
    every = last_records(view, [(wide, n) for n in range(60)], 2, value)
    assert {n: list(tail.seen) for (_, n), tail in every.items()} == {
        n: [f"{n + 60}".encode(), f"{n + 120}".encode()] for n in range(60)
    }


def handoffs(world: World, config: Path, options: AdoptOptions) -> dict[tuple[str, int], Handoff]:
    settings = load(config, [])
    adoption = Adoption(settings, settings.mirrors[0], options)
    adoption.search()
    return {(row.lane.source.topic, row.lane.source.partition): row.result.handoff for row in adoption.rows}


def test_transactions_retention_and_filters_do_not_hide_the_handoff(world: World) -> None:
    """Aborted records were copied or not; the beginning expired; a filter dropped some."""
    aborted, committed = world.topic("aborted", 1), world.topic("committed", 1)
    for topic in (aborted, committed):
        world.topic(topic.rpartition(".")[2], 1, on="destination")
        world.produce(topic, world.numbers(50), transaction="commit")
        world.produce(topic, world.numbers(20, 1, 1_000), transaction="abort")
        world.produce(topic, world.numbers(50, 1, 50), transaction="commit")
    # The first tool reads what is not committed, as most do, and stops at a record that was aborted.
    world.produce(aborted, [*world.numbers(50), *world.numbers(12, 1, 1_000)], on="destination")
    world.produce(committed, world.numbers(70), on="destination", transaction="commit")
    expired, _ = copied_topic(world, "expired", [200])
    world.delete_records(expired, 0, 180)
    results = handoffs(world, world.config(), AdoptOptions("destination-end", window=100))
    assert {key: (handoff.verdict, handoff.repeat_from) for key, handoff in results.items()} == {
        (aborted, 0): ("clean", 63),  # one marker is before it
        (committed, 0): ("clean", 92),  # and two here, and the aborted records
        (expired, 0): ("clean", 200),
    }

    filtered = world.topic("filtered", 1)
    world.topic("filtered", 1, on="destination")
    fill(world, filtered, 1)
    kept = [rec for rec in world.read(filtered, "source")[0][:200] if rec.value is not None]
    world.produce(filtered, [(0, rec) for rec in kept], on="destination")
    file = world.directory / "keep.py"
    file.write_text(
        "class Filter:\n"
        "    def __init__(self, config): pass\n"
        "    def keep(self, record): return record.value is not None\n"
    )
    config = world.config([filtered], filters=[{"filter": str(file)}])
    (handoff,) = handoffs(world, config, AdoptOptions("destination-end", window=100)).values()
    assert (handoff.verdict, handoff.repeat_from) == ("clean", 200)


def test_a_terminal_shows_a_table_and_asks(world: World) -> None:
    topic, old = copied_topic(world, "t", [100, 0])
    old.commit(f"{topic}-group", [90, 0])
    config = world.config(source_group_name=f"{topic}-group")

    code, shown = in_terminal("adopt", config, "--from", "group", answer=b"n\n")
    assert code == 2, shown
    assert re.search(r"partition +destination +hint +handoff +compared +verdict", shown)
    assert re.search(rf"{re.escape(topic)}\[0\] +{re.escape(topic)}\[0\] +90 \(committed\) +100 +100 ", shown)
    assert "nothing was written" in shown
    assert not world.ledger().positions

    code, shown = in_terminal("adopt", config, "--from", "group", answer=b"y\n")
    assert code == 0, shown
    assert begins(world) == {(topic, 0): 100, (topic, 1): 0}


def test_hints_that_cannot_give_a_position_are_refused(world: World) -> None:
    """Ends of shared partitions, a group without commits, a destination without records."""
    mixed = world.topic("mixed", 2)
    world.topic("mixed", 2, on="destination")
    fill(world, mixed, 2, count=20)
    config = world.config([mixed], partitions="by-key")
    nothing = adopt(config, "--from", "destination-end", "--yes")
    assert (nothing.returncode, "there is nothing to adopt" in nothing.stderr) == (3, True), nothing.stderr
    OldTool(world, mixed, mixed).copy([10, 10], same, timestamps=True)
    ends = adopt(config, "--from", "destination-end", "--yes")
    assert (ends.returncode, "share destination partitions" in ends.stderr) == (3, True), ends.stderr
    group = adopt(config, "--from", "group", "--group", f"{mixed}-unused", "--yes")
    assert (group.returncode, "has no committed offsets" in group.stderr) == (3, True), group.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "--from"),
        (("--from", "zookeeper"), "zookeeper"),
        (("--from", "timestamp"), "--from timestamp needs --at"),
        (("--from", "group", "--at", "2026-01-31"), "--from timestamp needs --at"),
        (("--from", "timestamp", "--at", "yesterday"), "must be a timestamp such as"),
        (("--from", "destination-end", "--group", "g"), "--group belongs to --from group"),
        (("--from", "group", "--window", "0"), "--window 0"),
        (("--from", "group", "--accept", "all"), "all"),
        (("--from", "group"), "cannot ask for confirmation without a terminal"),
        (("--from", "group", "--mirror", "unknown", "--yes"), "no mirror is named unknown"),
    ],
)
def test_bad_arguments_are_usage_errors(tmp_path: Path, arguments: Sequence[str], text: str) -> None:
    config = tmp_path / "mirror.toml"
    config.write_text(
        '[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:1"\n'
        '[[mirrors]]\nname = "m"\nsource = "a"\ndestination = "b"\ntopics = ["t"]\n'
    )
    ended = causeway("adopt", config, *arguments)
    assert ended.returncode == 2, ended.stderr
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr
