"""Texts of others lose what they repeat of a secret, in each form that it may take there."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.config.secret_values import SHORTEST, concealed, of_properties, of_references
from causeway.config.secrets import redact, shown_path
from causeway.errors import ConfigError
from support.canaries import canary, found_in

SECRET = canary("password")


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"])
@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f'Invalid value "{SECRET}" for configuration property "x"',
        f"GET /token?client_secret={quote(SECRET, safe='')} failed",
        json.dumps({"error": "bad secret", "given": SECRET}),
        json.dumps({"error": "bad secret", "given": SECRET}, ensure_ascii=False),
    ],
)  # fmt: skip
def test_a_secret_is_hidden_in_each_form(name: str, text: str) -> None:
    shown = of_properties({name: SECRET, "linger.ms": "5"})(text)
    assert found_in(text)
    assert found_in(shown) == []
    assert "***" in shown


@pytest.mark.parametrize("user", ["", "a", "ab", "abc"])
def test_a_header_with_user_and_password_is_hidden(user: str) -> None:
    sent = base64.b64encode(f"{user}:{SECRET}".encode()).decode()
    conceal = of_properties({"sasl.password": SECRET})
    for text in (f"authorization: Basic {sent}", f"request {sent} failed"):
        assert found_in(text)
        assert found_in(conceal(text)) == []


def test_a_token_is_hidden_whoever_gave_it() -> None:
    assert of_properties({})("401 for eyJhbGciOi.eyJzdWIiOiJ.abc_-, sorry") == "401 for ***, sorry"


def test_extensions_are_hidden_one_by_one() -> None:
    conceal = of_properties({"sasl.oauthbearer.extensions": f"a=shown-not,b={SECRET}"})
    assert conceal(f"extension {SECRET} and shown-not") == "extension *** and ***"


def test_what_is_no_secret_is_shown() -> None:
    text = "sasl_ssl://paris-1:9093/bootstrap: SASL authentication error: no such user ann"
    properties = {"sasl.username": "ann", "bootstrap.servers": "paris-1:9093", "sasl.password": "ssl"}
    assert of_properties(properties)(text) == text


def test_the_value_of_a_reference_is_shown_as_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", SECRET)
    conceal = of_references({"security.protocol": "x${env:A}", "linger.ms": "${env:NOPE}", "y": "$${env:B}"})
    assert conceal(f'Invalid value "x{SECRET}"') == 'Invalid value "x${env:A}"'


def test_every_text_of_an_error_is_covered() -> None:
    hide = of_properties({"password": SECRET})
    error = ConfigError(SECRET, problems=(SECRET,), where=SECRET, why=SECRET, todo=SECRET)
    shown = concealed(error, [hide])
    assert shown is error
    assert found_in(repr(shown) + str(shown) + "\n".join(shown.lines()) + repr(shown.__reduce__())) == []


@given(st.text(min_size=SHORTEST), st.text(), st.text())
def test_no_text_keeps_a_secret(secret: str, before: str, after: str) -> None:
    shown = of_properties({"password": secret})(before + secret + after)
    assert len(shown) <= len(before + after) + len("***") * (1 + len(before + after))
    assert secret not in shown or secret in "***" or len(secret) < 2 * SHORTEST


@pytest.mark.parametrize("path", ["/etc/kafka/ca.pem", "ca.pem", "../my key.p12", "~/ca", "nope", "/nope"])
def test_paths_are_shown(path: str) -> None:
    assert shown_path(path) == path


@pytest.mark.parametrize(
    "content",
    [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ",
        "MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF",
        "a key\nof two lines",
        "eyJhbGciOi.eyJzdWIiOiJ.abc",
        "-----BEGIN PRIVATE KEY-----",
        "k" * 300,
        "3d2e1f0c9b8a79685746352413f2e1d0c9b8a796",
    ],
)
def test_the_content_of_a_file_in_place_of_its_path_is_not_shown(content: str) -> None:
    assert shown_path(content + "ff") == "***"


def test_a_key_without_the_lines_around_it_is_secret_whatever_its_name() -> None:
    key = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg"
    assert redact("key", key) == redact("key", f"\n {key}") == "***"
    certificate = f"-----BEGIN CERTIFICATE-----\n{key}"
    assert redact("ca", certificate) == certificate
