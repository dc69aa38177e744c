"""kaf-relay's topics and partitions, from its file and its flags."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from causeway.compat.kaf_relay.config import Options, translate
from support.kaf_relay import BEFORE, PLAIN, mirror, notes, settings


@pytest.mark.parametrize(
    ("table", "flags", "wanted"),
    [
        ({"a": "b"}, (), [("a", "b", None)]),
        ({"a": "a"}, (), [("a", "a", None)]),
        ({"a": "b:0"}, (), [("a", "b", 0)]),
        ([{"a": "b:3"}, {"c.d": "e"}], (), [("a", "b", 3), ("c.d", "e", None)]),
        ({"a": "b:3"}, ("a:c",), [("a", "c", None)]),
        ({"a": "b"}, ("a:c:2", "d:e"), [("a", "c", 2), ("d", "e", None)]),
        ({"a": "b"}, ("a:c", "a:d"), [("a", "d", None)]),
        ({}, ("a:b",), [("a", "b", None)]),
    ],
)
def test_topics(table: object, flags: tuple[str, ...], wanted: list[tuple[str, str, int | None]]) -> None:
    relayed = translate({**tomllib.loads(PLAIN), "topics": table}, "", Options(topics=flags), Path())
    loaded = settings(relayed).mirrors[0]
    assert [
        (name, loaded.rename.get(name, name), loaded.partition_map.get(name)) for name in loaded.topics
    ] == wanted
    assert loaded.name == f"kaf-relay-{wanted[0][0]}"
    assert not loaded.merge


def test_topics_that_share_a_target() -> None:
    more = {"topics": {"orders": "all", "payments": "all", "rest": "rest"}}
    assert mirror(PLAIN, more)["merge"] is True
    assert (
        "topics.orders, topics.payments: share the topic all; each has its own positions, so a restart "
        "skips no record" in notes(PLAIN, more)
    )


@pytest.mark.parametrize(
    ("table", "flags", "problem"),
    [
        ({}, (), 'topics: missing, for example [topics] source = "target", or --topic source:target'),
        ("x", (), 'topics: must be a table of source = "target"'),
        ([1], (), 'topics: must be a table of source = "target"'),
        ({"a": 1}, (), 'topics.a: must be "target" or "target:partition" (quote a name that has dots)'),
        ({"a": {"b": "c"}}, (),
         'topics.a: must be "target" or "target:partition" (quote a name that has dots)'),
        ({"a": "b:1:2"}, (), 'topics.a: must be "target" or "target:partition"'),
        ({"a": "b:x"}, (), 'topics.a: must name a partition from 0 on, not "x"'),
        ({"a": "b:-1"}, (), 'topics.a: must name a partition from 0 on, not "-1"'),
        ({"a": ""}, (), 'topics.a: must be a topic name: 1 to 249 letters, digits, dots, hyphens and '
                        'underscores, not ""'),
        ({"a b": "c"}, (), 'topics.a b: must be a topic name: 1 to 249 letters, digits, dots, hyphens and '
                           'underscores, not "a b"'),
        ({"a": "b"}, ("x",), "--topic x: must be source:target or source:target:partition"),
        ({"a": "b"}, ("x:y:1:2",), "--topic x:y:1:2: must be source:target or source:target:partition"),
        ({"a": "b"}, ("x:y:z",), '--topic x:y:z: must name a partition from 0 on, not "z"'),
        ({"a": "b"}, (":y",), '--topic :y: must be a topic name: 1 to 249 letters, digits, dots, hyphens and '
                              'underscores, not ""'),
    ],
)  # fmt: skip
def test_invalid_topics(table: object, flags: tuple[str, ...], problem: str) -> None:
    relayed = translate(
        {**tomllib.loads(PLAIN), "topics": table}, "config.toml", Options(topics=flags), Path()
    )
    assert relayed.problems == [problem]


@pytest.mark.parametrize(
    ("topics", "partitioning", "wanted"),
    [
        ({"a": "a"}, {"a": [{"src": 0, "dest": 1}]}, {"a": ((0, 1),)}),
        ({"a": "a"}, {"a": [[0, 1], [1, 0]]}, {"a": ((0, 1), (1, 0))}),
        ({"a": "a"}, {"a": 2}, {"a": 2}),
        ({"a": "b"}, {"b": 2}, {"a": 2}),  # by the target's name, as in the tool's code
        ({"a": "b"}, {"a": 2}, {}),  # not by the source's name, as in its sample
        ({"a": "c", "b": "c"}, {"c": 2}, {"a": 2, "b": 2}),
        ({"a": "b", "c": "d:1"}, {"b": 0}, {"a": 0, "c": 1}),
    ],
)
def test_partitions(topics: object, partitioning: object, wanted: dict[str, object]) -> None:
    tree = {**tomllib.loads(BEFORE), "topics": topics}
    tree["producer"]["partitioning"] = partitioning
    relayed = translate(tree, "config.toml", Options(), Path())
    assert settings(relayed).mirrors[0].partition_map == wanted


PAIRS = "must be a partition, or a list of { src = …, dest = … }"


@pytest.mark.parametrize(
    ("topics", "partitioning", "problem"),
    [
        ({"a": "a"}, 1, "producer.partitioning: must be a table"),
        ({"a": "a"}, {"b": 1}, "producer.partitioning.b: is not a topic of [topics]"),
        ({"a": "a"}, {"a": -1}, f"producer.partitioning.a: {PAIRS}"),
        ({"a": "a"}, {"a": [{"src": 0}]}, f"producer.partitioning.a: {PAIRS}"),
        ({"a": "a"}, {"a": [[0, 1], [0, 2]]}, "producer.partitioning.a: names source partition 0 twice"),
        ({"a": "a:1"}, {"a": 1}, "producer.partitioning.a: topic a has its partition already"),
        ({"a": "b", "c": "a"}, {"a": 1},
         "producer.partitioning.a: is a source topic and the target of another: write the partitions into "
         "[topics] instead"),
    ],
)  # fmt: skip
def test_invalid_partitions(topics: object, partitioning: object, problem: str) -> None:
    tree = {**tomllib.loads(BEFORE), "topics": topics}
    tree["producer"]["partitioning"] = partitioning
    assert translate(tree, "config.toml", Options(), Path()).problems == [problem]
