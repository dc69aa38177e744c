"""Translates kaf-relay's nodes and target to clusters: addresses, SASL and TLS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from causeway.compat.kaf_relay.keys import Values
from causeway.compat.reading import fitting
from causeway.compat.translation import ClusterKeys, Translation
from causeway.config import fields, secrets
from causeway.config.config_tree import shown
from causeway.config.input_limits import is_file
from causeway.config.problems import nearest

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_FILES = {
    "ca_cert_path": "ca",
    "client_cert_path": "certificate",
    "client_key_path": "key",
}


def literal(text: str) -> str:
    """Escape a value so that the settings take it literally, not as a `${…}` reference."""
    return text.replace("${", "$${")


def alias(name: object, otherwise: str, taken: Iterable[str]) -> str:
    """The tool's name for a cluster, or `otherwise`, made a unique alias."""
    wanted = re.sub(r"[^A-Za-z0-9_-]+", "-", str(name or "")).strip("-")[:80] or otherwise
    used = set(taken)
    numbered = (wanted if count == 1 else f"{wanted}-{count}" for count in range(1, len(used) + 2))
    return next(name for name in numbered if name not in used)


def keys_of(translation: Translation, path: str, values: Values) -> ClusterKeys:
    """kaf-relay's keys for a cluster: `servers of sources[0] in config.toml`."""
    place = f"of {path} in {translation.origin}"
    login = "username and password" if values.get("enable_auth") else "enable_auth, username and password"
    return ClusterKeys(f"servers {place}", f"{login} {place}")


def cluster(translation: Translation, path: str, values: Values, directory: Path) -> dict[str, Any]:
    """The cluster's table; what cannot be honoured becomes a problem under the tool's own key."""
    table: dict[str, Any] = {"bootstrap_servers": _servers(translation, path, values)}
    if values.get("enable_auth"):
        table["sasl"] = _sasl(translation, path, values)
    if values.get("enable_tls"):
        table["tls"] = _tls(translation, path, values, directory)
    return table


def _servers(translation: Translation, path: str, values: Values) -> str:
    servers = values.get("servers")
    if not isinstance(servers, list) or not servers:
        translation.problem(f"{path}.servers", 'missing, for example servers = ["node1:9092"]')
        return ""
    return literal(fitting(translation, f"{path}.servers", ",".join(servers), fields.Servers))


def _sasl(translation: Translation, path: str, values: Values) -> dict[str, str]:
    mechanism = str(values.get("sasl_mechanism", ""))
    if mechanism not in MECHANISMS:
        instead = f", not {shown(mechanism)}{nearest(mechanism, MECHANISMS)}" if mechanism else ""
        translation.problem(
            f"{path}.sasl_mechanism", f"enable_auth needs one of {', '.join(MECHANISMS)}{instead}"
        )
    for key in ("username", "password"):
        if not values.get(key):
            translation.problem(f"{path}.{key}", "missing: enable_auth needs it")
    return {
        "mechanism": mechanism,
        "username": literal(str(values.get("username", ""))),
        "password": literal(str(values.get("password", ""))),
    }


def _tls(translation: Translation, path: str, values: Values, directory: Path) -> dict[str, str]:
    """Paths are relative to kaf-relay's working directory; executors have others, so make them absolute."""
    given = {key: directory / str(values[key]) for key in _FILES if values.get(key)}
    for key, file in given.items():
        if not is_file(file):
            name = file if secrets.shown_path(str(values[key])) == str(values[key]) else secrets.HIDDEN
            translation.problem(f"{path}.{key}", f"there is no file {name}")
    if ("client_cert_path" in given) != ("client_key_path" in given):
        missing = "client_key_path" if "client_cert_path" in given else "client_cert_path"
        translation.problem(
            f"{path}.{missing}", "missing: a client certificate needs its key, and a key its certificate"
        )
    return {_FILES[key]: literal(str(file)) for key, file in given.items()}
