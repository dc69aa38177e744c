"""Secrets: references to them, and which property names hold them.

Owns `${env:NAME}`, `${file:/path}` and `${dir:/path:key}`, which may occur anywhere in a value, and the one
table that decides which values are never shown. `$${` is a literal `${`. The names are those of Kafka's own
configuration providers (KIP-297); a file holds one value here, and white space at its end does not count.

No message of this module contains a value or the content of a file, only the reference's own text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from causeway.errors import ConfigError, SecretMissing

_read: dict[str, str] = {}
"""Content of files as last read: a file that is missing for a moment, while it is replaced, is no failure."""

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_WHOLE_REFERENCE = re.compile(r"\$\{(env|file|dir):[^}]+\}")
_USER = re.compile(r"(//).*@|^[^\s:/@]+:(?!(?:\w+:)?//).*@", re.DOTALL)
"""User and password in an address, up to the last "@": a password may have any character in it."""
_LARGEST = 1024 * 1024
_KINDS = 'references are ${env:NAME}, ${file:/path} or ${dir:/path:key} ("$${" is a literal "${")'

HIDDEN = "***"
OMITTED = "${omitted}"
"""Stands for a secret in a copy of settings. It is no reference: whoever uses the copy is told so."""

SECRET_PARTS = (
    "accesskey",
    "accesssignature",
    "accountkey",
    "apikey",
    "authkey",
    "authorization",
    "basicauth",
    "connectionstring",
    "cookie",
    "credential",
    "encryptionkey",
    "jaasconfig",
    "keypem",
    "keystorekey",
    "kinitcmd",
    "oauthbearerconfig",
    "oauthbearerextensions",
    "passphrase",
    "passcode",
    "password",
    "passwd",
    "privatekey",
    "secret",
    "sharedkey",
    "signingkey",
    "token",
)
"""A property is secret if its name, without what separates its words, contains one of these. Hiding too much
costs nothing."""

_SECRET_ENDS = re.compile(r"(?:^|[._-])(?:auth|pass|pwd|sas)$")

PUBLIC = ("tokenfile", "tokenurl", "tokenca", "tokenendpointurl", "keyfile", "keylocation")
"""Names that would be secret by this, but hold paths and addresses."""

_SECRET_TEXT = re.compile(
    r"PRIVATE KEY-|^\s*(?-i:M[C-I])[\w+/]{38}|"
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|key|signature|[?&;]sig)\s*=|"
    r"\b(?:basic|bearer)\s+[\w+/=.~-]{8}|\beyJ[\w-]+\.eyJ",
    re.IGNORECASE,
)
"""Values that are secret whatever their name: keys, options like password=…, headers, JSON web tokens.

A private key in base64 without the lines around it begins with the DER of its length."""

_LONGEST_PATH = 255
_LIKELY_PATH = re.compile(r"[/.~].*|.{0,40}|.*\.\w{1,8}")


def is_secret(name: str) -> bool:
    folded = re.sub(r"[-_.\s]", "", name).lower()
    if folded.endswith(PUBLIC):
        return False
    return any(part in folded for part in SECRET_PARTS) or bool(_SECRET_ENDS.search(name.lower()))


def holds_secret(name: str, value: str) -> bool:
    """Whether a property must not be shown: judged by its name, and by a value that says what it is."""
    return is_secret(name) or bool(_SECRET_TEXT.search(value))


def redact(name: str, value: str, instead: str = HIDDEN) -> str:
    """`value` as it may be shown: references unchanged, other values of secret names hidden."""
    if _WHOLE_REFERENCE.fullmatch(value):
        return value
    return instead if holds_secret(name, value) else _USER.sub(rf"\1{HIDDEN}@", value)


def redacted(name: str, value: Any, instead: str = HIDDEN) -> Any:
    """The same for a value of any type, including nested values."""
    if isinstance(value, Mapping):
        return redacted_table(value, instead)
    if isinstance(value, list | tuple):
        return type(value)(redacted(name, inner, instead) for inner in value)
    return redact(name, value, instead) if isinstance(value, str) and value else value


def redacted_table(table: Mapping[Any, Any], instead: str = HIDDEN) -> dict[Any, Any]:
    return {key: redacted(str(key), value, instead) for key, value in table.items()}


def shown_path(text: str) -> str:
    """A path for a message, unless it may be the content of a file that was written in its place."""
    if len(text) > _LONGEST_PATH or not _LIKELY_PATH.fullmatch(text) or _SECRET_TEXT.search(text):
        return HIDDEN
    return text


def has_reference(value: str) -> bool:
    return "${" in value


def references(value: str) -> list[str]:
    """Each reference in a value, as it is written there."""
    return [match[0] for match in _REFERENCE.finditer(value) if match[0] != "$${" and match[2]]


def resolve(value: str, environ: Mapping[str, str] = os.environ) -> str:
    """`value` with its references replaced; raises ConfigError naming the one that cannot be."""
    length = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal length
        text = replaced(match)
        length += len(text)
        if length > _LARGEST:
            raise ConfigError("what its references stand for is larger than 1 MiB")
        return text

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        kind, _, name = match[1].partition(":")
        # What is not a reference may be part of a password, so the message does not repeat it.
        if not match[2]:
            raise ConfigError('a reference begins with "${" and has no "}" ("$${" is a literal "${")')
        if match[0] == OMITTED:
            raise ConfigError("copies of a configuration have no secrets but references: write one")
        if kind not in ("env", "file", "dir") or not name:
            raise ConfigError(_KINDS)
        if kind == "env":
            return _variable(name, environ)
        return content(_in_directory(name) if kind == "dir" else name, f"${{{kind}:{name}}}")

    return _REFERENCE.sub(replace, value)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    try:
        return environ[name]
    except KeyError:
        raise SecretMissing(f"${{env:{name}}}: the environment variable is not set") from None


def _in_directory(name: str) -> str:
    directory, _, key = name.rpartition(":")
    if not directory or not key or "/" in key or key in (".", ".."):
        raise ConfigError(f"${{dir:{name}}}: must be a directory and the name of a file in it")
    return f"{directory}/{key}"


def content(name: str, reference: str) -> str:
    """The text in a file, as it is now; errors name the reference."""
    path = Path(name)
    if not path.is_absolute():
        # Executors run in their own directories, where a relative path means something else.
        raise ConfigError(f"{reference}: the path must be absolute")
    try:
        if not path.is_dir() and not path.is_file() and path.exists():
            raise ConfigError(f"{reference}: is not a regular file")
        with path.open("rb") as file:
            read = file.read(_LARGEST + 1)
        if len(read) > _LARGEST:
            raise ConfigError(f"{reference}: is larger than 1 MiB")
        _read[name] = read.decode("utf-8").rstrip()
    except OSError as error:
        if name not in _read:
            raise SecretMissing(f"{reference}: {error.strerror or 'cannot be read'}") from None
    except ValueError:  # not UTF-8, or a path that no file can have
        raise ConfigError(f"{reference}: cannot be read as UTF-8 text") from None
    return _read[name]
