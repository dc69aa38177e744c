"""[clusters.x.sasl] and [clusters.x.tls]: what librdkafka gets, and what is refused."""

from __future__ import annotations

import json
import pickle

import pytest

from causeway.config import Settings
from causeway.config.client_tables import client_tables, warnings
from causeway.config.effective import effective
from causeway.planning.clusters import cluster_of

from .conftest import GOOD, Load, Problems

SCRAM = 'mechanism = "SCRAM-SHA-512"\nusername = "me"\npassword = "${env:PW}"\n'
PLAIN = SCRAM.replace("SCRAM-SHA-512", "PLAIN")
CLIENT = 'client_id = "me"\nclient_secret = "${env:PW}"\n'
BEARER = 'mechanism = "OAUTHBEARER"\n'
OIDC = f'{BEARER}token_url = "https://idp/token"\n{CLIENT}'
ENVIRON = {"PW": "cAnArY"}
HOSTS = "the host names in brokers' certificates are not verified: others can impersonate brokers"


def tables(sasl: str | None = None, tls: str | None = None, more: str = "") -> str:
    text = GOOD + more
    text += "" if sasl is None else f"\n[clusters.tokyo.sasl]\n{sasl}"
    return text + ("" if tls is None else f"\n[clusters.tokyo.tls]\n{tls}")


@pytest.mark.parametrize(
    ("sasl", "tls", "properties"),
    [
        (None, None, {}),
        (None, "", {"security.protocol": "SSL"}),
        (None, 'ca = "/ca.pem"', {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}),
        (
            SCRAM,
            None,
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "me",
                "sasl.password": "${env:PW}",
            },
        ),
        (
            PLAIN,
            'ca = "${env:PW}"',
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "me",
                "sasl.password": "${env:PW}",
                "ssl.ca.location": "${env:PW}",
            },
        ),
        (
            f'{OIDC}scope = "s"\ntoken_ca = "/idp.pem"\nextensions = {{ a = "b", c = "d=e" }}',
            "",
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": "${env:PW}",
                "sasl.oauthbearer.scope": "s",
                "https.ca.location": "/idp.pem",
                "sasl.oauthbearer.extensions": "a=b,c=d=e",
            },
        ),
        (
            f'{BEARER}token_file = "/token"',
            "",
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "causeway.token.file": "/token",
            },
        ),
        (
            None,
            'certificate = "/both.pem"\nkey_password = "${env:PW}"',
            {
                "security.protocol": "SSL",
                "ssl.certificate.location": "/both.pem",
                "ssl.key.location": "/both.pem",
                "ssl.key.password": "${env:PW}",
            },
        ),
        (
            None,
            'certificate = "/c.pem"\nkey = "/k.pem"',
            {
                "security.protocol": "SSL",
                "ssl.certificate.location": "/c.pem",
                "ssl.key.location": "/k.pem",
            },
        ),
        (
            None,
            'keystore = "/k.p12"\nkeystore_password = "x"\ntruststore = "/t.p12"\ntruststore_password = "y"',
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": "/k.p12",
                "ssl.keystore.password": "x",
                "causeway.truststore.location": "/t.p12",
                "causeway.truststore.password": "y",
            },
        ),
        (
            None,
            "verify_hostname = false\nverify_certificate = false\nunsafe = true",
            {
                "security.protocol": "SSL",
                "ssl.endpoint.identification.algorithm": "none",
                "enable.ssl.certificate.verification": "false",
            },
        ),
    ],
)
def test_what_clients_get(
    loaded: Load, sasl: str | None, tls: str | None, properties: dict[str, str]
) -> None:
    settings = loaded(tables(sasl, tls), environ=ENVIRON)

    made = client_tables(settings.clusters["tokyo"])

    assert made.properties == properties
    assert (made.consumer, made.producer) == ({}, {})
    assert cluster_of(settings, "tokyo").properties == properties | {"bootstrap.servers": "tokyo-1:9092"}


@pytest.mark.parametrize(
    ("sasl", "tls", "problem"),
    [
        ('mechanism = "SCRAM"', None, 'sasl.mechanism: must be one of "PLAIN", "SCRAM-SHA-256", '
         '"SCRAM-SHA-512", "OAUTHBEARER", not "SCRAM"'),
        ('mechanism = "PLAIN"\nusername = "me"', "", "sasl: PLAIN needs password"),
        ('mechanism = "SCRAM-SHA-256"', None, "sasl: SCRAM-SHA-256 needs username and password"),
        ('username = "me"\npassword = "cAnArY"', None, "sasl: username needs a mechanism"),
        ("password = 5", None, "sasl.password: must be a string"),
        ('passwort = "cAnArY"', None, 'sasl.passwort: unknown key, did you mean "password"?'),
        (BEARER, "", "sasl: OAUTHBEARER needs either token_file or token_url"),
        (f'{OIDC}token_file = "/t"', "", "sasl: OAUTHBEARER needs either token_file or token_url"),
        (f'{BEARER}token_url = "https://x"', "", "sasl: token_url needs client_id and client_secret"),
        (f'{BEARER}token_file = "/t"\nscope = "s"', "", "sasl: scope does not belong to token_file"),
        (f'{OIDC}username = "me"', "", "sasl: username does not belong to OAUTHBEARER"),
        (f'{SCRAM}token_file = "/t"', None, "sasl: token_file does not belong to SCRAM-SHA-512"),
        (f"{OIDC}extensions = {{ a = 1 }}", "", "sasl.extensions: takes names and strings without commas"),
        (None, 'key = "/k"', "tls: key needs certificate"),
        (None, 'key_password = "cAnArY"', "tls: key_password needs certificate"),
        (None, 'keystore_password = "cAnArY"', "tls: keystore_password needs keystore"),
        (None, 'certificate = "/c"\nkeystore = "/k"',
         "tls: certificate and keystore are two ways to say the same: give one of them"),
        (None, 'ca = "/c"\ntruststore = "/k"',
         "tls: ca and truststore are two ways to say the same: give one of them"),
        (None, "verify_hostname = false",
         "tls: verify_hostname = false also needs unsafe = true: it lets others impersonate brokers"),
        (None, "verify_certificate = false",
         "tls: verify_certificate = false also needs unsafe = true: it lets others impersonate brokers"),
        (None, 'ca = "${env:NOPE}"', "tls.ca: ${env:NOPE}: the environment variable is not set"),
        (PLAIN, None, "sasl.mechanism: PLAIN without TLS sends the password unencrypted; use TLS, "
         "or allow it with sasl.unsafe = true"),
        (f'{BEARER}token_file = "/t"', None, "sasl.mechanism: OAUTHBEARER without TLS sends its token "
         "unencrypted; use TLS, or allow it with sasl.unsafe = true"),
        (OIDC.replace("https", "http"), "", "sasl.token_url: without https the client secret is sent "
         "unencrypted; use https://, or allow it with sasl.unsafe = true"),
    ],
)  # fmt: skip
def test_what_is_refused(problems: Problems, sasl: str | None, tls: str | None, problem: str) -> None:
    assert problems(tables(sasl, tls), environ=ENVIRON) == [f"mirror.toml: clusters.tokyo.{problem}"]


@pytest.mark.parametrize(
    ("table", "line", "problem"),
    [
        ("properties", "sasl.password = 'cAnArY'", "is set by sasl.password of this cluster too"),
        ("properties", "sasl.mechanisms = 'PLAIN'", "is set by sasl.mechanism of this cluster too"),
        ("properties", "ssl.ca.pem = 'cAnArY'", "is set by tls.ca of this cluster too"),
        ("consumer", "ssl.ca.location = '/x'", "is set by tls.ca of this cluster too"),
        ("producer", "security.protocol = 'SASL_SSL'", "is set by tls of this cluster too"),
    ],
)
def test_a_typed_setting_and_its_property_together(
    problems: Problems, table: str, line: str, problem: str
) -> None:
    text = tables(SCRAM, 'ca = "/ca.pem"', f"[clusters.tokyo.{table}]\n{line}\n")
    name = line.partition(" ")[0]
    assert problems(text, environ=ENVIRON) == [
        f"mirror.toml: clusters.tokyo.{table}.{name}: {problem}: give one of them"
    ]


RAW = "[clusters.tokyo.properties]\nsecurity.protocol = '{}'\nsasl.mechanism = '{}'\nsasl.username = 'me'\n"


@pytest.mark.parametrize("mechanism", ["PLAIN", "plain", "OAUTHBEARER"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "sasl_plaintext", "${env:PROTOCOL}"])
def test_properties_of_the_client_are_judged_alike(
    loaded: Load, problems: Problems, mechanism: str, protocol: str
) -> None:
    raw = RAW.format(protocol, mechanism)
    environ = {"PROTOCOL": "SASL_PLAINTEXT"}
    (problem,) = problems(tables(more=raw), environ=environ)
    assert problem.startswith("mirror.toml: clusters.tokyo.properties.sasl.mechanism: ")
    assert problem.endswith("or allow it with sasl.unsafe = true")
    assert loaded(tables("unsafe = true", more=raw), environ=environ)
    assert loaded(tables(more=RAW.format("SASL_SSL", mechanism)))
    assert loaded(tables(more=RAW.format("SASL_PLAINTEXT", "SCRAM-SHA-256")))


@pytest.mark.parametrize(
    "line",
    ["ssl.endpoint.identification.algorithm = 'none'", "enable.ssl.certificate.verification = false"],
)
@pytest.mark.parametrize("table", ["properties", "consumer", "producer"])
def test_verification_by_properties_is_judged_alike(
    loaded: Load, problems: Problems, table: str, line: str
) -> None:
    raw = f"[clusters.tokyo.properties]\nsecurity.protocol = 'SSL'\n[clusters.tokyo.{table}]\n{line}\n"
    if table == "properties":
        raw = f"[clusters.tokyo.properties]\nsecurity.protocol = 'SSL'\n{line}\n"
    (problem,) = problems(tables(more=raw))
    assert problem.startswith(f"mirror.toml: clusters.tokyo.{table}.{line.partition(' ')[0]}: ")
    assert problem.endswith("or allow it with tls.unsafe = true")
    assert warnings("tokyo", loaded(tables(tls="unsafe = true", more=raw)).clusters["tokyo"])


def test_each_start_warns_of_what_is_allowed(loaded: Load) -> None:
    settings = loaded(
        tables(f"{PLAIN}unsafe = true"), "clusters.paris.tls.verify_hostname=false",
        "clusters.paris.tls.unsafe=true", environ=ENVIRON,
    )  # fmt: skip
    assert warnings("tokyo", settings.clusters["tokyo"]) == [
        'cluster "tokyo": PLAIN without TLS sends the password unencrypted (sasl.unsafe = true)'
    ]
    assert warnings("paris", settings.clusters["paris"]) == [f'cluster "paris": {HOSTS} (tls.unsafe = true)']
    safe = loaded(tables(f"{PLAIN}unsafe = true", "unsafe = true"), environ=ENVIRON)
    assert warnings("tokyo", safe.clusters["tokyo"]) == []


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:80/token", True),
        ("http://localhost/token", True),
        ("http://[::1]:80", True),
        ("http://127.0.0.1.example.com/", False),
        ("http://localhost.example.com/", False),
        ("HTTP://idp/", False),
        ("https://idp/", True),
    ],
)
def test_a_token_may_come_without_https_on_this_machine_alone(
    loaded: Load, problems: Problems, url: str, allowed: bool
) -> None:
    text = tables(OIDC.replace("https://idp/token", url), "")
    if allowed:
        assert loaded(text, environ=ENVIRON)
    else:
        assert "sasl.token_url: without https" in problems(text, environ=ENVIRON)[0]


def test_the_protocol_follows_from_properties_too(loaded: Load) -> None:
    """Kerberos with a [tls] table; SCRAM where the CA is a property."""
    kerberos = tables(None, "", "[clusters.tokyo.properties]\nsasl.mechanism = 'GSSAPI'\n")
    scram = tables(SCRAM, None, "[clusters.tokyo.properties]\nssl.ca.location = '/ca.pem'\n")
    for text in (kerberos, scram):
        made = client_tables(loaded(text, environ=ENVIRON).clusters["tokyo"])
        assert made.properties["security.protocol"] == "SASL_SSL"


def test_variables_and_options_reach_the_tables(loaded: Load) -> None:
    settings = loaded(
        GOOD,
        "clusters.tokyo.tls.ca=/ca.pem",
        "clusters.tokyo.sasl.password=${env:PW}",
        "clusters.tokyo.sasl.username=5",
        environ=ENVIRON | {"CAUSEWAY__CLUSTERS__TOKYO__SASL__MECHANISM": "SCRAM-SHA-256"},
    )
    sasl, tls = settings.clusters["tokyo"].sasl, settings.clusters["tokyo"].tls
    assert sasl is not None
    assert tls is not None
    assert (sasl.mechanism, sasl.username, sasl.password) == ("SCRAM-SHA-256", "5", "${env:PW}")
    assert tls.ca == "/ca.pem"


def test_references_stay_and_literal_secrets_are_not_shown(loaded: Load) -> None:
    settings = loaded(
        tables(SCRAM, 'certificate = "/c"\nkey_password = "cAnArY"'),
        "clusters.paris.tls.certificate=/c",
        "clusters.paris.tls.key=-----BEGIN PRIVATE KEY-----cAnArY",
        environ={"PW": "from the environment"},
    )
    shown = [repr(settings), str(settings), effective(settings, settings.mirrors[0])]
    shown += [repr(cluster_of(settings, alias)) for alias in settings.clusters]
    for text in shown:
        assert "cAnArY" not in text
        assert "from the environment" not in text
    assert "${env:PW}" in shown[0]
    assert '"password" = "${env:PW}"' in shown[2]


def test_tables_survive_pickle_and_json(loaded: Load) -> None:
    settings = loaded(tables(SCRAM, 'ca = "/ca.pem"'), environ=ENVIRON)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
    assert Settings.model_validate(json.loads(json.dumps(settings.model_dump(mode="json")))) == settings
