"""Advice for users of a compat command: they have the tool's configuration, and no Causeway file yet."""

from __future__ import annotations

import re

from causeway.compat.translation import Translation
from causeway.errors import AccessDenied, Unreachable

_RUN = re.compile(r"`causeway run CONFIG")
_WITH_FILE = re.compile(r"`causeway (adopt|check|verify|resume|offsets \w+)(?: CONFIG)?(?=[ `])")
_APPEND = 'set on_existing_records = "append"'


def reworded(translation: Translation, command: str, todo: str, cluster: str = "") -> str:
    """The advice in the tool's own terms; `cluster` is the alias of the cluster that failed, if any."""
    if todo == AccessDenied.remedy:
        return f"{_login(translation, cluster)}, and the ACLs of that user"
    if todo == Unreachable.remedy:
        keys = translation.keys.get(cluster)
        return f"check {keys.address if keys else 'the addresses'}, the network and that the brokers run"
    todo = todo.replace(_APPEND, "give -X mirrors.0.on_existing_records=append")
    todo = _RUN.sub(f"`causeway {command} …", todo)
    first = True

    def with_file(match: re.Match[str]) -> str:
        nonlocal first
        conversion = f"`causeway convert {command} … > FILE`, then " if first else ""
        first = False
        return f"{conversion}`causeway {match[1]} FILE"

    return _WITH_FILE.sub(with_file, todo)


def _login(translation: Translation, cluster: str) -> str:
    known = [translation.keys[cluster]] if cluster in translation.keys else list(translation.keys.values())
    logins = [keys.login for keys in known if keys.login]
    if logins:
        return f"check {', '.join(logins)}"
    return (
        f"{translation.tool} has no keys for authentication: set it with"
        f" -X clusters.{cluster or 'ALIAS'}.properties.security.protocol=…"
        " and check the sasl.… or ssl.… properties"
    )
