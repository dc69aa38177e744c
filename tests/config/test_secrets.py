from __future__ import annotations

import ctypes
import json
import pickle
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.checking.check import literal_secrets
from causeway.config import ClusterSettings, Settings
from causeway.config.client_tables import client_tables
from causeway.config.effective import effective
from causeway.config.secrets import is_secret, redact, resolve
from causeway.errors import ConfigError
from causeway.kafka.native.library import load

from .conftest import GOOD, PROPERTIES, Load

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
    "spark.hadoop.fs.azure.account.key.a.blob.core.windows.net",
    "spark.hadoop.fs.azure.sas",
    "accessKey",
    "privateKey",
    "x-api-key",
    "db.pass",
    "proxy_auth",
    "Authorization",
    "sasl.kerberos.kinit.cmd",
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


PUBLIC = {
    # Java has certificates as passwords, so that its log is short; librdkafka marks them and names of files.
    "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "ssl.ca.pem", "ssl.certificate.pem",
    "https.ca.pem", "ssl_key",  # the latter has no text form
    "ssl.key.location", "ssl.keystore.location", "ssl.truststore.location",
    "ssl.keystore.type", "ssl.keymanager.algorithm", "sasl.kerberos.keytab",
    "sasl.oauthbearer.assertion.private.key.file", "sasl.oauthbearer.token.endpoint.url",
    "key.serializer", "key.deserializer",
    "partitioner.ignore.keys", "socket.keepalive.enable",
}  # fmt: skip
SUSPICIOUS = re.compile(
    r"pass|secret|key|token|credential|jaas|private|pem|oauthbearer\.config|extensions|assertion$"
)


def test_every_known_property_that_may_be_secret_is_classified() -> None:
    """A new version of librdkafka or of Java's clients with another one makes this test fail."""
    java = dict(line.split() for line in PROPERTIES.read_text().splitlines())
    names = {name for name, kind in java.items() if kind == "password"}
    names |= {name for name in (*java, *librdkafkas_names()) if SUSPICIOUS.search(name)}
    assert len(names) > 30
    assert sorted(name for name in names if not is_secret(name) and name not in PUBLIC) == []
    assert sorted(name for name in PUBLIC if is_secret(name)) == []


def librdkafkas_names() -> list[str]:
    """All properties that the library prints, in the table of its CONFIGURATION.md."""
    libc, library = ctypes.CDLL(None), ctypes.CDLL(str(load().path))
    libc.fopen.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile() as file:
        stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
        library.rd_kafka_conf_properties_show(stream)
        libc.fclose(stream)
        rows = Path(file.name).read_text().splitlines()
    return [
        row.split("|")[0].strip() for row in rows if row.count("|") > 3 and not row.startswith("Property")
    ]


@pytest.mark.parametrize(
    "value",
    [
        "jdbc:postgresql://db/x?user=me&password=cAnArY",
        "-Dx=1 -Djavax.net.ssl.keyStorePassword=cAnArY",
        "https://account.example/x?se=1&sig=cAnArY",
        "Endpoint=sb://x/;SharedAccessKey=cAnArY",
        "Basic cAnArYcAnArY==",
        "authorization: Bearer cAnArYcAnArY",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjQW5BclkifQ.cAnArY",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\ncAnArY",
        "x\ny password = cAnArY",
    ],
)
def test_values_that_say_what_they_are_are_secret_whatever_their_name(value: str) -> None:
    assert redact("linger.ms", value) == "***"


@pytest.mark.parametrize("password", ["cAnArY", "c/AnArY", "c@nArY/", "c nArY", "c\nnArY", "//c@", "é"])
def test_user_and_password_in_an_address_are_left_out(password: str) -> None:
    assert redact("a.url", f"https://me:{password}@host:1/path") == "https://***@host:1/path"


@pytest.mark.parametrize("servers", ["me:cAnArY@host:1", "a:1,me:c@nArY@host:1", "me:cAn//ArY@host:1"])
def test_user_and_password_before_a_server_are_left_out(servers: str) -> None:
    assert redact("servers", servers) == "***@host:1"


@pytest.mark.parametrize("value", ["a:9092,b:9092", "keyword", "tokens of orders", "the basic one", "a@b"])
def test_other_values_are_shown(value: str) -> None:
    assert redact("linger.ms", value) == value


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


SECRETS = f"""{GOOD}
[[mirrors.filters]]
filter = "a.b:c"
config = {{ inner = [{{ api_key = "cAnArY" }}], limit = "cAnArY-is-none" }}
[clusters.tokyo.sasl]
mechanism = "SCRAM-SHA-512"
username = "me"
password = "cAnArY"
[clusters.tokyo.tls]
certificate = "/c.pem"
key = "-----BEGIN PRIVATE KEY-----cAnArY"
key_password = "${{env:PW}}"
[clusters.paris.properties]
sasl.mechanism = "PLAIN"
sasl.jaas.config = 'a.PlainLoginModule required username="me" password="cAnArY";'
[web]
token = "cAnArYcAnArYcAnArY"
[spark.properties]
spark.ssl.keyPassword = "cAnArY"
"""


def test_check_names_each_secret_in_the_configuration_with_its_file(loaded: Load) -> None:
    settings = loaded(
        SECRETS, "clusters.tokyo.properties.ssl.keystore.password=cAnArY", environ={
            "PW": "x", "CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__SSL_KEY_PASSWORD": "cAnArY",
        },
    )  # fmt: skip
    remarks = {
        cluster: [remark.what for remark in literal_secrets(settings, cluster)]
        for cluster in ("tokyo", "paris", "")
    }
    assert remarks == {
        "tokyo": [
            "mirror.toml: clusters.tokyo.sasl.password is in plain text",
            "mirror.toml: clusters.tokyo.tls.key is in plain text",
            "clusters.tokyo.properties.ssl.keystore.password is on the command line in plain text: every "
            "user of the machine can read it",
        ],
        "paris": ["mirror.toml: clusters.paris.properties.sasl.jaas.config is in plain text"],
        "": [
            "mirror.toml: mirrors[0].filters[0].config.inner[0].api_key is in plain text",
            "mirror.toml: spark.properties.spark.ssl.keyPassword is in plain text",
            "mirror.toml: web.token is in plain text",
        ],
    }
    assert not list(literal_secrets(loaded(GOOD), ""))


def test_no_copy_of_settings_has_a_secret(loaded: Load) -> None:
    settings = loaded(SECRETS, environ={"PW": "from the environment"})
    pickled, json_text = pickle.dumps(settings), settings.model_dump_json()
    copies = [
        repr(settings), str(settings), effective(settings, settings.mirrors[0]), json_text,
        json.dumps(settings.model_dump(mode="json")), pickled.decode("latin-1"), repr(settings.clusters),
        pickle.dumps(settings.clusters["tokyo"]).decode("latin-1"),
        pickle.dumps(settings.mirrors).decode("latin-1"),
    ]  # fmt: skip
    for copy in copies:
        assert "cAnArY" not in copy.replace("cAnArY-is-none", "")
        assert "from the environment" not in copy
    assert "${env:PW}" in json_text

    for read in (pickle.loads(pickled), Settings.model_validate_json(json_text)):
        copied = client_tables(read.clusters["tokyo"]).properties
        with pytest.raises(ConfigError, match="have no secrets but references"):
            resolve(copied["sasl.password"])
        assert (copied["ssl.key.password"], copied["sasl.username"]) == ("${env:PW}", "me")
    sasl = settings.clusters["tokyo"].sasl
    assert sasl is not None
    assert sasl.password == "cAnArY", "the settings themselves still have it"
    assert settings.model_copy(deep=True) == settings
