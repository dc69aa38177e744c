"""Formats values as TOML, for the reference and the sample."""

from __future__ import annotations

import json


def written(value: object) -> str:
    """A value on one line; strings, numbers and booleans are spelled as in JSON."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {written(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML has it escaped
