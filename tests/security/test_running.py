"""Each login on each side of a running mirror: it is rotated, and revoked and granted again.

The mirror is not restarted; nothing is lost, and nothing comes twice.
"""

from __future__ import annotations

import itertools

import pytest

from security.conftest import MakeMirror
from support.secured_mirror import LOGINS

SIDES = ("source", "destination")
CARRIERS = ("native", "object")

ROTATED = {("OAUTHBEARER", "source", "native")}
REVOKED = {("SCRAM-SHA-512", "destination", "native")}
"""These run in `make test`, the others are deep."""


def matrix(chosen: set[tuple[str, str, str]]) -> list[object]:
    return [
        pytest.param(*case, marks=[] if case in chosen else pytest.mark.deep, id=", ".join(case))
        for case in itertools.product(LOGINS, SIDES, CARRIERS)
    ]


@pytest.mark.parametrize(("login", "side", "carrier"), matrix(ROTATED))
def test_a_login_that_is_rotated(make_mirror: MakeMirror, login: str, side: str, carrier: str) -> None:
    mirror = make_mirror(login, side, carrier)
    mirror.produce()
    mirror.run()
    mirror.arrive()
    for _ in range(2):  # whoever kept the first one would be refused now at the latest
        mirror.access.rotate()
        mirror.outlive(mirror.access.old_secret_seconds)
    mirror.end()


@pytest.mark.parametrize(("login", "side", "carrier"), matrix(REVOKED))
def test_a_login_that_is_revoked_and_granted_again(
    make_mirror: MakeMirror, login: str, side: str, carrier: str
) -> None:
    mirror = make_mirror(login, side, carrier)
    mirror.produce()
    mirror.run()
    mirror.arrive()
    mirror.access.revoke()
    mirror.produce()
    mirror.says_why()
    mirror.access.grant()
    mirror.arrive()
    mirror.produce()
    mirror.arrive()
    mirror.end()
