"""Replaces each secret of a converted configuration with a reference to an environment variable.

`causeway convert` prints to a terminal, to a file that is kept, to a log. The secrets of the tool's own file
must not spread to all of those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from causeway.compat.translation import Translation
from causeway.config import secrets
from causeway.config.config_tree import dotted


def concealed(translation: Translation) -> Translation:
    """The translation with `${env:NAME}` in place of every secret, and a note for each variable to set."""
    variables: dict[str, str] = {}  # name → the key that refers to it

    def reference(prefix: str, path: tuple[str, ...]) -> str:
        key = "_".join(path[-2:] if path[-2] in ("sasl", "tls") else path[-1:])
        wanted = re.sub(r"\W", "_", f"{prefix}_{key}", flags=re.ASCII).upper()
        name, count = wanted, 1
        while name in variables:
            count += 1
            name = f"{wanted}_{count}"
        variables[name] = dotted(path)
        return f"${{env:{name}}}"

    def conceal(prefix: str, path: tuple[str, ...], value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: conceal(prefix, (*path, str(key)), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [conceal(prefix, path, inner) for inner in value]
        secret = isinstance(value, str) and secrets.redact(path[-1], value) != value
        return reference(prefix, path) if value and secret else value

    result = replace(
        translation,
        clusters={
            alias: conceal(alias, ("clusters", alias), table) for alias, table in translation.clusters.items()
        },
        mirrors=[conceal("filter", ("mirrors",), mirror) for mirror in translation.mirrors],
        notes=list(translation.notes),
    )
    for name, key in variables.items():
        result.note(
            name,
            f"set this variable to the secret of {key}; `causeway convert` writes references "
            f"instead of secrets",
        )
    return result
