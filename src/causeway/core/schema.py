"""Schemas: how records name them, and what a registry knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Part = Literal["key", "value"]
PARTS: tuple[Part, ...] = ("key", "value")

SchemaId = int | str
"""A registry's number for a schema; or a GUID, which names the same schema in every registry."""


class SchemaUse(NamedTuple):
    """A schema that records of a source topic name. Registries with contexts have a number several times."""

    cluster: str
    topic: str
    part: Part
    id: SchemaId

    def __str__(self) -> str:
        kind = "GUID" if isinstance(self.id, str) else "id"
        return f"schema {kind} {self.id} of {self.topic} ({self.part})"


@dataclass(frozen=True, slots=True)
class SchemaReference:
    name: str  # as the schema calls it
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The content of a schema, without the names and numbers that a registry gives it."""

    text: str
    type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)  # a data contract's `ruleSet`


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema
    guid: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """A schema registry, as its client needs it. Secrets may be references: each request resolves them."""

    alias: str
    urls: tuple[str, ...]  # of one registry: where one does not respond, the next one is asked
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca: str = ""
    certificate: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    context: str = ""
    timeout: float = 10.0  # of one request

    def __str__(self) -> str:
        return self.urls[0]
