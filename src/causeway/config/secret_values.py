"""Removes secrets from texts that others wrote: the Kafka client, a broker, a provider of tokens.

They may repeat what they were given: the client quotes the value of a property that it rejects, and a token
endpoint may return the request in its error. The value of a reference is shown as that reference.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from urllib.parse import quote, quote_plus

from causeway.config import secrets
from causeway.errors import CausewayError, ConfigError

SHORTEST = 4
"""A shorter value is no secret, and would be found in any text."""

_HEADER = re.compile(r"\b(basic|bearer)\s+[\w+/=.~-]{8,}|\beyJ[\w-]+\.eyJ[\w.-]+", re.IGNORECASE)
_EXTENSIONS = "sasl.oauthbearer.extensions"

AnyError = TypeVar("AnyError", bound=CausewayError)
Conceal = Callable[[str], str]
"""Returns a text without secrets."""


def of_properties(properties: Mapping[str, str]) -> Conceal:
    """Hides the values of properties, with references resolved, that hold secrets."""
    values = {
        value: secrets.HIDDEN for name, value in properties.items() if secrets.holds_secret(name, value)
    }
    for pair in properties.get(_EXTENSIONS, "").split(","):
        values[pair.partition("=")[2]] = secrets.HIDDEN
    return _replacing(values)


def of_references(properties: Mapping[str, str]) -> Conceal:
    """Shows the value of each reference in these properties as the reference, whatever the property is."""
    values = {}
    for reference in dict.fromkeys(
        each for value in properties.values() for each in secrets.references(value)
    ):
        with contextlib.suppress(ConfigError):
            values[secrets.resolve(reference)] = reference
    return _replacing(values)


def concealed(error: AnyError, conceals: Iterable[Conceal]) -> AnyError:
    """The same error, without secrets in its texts."""
    for conceal in conceals:
        error.what, error.where, error.why, error.todo = map(
            conceal, (error.what, error.where, error.why, error.todo)
        )
        if isinstance(error, ConfigError):
            error.problems = tuple(map(conceal, error.problems))
    error.args = (error.what,)
    return error


def _replacing(values: Mapping[str, str]) -> Conceal:
    forms: list[tuple[str, str]] = []

    def conceal(text: str) -> str:
        if not forms:  # made at the first text: most clients report nothing
            forms.extend(
                (form, instead)
                for value, instead in values.items()
                if len(value) >= SHORTEST
                for form in _forms(value)
                if len(form) >= SHORTEST
            )
            forms.sort(key=lambda pair: len(pair[0]), reverse=True)
        for form, instead in forms:
            text = text.replace(form, instead)
        return _HEADER.sub(lambda match: f"{match[1]} {secrets.HIDDEN}" if match[1] else secrets.HIDDEN, text)

    return conceal


def _forms(value: str) -> Iterable[str]:
    """A value, and what it looks like in addresses, in JSON and in headers."""
    yield from (value, quote(value, safe=""), quote_plus(value))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    yield value.replace("\\", "")  # lists of the client's have escapes
    yield from (part for part in value.split(",") if len(part) >= 2 * SHORTEST)
    # Inside of a longer text in base64, such as user:password, without what depends on the neighbours.
    for before, start in ((0, 0), (1, 2), (2, 3)):
        raw = b"\0" * before + value.encode()
        form = base64.b64encode(raw).decode().rstrip("=")[start : -1 if len(raw) % 3 else None]
        if len(form) >= 2 * SHORTEST:
            yield from (form, form.translate(str.maketrans("+/", "-_")))
