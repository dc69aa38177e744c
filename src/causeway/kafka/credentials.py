"""What clients need besides librdkafka's own properties: PEM text, PKCS#12 truststores, token files.

All files are read whenever a client is created, and a token file again while the client lives, so that what
was rotated is picked up. No message here contains what is in a file.
"""

from __future__ import annotations

import base64
import json
import stat
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from causeway.config import secrets
from causeway.config.client_names import conversion, translated
from causeway.config.properties import PEM_TEXT, TOKEN_FILE, TRUSTSTORE, TRUSTSTORE_PASSWORD
from causeway.errors import AccessDenied, ConfigError, SecretMissing

LARGEST_BYTES = 16 * 2**20
"""Of a file with certificates: all authorities of a system take a quarter of a MiB."""
REREAD_SECONDS = 60.0
"""How long a token counts as valid for the client, unless it expires earlier: it asks again before that."""

OAUTH_CB = "oauth_cb"
_PEM = "-----BEGIN "
_JKS = b"\xfe\xed\xfe\xed"
_FILES = (*PEM_TEXT, "ssl.keystore.location", "ssl.crl.location")

Token = tuple[str, float, str, dict[str, str]]
"""A token, when the client must ask for the next one (seconds since 1970), its principal, SASL extensions."""
OauthCallback = Callable[[str], Token]


def usable(alias: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Properties with resolved references, as clients take them."""
    for name, value in properties.items():
        if "\0" in value:
            raise _unusable(alias, name, "its value has a NUL character, where the client would cut it off")
    names = translated(properties)  # again: references may have hidden what a property is
    if names.problems:
        raise ConfigError(
            "client properties cannot be used",
            problems=tuple(f"{name}: {problem}" for name, problem in names.problems),
            where=f'cluster "{alias}"',
            cluster=alias,
        )
    usable: dict[str, Any] = names.properties
    for file, text in PEM_TEXT.items():
        if _PEM in usable.get(file, ""):
            usable[text] = usable.pop(file)
    for name in _FILES:
        if name in usable:
            _check_readable(alias, name, usable[name])
    truststore, password = usable.pop(TRUSTSTORE, None), usable.pop(TRUSTSTORE_PASSWORD, "")
    if truststore:
        usable["ssl.ca.pem"] = _certificates(alias, truststore, password)
    token_file = usable.pop(TOKEN_FILE, None)
    if token_file:
        extensions = _extensions(usable.pop("sasl.oauthbearer.extensions", ""))
        callback = partial(_token, alias, token_file, extensions)
        callback("")  # here the reason reaches the user; the client would wait ten seconds, and not know it
        usable[OAUTH_CB] = callback
    return usable


def _check_readable(alias: str, name: str, path: str) -> None:
    """Name the file that is missing, too large, or JKS.

    The client's own message has OpenSSL's error numbers in it, and it would read a device or a pipe for ever.
    """
    what = f"{name}: {secrets.shown_path(path)}"
    try:
        facts = Path(path).stat()
        if stat.S_ISDIR(facts.st_mode):
            return  # of CA certificates
        if not stat.S_ISREG(facts.st_mode):
            raise _unusable(alias, what, "it is not a file")
        if facts.st_size > LARGEST_BYTES:
            raise _unusable(alias, what, f"it is larger than {LARGEST_BYTES // 2**20} MiB")
        with Path(path).open("rb") as file:
            start = file.read(len(_JKS))
    except (OSError, ValueError) as error:
        # Missing while it is replaced, perhaps: a running mirror waits for it, as for any secret.
        why = getattr(error, "strerror", None) or "cannot be read"
        raise _unusable(alias, what, why, kind=SecretMissing) from None
    if start == _JKS:
        store = "keystore" if name == "ssl.keystore.location" else "truststore"
        raise _unusable(alias, what, conversion(store, path))


def _certificates(alias: str, path: str, password: str) -> str:
    """The certificates in a truststore, as PEM: librdkafka has no truststores, and no type was needed."""
    _check_readable(alias, "truststore", path)
    with Path(path).open("rb") as file:
        content = file.read(LARGEST_BYTES)
    if _PEM.encode() in content:
        return content.decode(errors="replace")
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    except ImportError:
        raise _unusable(
            alias,
            f"the truststore {path}",
            "PKCS#12 truststores need the package cryptography",
            f"pip install cryptography, or `openssl pkcs12 -in {path} -nokeys -out ca.pem`, and set tls.ca",
        ) from None
    try:
        store = pkcs12.load_pkcs12(content, password.encode() or None)
    except ValueError:
        why = "it is not PKCS#12, or the password is wrong"
        raise _unusable(alias, f"the truststore {path}", why, kind=SecretMissing) from None
    found = [each for each in (store.cert, *store.additional_certs) if each is not None]
    if not found:
        raise _unusable(alias, f"the truststore {path}", "it has no certificates")
    return "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in found)


def _token(alias: str, path: str, extensions: dict[str, str], _config: str) -> Token:
    """The token that is in the file now. Raises CausewayError where it is none, or has expired."""
    name = f"the token file {secrets.shown_path(path)}"
    token = secrets.content(path, name)
    if not token or not token.isascii() or any(sign.isspace() for sign in token):
        raise _unusable(alias, name, "is empty, or has more in it than a token")
    claims = _claims(token)
    now = time.time()
    until = now + REREAD_SECONDS
    expires = claims.get("exp")
    if isinstance(expires, int | float):
        if expires <= now:
            raise AccessDenied(
                "the token has expired",
                where=f'cluster "{alias}", {name.removeprefix("the ")}',
                why=f"it expired at {_shown(expires)}",
                todo="write a new token into the file; no restart is needed",
                cluster=alias,
            )
        if expires < until:
            until = float(expires)
    return token, until, str(claims.get("sub", "")), extensions


def _shown(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))
    except (OverflowError, ValueError, OSError):
        return "a time that no calendar has"


def _claims(token: str) -> Mapping[str, Any]:
    """What a JSON web token says of itself; nothing for other tokens, which only the brokers understand."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _extensions(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return {name.strip(): value for name, _, value in pairs}


def _unusable(
    alias: str, what: str, why: str, todo: str = "", kind: type[ConfigError] = ConfigError
) -> ConfigError:
    return kind(f"{what} cannot be used", where=f'cluster "{alias}"', why=why, todo=todo, cluster=alias)
