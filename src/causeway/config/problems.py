"""Messages for what the schema rejects.

Owns the translation of validation errors into messages, and the suggestion of the nearest known name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from causeway.config.config_tree import Document, KeyPath, shown, table_at
from causeway.config.toml import written

MOST_EXPLAINED = 1_000
"""More are never printed, and each takes time."""

_KEY_MARK = "[key]"
"""The schema's mark for an error in a key instead of its value."""

_MESSAGES = {
    "string_type": "must be a string",
    "string_unicode": "must be valid UTF-8 text",
    "string_too_short": "must not be empty",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "tuple_type": "must be a string or a list of strings",
    "too_short": "must not be empty",
}


def nearest_name(word: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or an empty string."""
    by_fold = {name.lower().replace("-", "_"): name for name in names}
    close = difflib.get_close_matches(word.lower().replace("-", "_"), by_fold, n=1)
    return by_fold[close[0]] if close else ""


def nearest(word: str, names: Iterable[str]) -> str:
    """`, did you mean "source"?`, or nothing if no name is near."""
    name = nearest_name(word, names)
    return f', did you mean "{name}"?' if name else ""


def explain(document: Document, error: ValidationError) -> None:
    """Add every error of the schema to the document's problems."""
    errors = error.errors(include_url=False)[:MOST_EXPLAINED]
    unknown = [details["loc"] for details in errors if details["type"] == "extra_forbidden"]
    misspelt = {(*path[:-1], _meant(path)) for path in unknown}
    for details in errors:
        path: KeyPath = details["loc"]
        if path[-1:] == (_KEY_MARK,):
            document.problem(path[:-1], _reason(details))
        elif path in unknown:
            document.problem(path, _unknown(path))
        elif details["type"] != "missing":
            document.problem(path, _invalid_value(document, path, details))
        elif path not in misspelt:  # otherwise the misspelt key is reported
            document.problem(path, _missing(path))


def _meant(path: KeyPath) -> str:
    table = table_at(path[:-1])
    return nearest_name(str(path[-1]), table.model_fields) if table else ""


def _unknown(path: KeyPath) -> str:
    meant = _meant(path)
    if path[0] == "clusters" and path[-1] == "ssl":
        return f"unknown key; TLS is in [clusters.{path[1]}.tls], client properties under .properties"
    if meant:
        return f'unknown key, did you mean "{meant}"?'
    if path[0] == "clusters":
        return f"unknown key; client properties go under [clusters.{path[1]}.properties]"
    return "unknown key"


def _missing(path: KeyPath) -> str:
    table = table_at(path[:-1])
    examples = table.model_fields[str(path[-1])].examples if table else None
    return f"missing, for example {path[-1]} = {written(examples[0])}" if examples else "missing"


def _invalid_value(document: Document, path: KeyPath, details: ErrorDetails) -> str:
    message, value = _reason(details), details["input"]
    if not document.may_show(path):
        return message
    if message.startswith("must ") and not message.startswith("must not"):
        message += f", not {shown(value)}"
    if details["type"] == "literal_error" and isinstance(value, str):
        message += nearest(value, _choices(details))
    detail = details.get("ctx", {}).get("detail")
    return f"{message} ({detail})" if detail else message


def _reason(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return "must be one of " + ", ".join(f'"{choice}"' for choice in _choices(details))
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    return _MESSAGES.get(kind, details["msg"])


def _choices(details: ErrorDetails) -> list[str]:
    return re.findall("'([^']*)'", details["ctx"]["expected"])
