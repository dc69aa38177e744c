"""Where the page is served: other machines get nothing without a token."""

from __future__ import annotations

import pytest

from causeway.config import WebSettings
from causeway.config.observability import is_loopback

from .conftest import GOOD, Load, Problems

TOKEN = "0123456789abcdef"
REMEDY = 'set `token = "${env:CAUSEWAY_TOKEN}"` under [web]'
OTHERS = ("0.0.0.0", "::", "10.1.2.3", "mirror-1", "127.0.0.1.evil.example", "2130706433", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_alone(loaded: Load, host: str) -> None:
    settings = loaded(GOOD, f"web.host={host}")
    assert is_loopback(host)
    assert not settings.web.reads_with_token
    assert loaded(GOOD, f"web.host={host}", "web.private=true", "web.token=x").web.reads_with_token


@pytest.mark.parametrize("host", OTHERS)
def test_other_addresses_are_not_this_machine_alone(host: str) -> None:
    assert not is_loopback(host)
    assert WebSettings.model_construct(host=host).reads_with_token


@pytest.mark.parametrize("host", OTHERS[:-1])
def test_other_machines_are_served_with_a_token_only(loaded: Load, problems: Problems, host: str) -> None:
    assert problems(GOOD, f"web.host={host}") == [
        f"-X web.host: web.host: other machines are served with a token only: {REMEDY}"
    ]
    assert loaded(GOOD, f"web.host={host}", f"web.token={TOKEN}").web.host == host
    assert loaded(GOOD, f"web.host={host}", "web.enabled=false").web.host == host
    # As the compat commands do: the metrics alone.
    assert loaded(GOOD, f"web.host={host}", "metrics.public=true").metrics.public


def test_a_short_token_is_refused_where_others_can_guess(loaded: Load, problems: Problems) -> None:
    short = TOKEN[:-1]
    assert loaded(GOOD, f"web.token={short}").web.token == short
    lines = problems(GOOD, "web.host=0.0.0.0", f"web.token={short}", f"metrics.token={short}")
    assert len(lines) == 2
    assert all("at least 16 characters" in line and short not in line for line in lines)


def test_private_needs_a_token(problems: Problems) -> None:
    assert problems(GOOD, "web.private=true") == [f"-X web.private: web.private: needs a token: {REMEDY}"]


def test_tls(loaded: Load, problems: Problems) -> None:
    text = GOOD + "[web.tls]\ncertificate = '/c.pem'\nkey_password = '${env:PASSWORD}'\n"
    settings = loaded(text, "web.tls.key=/c.key", environ={"PASSWORD": "s3cret"})
    assert settings.web.tls is not None
    assert (settings.web.tls.certificate, settings.web.tls.key) == ("/c.pem", "/c.key")
    assert settings.web.tls.key_password == "s3cret"
    assert "s3cret" not in repr(settings) + str(settings.web)
    (line,) = problems(GOOD + "[web.tls]\nkey = '/c.key'\n")
    assert line.startswith("mirror.toml: web.tls.certificate: missing")
