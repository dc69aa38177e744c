"""The least permissions of a mirror follow from its settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.config import MirrorSettings
from causeway.core.permission import Permission, RequiredPermission
from causeway.planning.rules.permissions import (
    destination_names,
    destination_permissions,
    least,
    literal_prefixes,
    selected_names,
    source_permissions,
)


def mirror(**settings: Any) -> MirrorSettings:
    return MirrorSettings.model_validate(
        {"name": "m", "source": ["s"], "destination": "d", "topics": ["orders"], **settings}
    )


def shown(required: list[RequiredPermission], *, optional: bool | None = None) -> set[str]:
    return {str(one.permission) for one in required if optional is None or bool(one.without) is optional}


@pytest.mark.parametrize(
    ("pattern", "prefixes"),
    [
        (r"orders\..*", {("orders.", True)}),
        (r"^orders\..*", {("orders.", True)}),
        (".*", {("", True)}),
        (r"(a|b)", {("a", False), ("b", False)}),
        (r"(?:a|b\.).*", {("", True)}),
        (r"a.*|b", {("a", True), ("b", False)}),
        (r"x(a|b)", {("x", True)}),
        (r"ab?c", {("a", True)}),
        (r"ab*", {("a", True)}),
        (r"ab{0,3}", {("a", True)}),
        (r"ab+", {("ab", True)}),
        (r"a\.?", {("a", True)}),
        (r"a\d", {("a", True)}),
        (r"a[|)]b|c", {("a", True), ("c", False)}),
        (r"(?i)orders", {("", True)}),
        (r"((a|b)|c)", {("a", False), ("b", False), ("c", False)}),
        (r"(a)(b)", {("", True)}),
    ],
)
def test_what_every_match_begins_with(pattern: str, prefixes: set[tuple[str, bool]]) -> None:
    assert literal_prefixes(pattern) == prefixes


_ATOMS = st.sampled_from(["a", "b", "-", r"\.", r"\-", ".", "[ab]", "[^a]", r"\d", r"\w"])
_PATTERNS = st.recursive(
    st.builds(str.__add__, _ATOMS, st.sampled_from(["", "?", "*", "+", "{0,2}", "{2}"])),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("(?:{})?".format, inner),
        st.builds("^{}$".format, inner),
    ),
    max_leaves=6,
)


@given(data=st.data(), pattern=_PATTERNS)
def test_no_match_is_left_out(data: st.DataObject, pattern: str) -> None:
    topic = data.draw(st.text("ab01.-_", min_size=1, max_size=6))
    if re.fullmatch(pattern, topic):
        found = literal_prefixes(pattern)
        assert any(topic.startswith(name) if prefix else topic == name for name, prefix in found), found


def test_names_that_another_one_covers_are_left_out() -> None:
    entries = ["orders", r"orders\..*", r"orders\.eu\..*", "orders.us", "pay"]
    assert selected_names(entries) == [("orders", False), ("orders.", True), ("pay", False)]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, [("orders", False)]),
        ({"prefix": "dc1."}, [("dc1.orders", False)]),
        ({"suffix": ".copy"}, [("orders.copy", False)]),
        ({"suffix": ".copy", "topics": [r"orders\..*"]}, [("orders.", True)]),
        ({"prefix": "dc1.", "topics": [r"orders\..*"]}, [("dc1.orders.", True)]),
        ({"prefix": "dc1.", "topics": [r"d.*"]}, [("dc1.", True)]),
        ({"prefix": "dc1.", "topics": [r"dc1\.a.*"]}, [("dc1.a", True)]),
        ({"rename": {"orders": "o"}}, [("o", False)]),
        ({"rename": {"orders.x": "o"}, "topics": [r"orders\..*"]}, [("o", False), ("orders.", True)]),
        (
            {"source": ["s", "t"], "per_source": {"t": {"prefix": "t."}}},
            [("orders", False), ("t.orders", False)],
        ),
    ],
)
def test_names_at_the_destination(settings: dict[str, Any], names: list[tuple[str, bool]]) -> None:
    assert destination_names(mirror(**settings)) == names


@given(
    topic=st.sampled_from(["d", "dc1.", "dc1.a", "da", "x", "a.copy"]),
    prefix=st.sampled_from(["", "dc1.", "d"]),
    pattern=st.sampled_from([".*", "d.*", r"dc1\..*", "x|a.*"]),
)
def test_no_destination_topic_is_left_out(topic: str, prefix: str, pattern: str) -> None:
    from causeway.planning.rules.naming import destination_name

    if re.fullmatch(pattern, topic):
        name = destination_name(topic, prefix, ".copy", {})
        found = destination_names(mirror(topics=[pattern], prefix=prefix, suffix=".copy"))
        assert any(name.startswith(one) if is_prefix else name == one for one, is_prefix in found)


def test_a_source_is_only_read() -> None:
    required = source_permissions(mirror(), "s")
    assert shown(required, optional=False) == {"READ on topic orders", "DESCRIBE_CONFIGS on topic orders"}
    assert shown(required, optional=True) == {
        "READ on group causeway.m",
        "READ on topics that begin with __causeway.",
    }
    assert "READ on group causeway.m" not in shown(source_permissions(mirror(source_group=False), "s"))


def test_the_settings_of_source_topics_are_optional_where_no_topic_is_created() -> None:
    required = source_permissions(mirror(create_topics=False), "s")
    assert "DESCRIBE_CONFIGS on topic orders" in shown(required, optional=True)


@pytest.mark.parametrize(
    ("settings", "lacking"),
    [
        ({"create_topics": False}, {"CREATE on topic orders", "ALTER on topic orders"}),
        (
            {"delivery": "at-least-once"},
            {
                "WRITE on transactional ids that begin with causeway.m.",
                "DESCRIBE on topic __transaction_state",
                "DESCRIBE_CONFIGS on topic __transaction_state",
            },
        ),
        (
            {"on_poison": "stop"},
            {f"{operation} on topic __causeway.m.quarantine" for operation in ("CREATE", "READ", "WRITE")},
        ),
    ],
)
def test_a_feature_that_is_off_needs_nothing(settings: dict[str, Any], lacking: set[str]) -> None:
    everything = shown(destination_permissions(mirror(on_poison="quarantine")))
    assert shown(destination_permissions(mirror(on_poison="quarantine") if not settings else mirror(
        **{"on_poison": "quarantine", **settings}
    ))) == everything - lacking  # fmt: skip


def test_no_permission_is_left_that_would_lose_or_change_what_others_wrote() -> None:
    for required in destination_permissions(mirror(topics=[".*"], on_poison="quarantine")):
        assert required.permission.operation in (
            "READ", "WRITE", "CREATE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS",
        )  # fmt: skip


def test_the_least_set_leaves_out_what_is_covered_and_groups_by_line() -> None:
    def needed(name: str, operation: Any, *, prefix: bool = False, without: str = "") -> RequiredPermission:
        return RequiredPermission(Permission("topic", name, operation, prefix), "", without)

    covering = needed("a", "READ", prefix=True)
    optional = needed("c", "READ", prefix=True, without="a feature")
    beside = needed("c.own", "READ")
    groups = least(
        [
            needed("a.b", "READ"), covering, needed("a", "WRITE", prefix=True), needed("b", "DESCRIBE"),
            needed("b", "WRITE"), optional, beside, needed("c.other", "READ", without="more"),
            needed("b", "WRITE", without="it is required elsewhere"),
        ]
    )  # fmt: skip
    assert groups == [
        [covering, needed("a", "WRITE", prefix=True)],
        [needed("b", "WRITE")],
        [optional],
        [beside],
    ]
