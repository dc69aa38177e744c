"""What all models of the API share: text is shown as text."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from causeway.printable import printable


class ApiModel(BaseModel):
    """Names and messages come from brokers, filters, ledgers and operators: they may have control characters,
    characters that reverse the reading direction, and lone surrogates, which UTF-8 cannot encode. All
    of these become escapes, in every field."""

    model_config = ConfigDict(frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return value if value.isprintable() else "\n".join(map(printable, value.split("\n")))
        if isinstance(value, list | tuple) and value and isinstance(value[0], str):
            return [printable(text) if isinstance(text, str) else text for text in value]
        return value
