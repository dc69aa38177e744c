"""Which permissions are missing, from what a cluster tells about single resources."""

from __future__ import annotations

import pytest

from causeway.core.permission import Operation, Permission, RequiredPermission, on_topic
from causeway.planning.rules.permission_verdict import (
    LATER,
    PROBE,
    LackingPermission,
    PermissionVerdict,
    judge,
    questions,
)

ON_A = RequiredPermission(on_topic("a", "READ"), "read")
ON_PREFIX = RequiredPermission(Permission("topic", "a.", "READ", prefix=True), "read")
PROBED = on_topic(f"a.{PROBE}", "READ")


def test_what_is_asked() -> None:
    assert questions(ON_A, {"b"}) == {on_topic("a", "READ")}
    assert questions(ON_PREFIX, {"a.x", "b"}) == {PROBED, on_topic("a.x", "READ")}
    everything = RequiredPermission(on_topic("*", "READ"), "read")
    assert questions(everything, {"x"}) == {on_topic(PROBE, "READ"), on_topic("x", "READ")}
    ids = RequiredPermission(Permission("transactional-id", "causeway.", "WRITE", prefix=True), "write")
    assert questions(ids, {"causeway.x"}) == {ids.permission}


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (True, PermissionVerdict()),
        (False, PermissionVerdict(missing=(LackingPermission(ON_A, ("a",)),))),
        (None, PermissionVerdict(unknown=(LackingPermission(ON_A, ("a",)),))),
    ],
)
def test_a_permission_on_one_resource(verdict: bool | None, expected: PermissionVerdict) -> None:
    assert judge([(ON_A, ())], {ON_A.permission: verdict}, ()) == expected


@pytest.mark.parametrize(
    ("topics", "probed", "missing", "unknown"),
    [
        ({}, True, None, False),
        ({}, None, None, True),
        ({}, False, ((), ""), False),  # no topic is visible: perhaps because of this
        ({"a.x": True}, True, None, False),
        ({"a.x": True}, None, None, False),  # the probe's topic does not exist
        ({"a.x": True}, False, ((), LATER), False),  # granted for each topic by its name
        ({"a.x": None}, None, None, True),
        ({"a.x": False, "a.y": True, "b": False}, True, (("a.x",), ""), False),
    ],
)
def test_a_permission_on_names_that_begin_with_something(
    topics: dict[str, bool | None], probed: bool | None, missing: tuple[tuple[str, ...], str] | None,
    unknown: bool,
) -> None:  # fmt: skip
    granted = {PROBED: probed} | {on_topic(name, "READ"): verdict for name, verdict in topics.items()}
    verdict = judge([(ON_PREFIX, topics)], granted, ())
    found = [(one.names, one.required.without) for one in verdict.missing]
    assert found == ([missing] if missing else [])
    assert bool(verdict.unknown) is unknown


@pytest.mark.parametrize(
    ("operation", "absent", "cannot_run"),
    [("CREATE", {"a"}, True), ("CREATE", set(), False), ("ALTER", {"a"}, False)],
)
def test_a_topic_that_does_not_exist_has_to_be_created(
    operation: Operation, absent: set[str], cannot_run: bool
) -> None:
    required = RequiredPermission(on_topic("a", operation), "", without="a feature")
    (missing,) = judge([(required, ())], {required.permission: False}, absent).missing
    assert (not missing.required.without) is cannot_run


def test_what_prevents_one_mirror_is_not_optional_for_another_one() -> None:
    optional = RequiredPermission(ON_A.permission, "read", without="a feature")
    verdict = judge([(optional, ()), (ON_A, ())], {ON_A.permission: False}, ())
    assert [one.required for one in verdict.missing] == [ON_A]
