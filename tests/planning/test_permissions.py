"""The lines of `causeway check --print-acls`, without any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.core.permission import Permission
from support.acls import parsed
from support.typed import causeway

TWO_SOURCES = """
[clusters.a]
bootstrap_servers = "a-1:9092,a-2:9092"
sasl = {mechanism = "SCRAM-SHA-512", username = "${env:A_USER}", password = "${env:A_PASSWORD}"}
[clusters.a.tls]
ca = "ca.pem"
[clusters.b]
bootstrap_servers = "b:9092"
[clusters.c]
bootstrap_servers = "c:9092"
properties = {"security.protocol" = "SASL_SSL", "sasl.mechanism" = "PLAIN", "sasl.username" = "it's", \
"sasl.password" = "${env:C_PASSWORD}"}
[pools.p]
nodes = ["a", "b"]
[[mirrors]]
name = "m"
source = "p"
destination = "c"
topics = ["orders"]
[[mirrors]]
name = "n"
source = "c"
destination = "b"
topics = ["orders"]
prefix = "c."
"""
ENVIRON = {"A_USER": "reader", "A_PASSWORD": "secret-a", "C_PASSWORD": "secret-c"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO_SOURCES)
    return path


def granted(text: str) -> dict[tuple[str, str], set[Permission]]:
    """Permissions by address and principal."""
    found: dict[tuple[str, str], set[Permission]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            principal, permissions = parsed(line)
            found.setdefault((line.split()[2], principal), set()).update(permissions)
    return found


def printed(config: Path, *arguments: str) -> str:
    ended = causeway("check", config, "--print-acls", *arguments, environ=ENVIRON)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_each_cluster_gets_what_all_mirrors_need_there(config: Path) -> None:
    found = granted(printed(config, "--principal", "b=User:CN=causeway,O=a b"))
    assert found.keys() == {
        ("a-1:9092,a-2:9092", "User:reader"), ("b:9092", "User:CN=causeway,O=a b"), ("c:9092", "User:it's"),
    }  # fmt: skip
    read = Permission("topic", "orders", "READ")
    for (address, _), permissions in found.items():
        assert read in permissions, address
    writes = {
        address: {one.name for one in permissions if one.operation == "WRITE"}
        for (address, _), permissions in found.items()
    }
    assert writes == {
        "a-1:9092,a-2:9092": set(),
        "b:9092": {"c.orders", "__causeway.n.ledger", "__causeway.n.offsets", "causeway.n."},
        "c:9092": {"orders", "__causeway.m.ledger", "__causeway.m.offsets", "causeway.m."},
    }


def test_one_mirror_alone_and_the_principal_of_a_pool(config: Path) -> None:
    found = granted(printed(config, "--mirror", "m", "--principal", "p=User:pool"))
    assert {principal for _, principal in found} == {"User:pool", "User:it's"}
    assert not any("__causeway.n" in one.name for permissions in found.values() for one in permissions)


def test_optional_permissions_say_which_feature_they_are_for(config: Path) -> None:
    text = printed(config, "--principal", "b=User:b")
    [at] = [n for n, line in enumerate(text.splitlines()) if "--group causeway.m" in line and " a-1:" in line]
    assert (
        "optional; without it: the consumer group on the source does not advance" in text.splitlines()[at - 1]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--principal b=User:NAME"),
        (["--principal", "x=User:b"], "name one of them: p, a, b, c"),
        (["--principal", "b"], "write ALIAS=TYPE:NAME"),
        (["--principal", "b=c"], "write ALIAS=TYPE:NAME"),
        (["--principal", "b=User:b", "-o", "json"], "no JSON"),
        (["--mirror", "x"], "no mirror is named x"),
    ],
)
def test_what_cannot_be_printed_says_what_to_do(config: Path, arguments: list[str], message: str) -> None:
    ended = causeway("check", config, "--print-acls", *arguments, environ=ENVIRON)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_a_principal_is_for_the_lines_alone(config: Path) -> None:
    ended = causeway("check", config, "--principal", "b=User:b", environ=ENVIRON)
    assert (ended.returncode, "--principal belongs to --print-acls" in ended.stderr) == (2, True)
