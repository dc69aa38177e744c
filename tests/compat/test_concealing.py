"""`causeway convert` prints references in place of secrets, and names their variables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from causeway.compat.concealing import concealed
from causeway.compat.translation import Translation
from causeway.config import load
from causeway.errors import ConfigError
from support.kaf_relay import NEWER, OLDER
from support.typed import causeway

CANARY = "cAnArY"
MM2 = f"""\
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
A.sasl.jaas.config = a.b.PlainLoginModule required username="u" password="{CANARY}";
B.ssl.keystore.type = PKCS12
B.ssl.keystore.location = /k
B.ssl.keystore.password = ${{env:STORE_PASSWORD}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mm2.properties").write_text(MM2)
    (tmp_path / "c.config").write_text(f"bootstrap.servers=a:1\nsasl.password={CANARY}\n")
    (tmp_path / "p.config").write_text(f"bootstrap.servers=b:1\nssl.key.password={CANARY}\n")
    for name, text in (("newer", NEWER), ("older", OLDER)):
        secret = text.replace("pass-x", CANARY).replace("pass-y", f"{CANARY}${{2")
        (tmp_path / f"{name}.toml").write_text(secret.replace('{"db": 10}', f'{{"password": "{CANARY}"}}'))
    return tmp_path


GO = ["--consumer.config", "c.config", "--producer.config", "p.config", "--whitelist", "x"]


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["kaf-relay", "--config", "newer.toml"], ["NODE1_SASL_PASSWORD", "NODE3_SASL_PASSWORD"]),
        (["kaf-relay", "--config", "older.toml"], ["NODE1_SASL_PASSWORD", "NODE3_SASL_PASSWORD"]),
        (["mirrormaker", *GO], ["SOURCE_SASL_PASSWORD", "TARGET_SSL_KEY_PASSWORD"]),
        (["mm2", "mm2.properties"], ["A_SASL_PASSWORD"]),
    ],
    ids=["kaf-relay", "kaf-relay, older", "mirrormaker", "mm2"],
)
def test_no_secret_is_printed_and_the_variables_are_named(
    here: Path, arguments: list[str], variables: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_PASSWORD", "s")
    ended = causeway("convert", *arguments)
    if "mm2" in arguments:
        assert "${env:STORE_PASSWORD}" in ended.stdout, "a reference of its own stays"
    assert ended.returncode == 0, ended.stderr
    assert CANARY not in ended.stdout + ended.stderr
    for name in variables:
        assert f"note: {name}: set this variable to the secret of " in ended.stderr
        assert f"# {name}: set this variable" in ended.stdout
        assert f'"${{env:{name}}}"' in ended.stdout

    (here / "mirror.toml").write_text(ended.stdout)
    with pytest.raises(ConfigError, match="problem"):
        load(here / "mirror.toml", environ={})
    assert load(here / "mirror.toml", environ={**os.environ, **dict.fromkeys(variables, "s")})


def test_variables_have_unique_names_and_other_values_stay() -> None:
    inside = {"password": "p", "inner": {"api_key": "k", "keys": ["k"]}, "empty_token": ""}
    plain = Translation(
        "tool",
        "file",
        clusters={
            "a-b": {"bootstrap_servers": "a:1", "properties": {"sasl.password": "p", "sasl.username": "u"}},
            "a_b": {"properties": {"sasl.password": "p"}, "consumer": {"ssl.key.password": "${env:MINE}"}},
        },
        mirrors=[{"name": "m", "topics": ["token"], "filters": [{"filter": "f.py", "config": inside}]}],
    )
    result = concealed(plain)
    assert result.clusters == {
        "a-b": {
            "bootstrap_servers": "a:1",
            "properties": {"sasl.password": "${env:A_B_SASL_PASSWORD}", "sasl.username": "u"},
        },
        "a_b": {
            "properties": {"sasl.password": "${env:A_B_SASL_PASSWORD_2}"},
            "consumer": {"ssl.key.password": "${env:MINE}"},
        },
    }
    config = result.mirrors[0]["filters"][0]["config"]
    assert config == {
        "password": "${env:FILTER_PASSWORD}",
        "inner": {"api_key": "${env:FILTER_API_KEY}", "keys": ["k"]},
        "empty_token": "",
    }
    assert (result.mirrors[0]["name"], result.mirrors[0]["topics"]) == ("m", ["token"])
    assert len(result.notes) == 4
    assert plain.notes == []
    assert plain.clusters["a-b"]["properties"]["sasl.password"] == "p"
