"""[registries.<name>] and [mirrors.schemas]."""

from __future__ import annotations

import json
import pickle
import re

import pytest

from causeway.config import Settings
from causeway.config.effective import effective
from causeway.core.schema import Registry
from causeway.core.task_order import SchemaPolicy
from causeway.planning.registries import (
    destination_registry,
    registry_warnings,
    schema_policy,
    source_registries,
)

from .conftest import CLUSTERS, MIRROR, Load, Problems

REGISTRIES = """
[registries.paris]
url = ["https://a.paris.example.com/", "https://b.paris.example.com"]
token = "${env:TOKEN}"
context = "eu"
timeout = "2s"
tls = { ca = "/ca.pem", certificate = "/own.pem", key = "/own.key", key_password = "${env:KEY_PASSWORD}" }
[registries.tokyo]
url = "http://127.0.0.1:8081"
username = "causeway"
password = "cAnArY"
"""
COPY = '[mirrors.schemas]\nmode = "copy"\n'
ENVIRON = {"TOKEN": "cAnArY", "KEY_PASSWORD": "cAnArY"}
GOOD = CLUSTERS + REGISTRIES + MIRROR + COPY


def test_registries_by_the_aliases_of_their_clusters(loaded: Load) -> None:
    settings = loaded(GOOD, environ=ENVIRON)
    mirror = settings.mirrors[0]
    assert source_registries(settings, mirror) == {
        "paris": Registry(
            "paris",
            ("https://a.paris.example.com", "https://b.paris.example.com"),
            token="${env:TOKEN}",
            ca="/ca.pem",
            certificate="/own.pem",
            key="/own.key",
            key_password="${env:KEY_PASSWORD}",
            context=".eu",
            timeout=2.0,
        )
    }
    assert destination_registry(settings, mirror).urls == ("http://127.0.0.1:8081",)


def test_other_registries(loaded: Load) -> None:
    settings = loaded(GOOD + 'source = "tokyo"\ndestination = "paris"\n', environ=ENVIRON)
    mirror = settings.mirrors[0]
    assert [each.alias for each in source_registries(settings, mirror).values()] == ["tokyo"]
    assert destination_registry(settings, mirror).alias == "paris"


def test_no_secret_is_shown(loaded: Load) -> None:
    settings = loaded(GOOD, environ=ENVIRON)
    copies = [
        repr(settings),
        effective(settings, settings.mirrors[0]),
        settings.model_dump_json(),
        repr(pickle.loads(pickle.dumps(settings))),
        repr(source_registries(settings, settings.mirrors[0])),
        repr(destination_registry(settings, settings.mirrors[0])),
    ]
    assert not [copy for copy in copies if "cAnArY" in copy]
    assert "[registries.paris]" in copies[1]
    assert re.search(r'^schemas = .*mode.* = "copy"', copies[1], re.MULTILINE)
    assert [secret.key for secret in settings.literal_secrets] == ["registries.tokyo.password"]
    assert Settings.model_validate_json(json.dumps(json.loads(copies[2]))).registries.keys() == {
        "paris",
        "tokyo",
    }


def test_a_mirror_that_copies_nothing_has_no_registries(loaded: Load) -> None:
    settings = loaded(CLUSTERS + REGISTRIES + MIRROR, environ=ENVIRON)
    assert source_registries(settings, settings.mirrors[0]) == {}
    assert schema_policy(settings.mirrors[0], ["orders"]) is None
    assert "registries" not in effective(settings, settings.mirrors[0])


def test_what_tasks_do(loaded: Load) -> None:
    more = (
        'keys = "none"\nvalues = "record"\nexclude = ["raw\\\\..*"]\nunknown_ids = "pass"\nversions = "all"\n'
    )
    settings = loaded(GOOD + more, environ=ENVIRON)
    policy = schema_policy(settings.mirrors[0], ["orders", "raw.a"])
    assert policy == SchemaPolicy(("value",), "pass", ("raw.a",))
    assert policy.parts_of("orders") == ("value",)
    assert policy.parts_of("raw.a") == ()


def test_by_variable_and_option(loaded: Load) -> None:
    settings = loaded(
        GOOD,
        "-X registries.paris.timeout=3s".removeprefix("-X "),
        "mirrors.paris-to-tokyo.schemas.versions=all",
        environ={**ENVIRON, "CAUSEWAY__REGISTRIES__TOKYO__PASSWORD": "another"},
    )
    assert settings.registries["paris"].timeout == 3.0
    assert settings.registries["tokyo"].password == "another"
    assert settings.mirrors[0].schemas.versions == "all"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COPY, 'schemas.source: there is no [registries] table with the alias "paris": name one'),
        (COPY + 'source = "berlin"', 'mirrors[0].schemas.source: there is no registry "berlin"'),
        ('[mirrors.schemas]\ndestination = "berlin"', 'schemas.destination: there is no registry "berlin"'),
        ("[registries.a]\n", "registries.a.url: missing"),
        ('[registries.a]\nurl = "registry:8081"', "must be a URL that begins with http"),
        ('[registries.a]\nurl = "https://u:p@registry"', "must not have a user or a password in it"),
        ('[registries.a]\nurl = "https://r/?a=b"', "without a query"),
        ('[registries.a]\nurl = "https://r"\nusername = "u"', "username and password need each other"),
        (
            '[registries.a]\nurl = "https://r"\nusername = "u"\npassword = "p"\ntoken = "t"',
            "two ways to log in",
        ),
        ('[registries.a]\nurl = "http://r"\ntoken = "t"', "needs https, or unsafe = true"),
        ('[registries.a]\nurl = "https://r"\ncontext = "a/b"', "letters, digits"),
        ('[registries.a]\nurl = "https://r"\ntls = { key = "/k" }', "need a certificate"),
    ],
)  # fmt: skip
def test_problems(problems: Problems, text: str, said: str) -> None:
    assert any(said in problem for problem in problems(CLUSTERS + MIRROR + text)), problems(
        CLUSTERS + MIRROR + text
    )


def test_a_login_without_https(loaded: Load) -> None:
    open_registry = '[registries.a]\nurl = "http://r"\ntoken = "${env:TOKEN}"\nunsafe = true\n'
    settings = loaded(CLUSTERS + open_registry + MIRROR, environ=ENVIRON)
    (line,) = registry_warnings("a", settings.registries["a"])
    assert "unencrypted" in line
    assert registry_warnings("x", loaded(GOOD, environ=ENVIRON).registries["tokyo"]) == []
