from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.config import ClusterSettings
from causeway.config.secrets import is_secret, redact, resolve
from causeway.errors import ConfigError

SECRET = [
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "sasl.jaas.config",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "basic.auth.user.info",
    "spark.ssl.keyPassword",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "SASL_PASSWORD",
]
OPEN = [
    "sasl.username",
    "sasl.mechanism",
    "security.protocol",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.pem",
    "ssl.key.location",
    "sasl.kerberos.keytab",
    "client.id",
    "linger.ms",
    "spark.executor.memory",
]


@pytest.mark.parametrize("name", SECRET)
def test_secret_names_are_known(name: str) -> None:
    assert is_secret(name)
    assert redact(name, "canary") == "***"
    assert redact(name, "x${env:A}") == "***"
    assert redact(name, "${env:A}") == "${env:A}"
    assert "canary" not in repr(
        ClusterSettings.model_construct(bootstrap_servers="a:1", properties={name: "canary"})
    )


@pytest.mark.parametrize("name", OPEN)
def test_other_names_are_shown(name: str) -> None:
    assert redact(name, "value") == "value"


def test_references_are_replaced_anywhere_in_a_value(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from file\n")

    assert (
        resolve(f"<${{env:A}}|${{file:{file}}}|$${{env:A}}>", {"A": "${env:B}"})
        == "<${env:B}|from file|${env:A}>"
    )


def test_white_space_at_the_end_of_a_file_does_not_count(tmp_path: Path) -> None:
    for written in ("pass word", "pass word\n", "pass word \r\n\n", "pass word\t "):
        (tmp_path / "password").write_text(written)
        assert resolve(f"${{file:{tmp_path}/password}}") == "pass word"
        assert resolve(f"<${{dir:{tmp_path}:password}}>") == "<pass word>"


def test_a_rotated_file_is_read_again_and_a_missing_one_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "password"
    seen = []
    for written in ("first", "second", None, "third"):
        if written is None:
            file.unlink()
        else:
            file.write_text(written)
        seen.append(resolve(f"${{dir:{tmp_path}:password}}"))
    assert seen == ["first", "second", "second", "third"]


@given(st.text().filter(lambda text: "${" not in text))
def test_a_value_without_references_stays_as_it_is(text: str) -> None:
    assert resolve(text, {}) == text


@given(st.text())
def test_the_content_is_never_read_again(content: str) -> None:
    assert resolve("a${env:A}b", {"A": content}) == f"a{content}b"


def test_what_cannot_be_resolved_names_the_reference_alone(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"canary\xff")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(2**20 + 1)
    kinds = "references are ${env:NAME}, ${file:/path} or ${dir:/path:key}"
    literal = '("$${" is a literal "${")'
    refused = {
        "canary${env:NOPE}": "${env:NOPE}: the environment variable is not set",
        f"canary${{file:{tmp_path}/nope}}": f"${{file:{tmp_path}/nope}}: No such file or directory",
        f"canary${{file:{tmp_path}}}": f"${{file:{tmp_path}}}: Is a directory",
        f"canary${{file:{tmp_path}/binary}}": f"${{file:{tmp_path}/binary}}: cannot be read as UTF-8 text",
        "canary${file:relative}": "${file:relative}: the path must be absolute",
        "${canary}": f"{kinds} {literal}",
        "${vault:canary}": f"{kinds} {literal}",
        "${env:}canary": f"{kinds} {literal}",
        "${dir:/canary}": "${dir:/canary}: must be a directory and the name of a file in it",
        f"canary${{dir:{tmp_path}:../x}}": f"${{dir:{tmp_path}:../x}}: must be a directory and the name of "
        "a file in it",
        f"canary${{dir:{tmp_path}:nope}}": f"${{dir:{tmp_path}:nope}}: No such file or directory",
        f"canary${{file:{tmp_path}/large}}": f"${{file:{tmp_path}/large}}: is larger than 1 MiB",
        "canary${file:/dev/zero}": "${file:/dev/zero}: is not a regular file",
        "${env:canary": f'a reference begins with "${{" and has no "}}" {literal}',
    }
    for value, message in refused.items():
        with pytest.raises(ConfigError) as caught:
            resolve(value, {})
        assert caught.value.what == message
