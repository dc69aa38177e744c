"""Permissions: which one makes another superfluous, and the lines that grant them."""

from __future__ import annotations

import pytest

from causeway.core.permission import Permission, grant_line, on_cluster, on_topic
from support.acls import parsed

READ_A = on_topic("a", "READ")


@pytest.mark.parametrize(
    ("permission", "other", "covers"),
    [
        (READ_A, READ_A, True),
        (READ_A, on_topic("a", "DESCRIBE"), True),
        (on_topic("a", "WRITE"), on_topic("a", "DESCRIBE"), True),
        (on_topic("a", "ALTER"), on_topic("a", "DESCRIBE"), True),
        (on_topic("a", "DESCRIBE_CONFIGS"), on_topic("a", "DESCRIBE"), False),
        (on_topic("a", "CREATE"), on_topic("a", "DESCRIBE"), False),
        (READ_A, on_topic("ab", "READ"), False),
        (READ_A, Permission("topic", "a", "READ", prefix=True), False),
        (READ_A, Permission("group", "a", "READ"), False),
        (Permission("topic", "a", "READ", prefix=True), on_topic("ab", "READ"), True),
        (Permission("topic", "a", "READ", prefix=True), READ_A, True),
        (Permission("topic", "a", "READ", prefix=True), on_topic("b", "READ"), False),
        (on_topic("*", "READ"), Permission("topic", "a", "READ", prefix=True), True),
        (Permission("topic", "*", "READ", prefix=True), READ_A, False),
    ],
)
def test_what_makes_another_one_superfluous(permission: Permission, other: Permission, covers: bool) -> None:
    assert permission.covers(other) is covers


@pytest.mark.parametrize(
    "permissions",
    [
        [READ_A, on_topic("a", "DESCRIBE_CONFIGS")],
        [on_topic("*", "CREATE")],
        [Permission("topic", "a b'c", "READ", prefix=True)],
        [Permission("group", "g", "READ")],
        [Permission("transactional-id", "causeway.m.", "WRITE", prefix=True)],
        [on_cluster("DESCRIBE_CONFIGS")],
    ],
    ids=str,
)
def test_a_line_grants_exactly_these(permissions: list[Permission]) -> None:
    options = "--bootstrap-server b:9092 --command-config admin.properties"
    for principal in ("User:causeway", "User:CN=a b,O=$c", "User:it's"):
        assert parsed(grant_line(permissions, principal, options)) == (principal, permissions)
