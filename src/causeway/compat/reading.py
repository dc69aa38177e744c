"""Reads files as text, and values as the tools write them.

An unusable value becomes a problem under the tool's own key; if Causeway's schema rejects the value, the
problem has the schema's message.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from causeway.compat.translation import Translation
from causeway.config.config_tree import shown
from causeway.config.input_limits import SMALL_BYTES, decoded, read_bytes

_UNBOUNDED = 2**31 - 1
"""Bounds from here on are limits of types: messages omit them."""


def text_of(path: Path) -> str:
    """A file as text; raises ConfigError if it cannot be read."""
    return decoded(read_bytes(path, SMALL_BYTES), str(path))


def servers(text: str) -> list[str]:
    """A comma-separated list of brokers, without empty entries."""
    return [server for part in text.split(",") if (server := part.strip())]


def fitting(translation: Translation, key: str, text: str, kind: Any) -> str:
    """Returns the text; adds a problem if a setting of this kind rejects it."""
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]
        why = str(reason.get("ctx", {}).get("error", reason["msg"]))
        translation.problem(key, f"{why}, not {shown(text)}")
    return text


def whole(translation: Translation, key: str, text: str, low: int, high: int) -> int:
    """An integer within bounds; otherwise adds a problem and returns the lower bound."""
    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,18})", text) and low <= int(text) <= high:
        return int(text)
    bounds = f"of at least {low}" if high >= _UNBOUNDED else f"between {low} and {high}"
    translation.problem(key, f"must be an integer {bounds}, not {shown(text)}")
    return low
