"""Times in Avro records: the bytes are those that an encoder of the merged schema would write."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from causeway.rules.avro import read_long, written
from causeway.rules.avro_timings import NotTimeable, TimedSchema

MAP = {"type": "map", "values": "long"}
LOGLINE = json.dumps(
    {
        "type": "record", "name": "LogLine", "namespace": "ly.stealth.kafka.metrics",
        "fields": [
            {"name": "line", "type": ["null", "string"], "default": None},
            {"name": "source", "type": ["null", "string"], "default": None},
            {"name": "tag", "type": ["null", {"type": "map", "values": "string"}], "default": None},
            {"name": "logtypeid", "type": ["null", "long"], "default": None},
            {"name": "timings", "type": ["null", MAP], "default": None},
        ],
    }
)  # fmt: skip
ADDED = ("line", "source", "tag", "logtypeid", "timings")


def encode(kind: Any, value: Any, types: dict[str, Any]) -> bytes:
    """A value as the specification has it. A union's value is its branch and the value inside."""
    if isinstance(kind, list):
        branch, inner = value
        return written(branch) + encode(kind[branch], inner, types)
    if isinstance(kind, str) and kind in types:
        kind = types[kind]
    if isinstance(kind, dict):
        what = kind["type"]
        if "name" in kind:
            types[kind["name"]] = types["space." + kind["name"]] = kind
        if what == "record":
            return b"".join(encode(field["type"], value[field["name"]], types) for field in kind["fields"])
        if what == "enum":
            return written(kind["symbols"].index(value))
        if what == "fixed":
            return bytes(value)
        if what == "array":
            items = [encode(kind["items"], item, types) for item in value]
        elif what == "map":
            items = [
                encode("string", key, types) + encode(kind["values"], item, types)
                for key, item in value.items()
            ]
        else:
            return encode(what, value, types)
        body = b"".join(items)
        if len(items) > 2 and kind is not MAP:  # a block may name its size in bytes
            return written(-len(items)) + written(len(body)) + body + b"\0"
        return (written(len(items)) + body if items else b"") + b"\0"
    return PRIMITIVES[kind](value)


PRIMITIVES: dict[str, Callable[[Any], bytes]] = {
    "null": lambda _: b"",
    "boolean": lambda flag: bytes([flag]),
    "int": written,
    "long": written,
    "float": lambda number: struct.pack("<f", number),
    "double": lambda number: struct.pack("<d", number),
    "bytes": lambda data: written(len(data)) + data,
    "string": lambda text: written(len(text.encode())) + text.encode(),
}
longs = st.integers(-(1 << 63), (1 << 63) - 1)
primitives = st.sampled_from(
    [
        ("null", st.none()), ("boolean", st.booleans()), ("int", st.integers(-(1 << 31), (1 << 31) - 1)),
        ("long", longs), ("float", st.floats(width=32)), ("double", st.floats()),
        ("bytes", st.binary(max_size=5)), ("string", st.text(max_size=5)),
        ({"type": "long", "logicalType": "timestamp-millis"}, longs),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, st.sampled_from("AB")),
        ({"type": "fixed", "name": "F", "size": 3}, st.binary(min_size=3, max_size=3)),
    ]
)  # fmt: skip


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Arrays, maps, unions and records of such types, each with a strategy for its values."""

    def union(pairs: list[Any]) -> tuple[Any, Any]:
        branches = [st.tuples(st.just(number), values) for number, (_, values) in enumerate(pairs)]
        return [kind for kind, _ in pairs], st.one_of(branches)

    def record(pairs: list[Any]) -> tuple[Any, Any]:
        fields = [{"name": f"f{number}", "type": kind} for number, (kind, _) in enumerate(pairs)]
        values = st.fixed_dictionaries({f"f{number}": values for number, (_, values) in enumerate(pairs)})
        return {"type": "record", "name": "R", "fields": fields}, values

    return st.one_of(
        inner.map(lambda pair: ({"type": "array", "items": pair[0]}, st.lists(pair[1], max_size=4))),
        inner.map(
            lambda pair: (
                {"type": "map", "values": pair[0]},
                st.dictionaries(st.text(max_size=3), pair[1], max_size=4),
            )
        ),
        st.lists(inner.filter(lambda pair: not isinstance(pair[0], list)), min_size=1, max_size=3).map(union),
        st.lists(inner, max_size=3).map(record),
    )


few = settings(max_examples=25)  # each one makes a schema of its own
types_and_values = st.recursive(primitives, nested, max_leaves=5)
times = st.dictionaries(st.sampled_from(["consumed", "pre-produce", "post-produce", "x"]), longs, max_size=3)


def schema_of(kinds: list[Any]) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(kinds)]
    return {"type": "record", "name": "orders", "namespace": "space", "doc": "kept", "fields": fields}


@few
@given(st.data(), st.lists(types_and_values, max_size=4), times)
def test_times_are_added_at_the_end(
    data: st.DataObject, pairs: list[Any], given_times: dict[str, int]
) -> None:
    schema = schema_of([kind for kind, _ in pairs])
    record = {f"f{number}": data.draw(values) for number, (_, values) in enumerate(pairs)}
    timed = TimedSchema.of(json.dumps(schema), LOGLINE)

    merged = json.loads(timed.text)
    assert merged == {**schema, "fields": [*schema["fields"], *json.loads(LOGLINE)["fields"]]}
    assert timed.name == "space.orders"
    added = {**dict.fromkeys(ADDED, (0, None)), "timings": (1, given_times)}
    merged["fields"][-1]["type"][1] = MAP
    value = encode(schema, record, {})
    assert timed.with_times(value, given_times) == encode(merged, {**record, **added}, {})


@few
@given(
    st.data(),
    types_and_values,
    types_and_values,
    times,
    times,
    st.sampled_from([MAP, ["null", MAP], [MAP, "null"]]),
)
def test_times_of_an_earlier_hop_are_kept(
    data: st.DataObject, first: Any, last: Any, known: dict[str, int], more: dict[str, int], kind: Any
) -> None:
    """Their field is where it was, between others; what a schema has of logline.avsc is not added again."""
    schema = schema_of([first[0]])
    schema["fields"] += [{"name": "timings", "type": kind}, {"name": "line", "type": last[0]}]
    record = {"f0": data.draw(first[1]), "line": data.draw(last[1])}
    timed = TimedSchema.of(json.dumps(schema), LOGLINE)

    merged = json.loads(timed.text)
    assert [field["name"] for field in merged["fields"]] == [
        "f0",
        "timings",
        "line",
        "source",
        "tag",
        "logtypeid",
    ]

    def in_union(timings: dict[str, int]) -> Any:
        return (kind.index(MAP), timings) if isinstance(kind, list) else timings

    added = dict.fromkeys(("source", "tag", "logtypeid"), (0, None))
    merged["fields"][1]["type"] = kind
    value = encode(schema, {**record, "timings": in_union(known)}, {})
    wanted = encode(merged, {**record, **added, "timings": in_union({**known, **more})}, {})
    assert timed.with_times(value, more) == wanted
    if isinstance(kind, list):
        empty = encode(schema, {**record, "timings": (kind.index("null"), None)}, {})
        assert timed.with_times(empty, more) == encode(
            merged, {**record, **added, "timings": in_union(more)}, {}
        )


@few
@given(st.data(), st.lists(types_and_values, min_size=1, max_size=4), st.binary(max_size=3))
def test_what_does_not_end_with_its_schema_is_no_value_of_it(
    data: st.DataObject, pairs: list[Any], rest: bytes
) -> None:
    schema = schema_of([kind for kind, _ in pairs])
    value = encode(schema, {f"f{number}": data.draw(values) for number, (_, values) in enumerate(pairs)}, {})
    timed = TimedSchema.of(json.dumps(schema), LOGLINE)
    for wrong in [value + b"\0" + rest, *([value[:-1]] if value else [])]:
        assume(wrong != value)
        with pytest.raises(NotTimeable, match=r"no value of space\.orders"):
            timed.with_times(wrong, {})


@few
@given(st.lists(types_and_values, max_size=4), st.binary(max_size=30))
def test_any_bytes_end_with_an_answer(pairs: list[Any], value: bytes) -> None:
    timed = TimedSchema.of(json.dumps(schema_of([kind for kind, _ in pairs])), LOGLINE)
    with contextlib.suppress(NotTimeable):
        assert timed.with_times(value, {"consumed": 1}).startswith(value)


def test_a_type_may_contain_itself_and_be_named_in_other_namespaces() -> None:
    node = {
        "type": "record", "name": "Node", "namespace": "trees",
        "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "kind", "type": {
            "type": "enum", "name": "Kind", "symbols": ["X"]}}],
    }  # fmt: skip
    schema = schema_of([node, "trees.Node", "trees.Kind"])
    deep = written(1) * 900 + written(0) + written(0) * 901
    timed = TimedSchema.of(json.dumps(schema), LOGLINE)
    shallow = written(1) + written(0) + written(0) * 2 + written(0) * 2 + written(0)
    assert timed.with_times(shallow, {}).startswith(shallow)
    with pytest.raises(NotTimeable):
        timed.with_times(deep * 2, {})


@pytest.mark.parametrize(
    ("schema", "logline", "why"),
    [
        ('"string"', LOGLINE, "the schema is no record"),
        ("{", LOGLINE, "the schema is no JSON"),
        ('{"type": "record", "name": "r", "fields": [1]}', LOGLINE, "the schema has a field without a name"),
        (json.dumps(schema_of([])), "[]", "logline.avsc is no record"),
        (
            json.dumps({**schema_of([]), "fields": [{"name": "timings", "type": "long"}]}),
            LOGLINE,
            "`timings` is no map of longs",
        ),
        (
            json.dumps(schema_of([])),
            json.dumps(schema_of(["int"])),
            "neither logline.avsc nor space.orders has",
        ),
        (
            json.dumps(schema_of([])),
            json.dumps(
                {
                    **schema_of(["int"]),
                    "fields": [{"name": "timings", "type": MAP}, {"name": "n", "type": "int"}],
                }
            ),
            "field `n` cannot be null",
        ),
    ],
)
def test_schemas_that_cannot_have_times(schema: str, logline: str, why: str) -> None:
    with pytest.raises(NotTimeable, match=why):
        TimedSchema.of(schema, logline)


@given(longs)
def test_numbers_are_read_as_they_were_written(number: int) -> None:
    assert read_long(b"x" + written(number), 1) == (number, 1 + len(written(number)))
