"""`sasl.jaas.config` means what it means in Java, or is refused without a word of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.config.jaas import LONGEST, LoginModule, parse

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ('username="me" password="secret"', {"username": "me", "password": "secret"}),
        ("username='me' password='se\"cret'", {"username": "me", "password": 'se"cret'}),
        ("username=me password=s_e$c-r.e7", {"username": "me", "password": "s_e$c-r.e7"}),
        (r'password="a \"quoted\\ pass;word="', {"password": 'a "quoted\\ pass;word='}),
        (r'password="\t\x\101\0601"', {"password": "\tx" + "A" + "01"}),
        ('password = "two"\n\t username\n=\n"me"', {"password": "two", "username": "me"}),
        ('/* a "comment" */ password="x" // another;', {"password": "x"}),
        ('password="${env:PW}"', {"password": "${env:PW}"}),
        ('password="größe €"', {"password": "größe €"}),
        ('password=""', {"password": ""}),
        ('password="first" password="second"', {"password": "second"}),
        ("", {}),
    ],
)
def test_what_java_reads(options: str, read: dict[str, str]) -> None:
    end = "\n;" if "//" in options else ";"
    assert parse(f"{PLAIN} required {options}{end}") == LoginModule("PlainLoginModule", read)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no login module"),
        (" \n ", "names no login module"),
        ('= required password="cAnArY";', "names no login module"),
        (f"{PLAIN}", 'needs "required" after the login module'),
        (f'{PLAIN} password="cAnArY";', 'needs "required" after the login module'),
        (f'{PLAIN} required password="cAnArY"', 'must end with ";"'),
        (f'{PLAIN} required password="cAnArY;', 'must have options as name="value", in quotes'),
        (f"{PLAIN} required password=cAnArY!;", 'must have options as name="value", in quotes'),
        (f"{PLAIN} required password=-cAnArY;", 'must have options as name="value", in quotes'),
        (f"{PLAIN} required password=123;", 'must have options as name="value", in quotes'),
        (f"{PLAIN} required password=;", 'must have options as name="value", in quotes'),
        (f"{PLAIN} required password;", 'must have options as name="value", in quotes'),
        (f'{PLAIN} required; {PLAIN} required password="cAnArY";',
         'must have one login module, and nothing after its ";"'),
        ("x" * (LONGEST + 1), "is too long"),
    ],
)  # fmt: skip
def test_what_java_rejects(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value) == reason
    assert "cAnArY" not in repr(caught.value)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"])))
def test_every_password_can_be_quoted(password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    assert parse(f'{PLAIN} required password="{quoted}";').options == {"password": password}


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab=;\"'\\/* \n01.-$") | st.characters(), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert parse(text).name == parse(text).name
    except ValueError as error:
        assert str(error).isprintable()
