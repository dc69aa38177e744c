"""What all models of the API share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _encodable(text: object) -> object:
    """Escapes lone surrogates, which UTF-8 cannot encode. Brokers, filters and ledgers may contain them."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


FreeText = Annotated[str, BeforeValidator(_encodable)]
"""Text that comes from outside: messages of brokers and filters, names that operators type."""


class ApiModel(BaseModel):
    model_config = ConfigDict(frozen=True)
