"""Where a record names the schemas of its key and value, and the same record with other ids. Pure.

Confluent's serializers write one of two formats:

    prefix   the key or value begins with a zero byte and the id, four bytes, big-endian
    header   `__key_schema_id`, `__value_schema_id`: a zero byte and the id, or a one byte and a GUID, sixteen
             bytes. The key or value is then the bare content, whatever it begins with

Registries count ids from 1. So eight bytes of a small number, as a LongSerializer writes them, are no id.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from causeway.core.position import SourcePartition
from causeway.core.schema import PARTS, Part, SchemaId
from causeway.rules.header_names import Headers
from causeway.rules.integrity import Finding

HEADER_NAMES: Mapping[Part, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
PREFIX_BYTES, GUID_BYTES = 5, 17
_ID = Struct(">i")
_WITH_ID, _WITH_GUID = 0, 1


class NamedSchema(NamedTuple):
    part: Part
    id: SchemaId
    in_header: bool = False


class Parts(NamedTuple):
    """What of a record may be rewritten."""

    key: bytes | None
    value: bytes | None
    headers: Headers | None


def named_schemas(parts: Parts, among: tuple[Part, ...] = PARTS) -> list[NamedSchema]:
    """The schemas that a record names. Content that only looks like an id cannot be told from one."""
    found = []
    for part in among:
        header = _header(part, parts.headers)
        if header is not None:
            schema_id = _in_header(header)
            if schema_id is not None:
                found.append(NamedSchema(part, schema_id, in_header=True))
        elif (schema_id := _in_prefix(parts.key if part == "key" else parts.value)) is not None:
            found.append(NamedSchema(part, schema_id))
    return found


def rewritten(parts: Parts, schema: NamedSchema, to: int) -> Parts:
    """The record with another id at the same place: four bytes change, and nothing else."""
    assert isinstance(schema.id, int), "a GUID is the same in every registry"
    if schema.in_header:
        name = HEADER_NAMES[schema.part]
        headers = list(parts.headers or ())
        last = max(index for index, (each, _) in enumerate(headers) if each == name)
        headers[last] = (name, _with_id(headers[last][1] or b"", to))
        return parts._replace(headers=headers)
    if schema.part == "key":
        return parts._replace(key=_with_id(parts.key or b"", to))
    return parts._replace(value=_with_id(parts.value or b"", to))


def _with_id(data: bytes, to: int) -> bytes:
    return data[:1] + _ID.pack(to) + data[PREFIX_BYTES:]


def _in_prefix(data: bytes | None) -> int | None:
    if data is None or len(data) < PREFIX_BYTES or data[0] != _WITH_ID:
        return None
    schema_id = int(_ID.unpack_from(data, 1)[0])
    return schema_id if schema_id > 0 else None


def _header(part: Part, headers: Headers | None) -> bytes | None:
    """The last header of this name counts, as for the deserializers."""
    name = HEADER_NAMES[part]
    return next((value for each, value in reversed(headers or ()) if each == name), None)


def _in_header(value: bytes) -> SchemaId | None:
    if value[:1] == bytes([_WITH_ID]):
        return _in_prefix(value)
    if value[:1] == bytes([_WITH_GUID]) and len(value) >= GUID_BYTES:
        return str(uuid.UUID(bytes=value[1:GUID_BYTES]))
    return None


def unknown_schema(source: SourcePartition, offset: int, schema: NamedSchema) -> Finding:
    kind = "GUID" if isinstance(schema.id, str) else "id"
    return Finding(
        "poison",
        f"the {schema.part} of the record at {source} offset {offset} names the schema {kind} {schema.id},"
        f" which the source's registry does not have under the subjects of {source.topic}",
        f"restore it there and start again; if {schema.part}s of this topic name no schemas, say so:"
        f' `exclude` or `{schema.part}s = "none"` under [mirrors.schemas];'
        ' unknown_ids = "pass" replicates such records unchanged',
        offset,
    )
