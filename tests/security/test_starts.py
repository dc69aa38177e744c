"""A start with each login on each side, whose secret is wrong or has expired: exit code 4, and the reason."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from causeway.errors import AccessDenied
from causeway.local_kafka import EmbeddedCluster
from support.restarting_access import KEY_PASSWORD, MUTUAL_TLS, PKCS12
from support.secure_cluster import SecureCluster
from support.secured_mirror import LOGINS, secured_mirror

SIDES = ("source", "destination")
EXPIRE = ("OAUTHBEARER", "token file", MUTUAL_TLS, KEY_PASSWORD, PKCS12, "TLS")
"""Logins with something that expires: a token, or a certificate."""
CHOSEN = {
    ("PLAIN", "source", "wrong"),
    ("SCRAM-SHA-512", "destination", "wrong"),
    ("token file", "source", "wrong"),
    (MUTUAL_TLS, "source", "wrong"),
    ("TLS", "destination", "wrong"),
    ("OAUTHBEARER", "destination", "expired"),
    ("token file", "destination", "expired"),
    (PKCS12, "source", "expired"),
    (KEY_PASSWORD, "destination", "expired"),
}
"""Each login once: these run in `make test`, the others are deep."""
CASES = [
    *itertools.product(LOGINS, SIDES, ("wrong",)),
    *itertools.product(EXPIRE, SIDES, ("expired",)),
]


@pytest.mark.parametrize(
    ("login", "side", "how"),
    [
        pytest.param(*case, marks=[] if case in CHOSEN else pytest.mark.deep, id=", ".join(case))
        for case in CASES
    ],
)
def test_a_start_with_a_bad_secret(
    request: pytest.FixtureRequest, secure: SecureCluster, tmp_path: Path, login: str, side: str, how: str
) -> None:
    other: EmbeddedCluster = request.getfixturevalue("destination" if side == "source" else "source")
    with secured_mirror(login, side, secure, other, tmp_path, "native") as mirror:
        if how == "wrong":
            mirror.access.spoil()
        else:
            mirror.access.expire()
        mirror.world.logins = {side: mirror.access.settings}
        process = mirror.world.run(mirror.world.config())
        assert process.wait(30) == AccessDenied.exit_code, process.output
        assert f'cluster "{mirror.alias}"' in process.output
        assert mirror.access.refusal in process.output
        assert "Traceback" not in process.output
