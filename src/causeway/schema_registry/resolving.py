"""From an id that a record names to the id of the same schema at the destination; copies what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from causeway.core.choices import SubjectStrategy
from causeway.core.schema import Part, RegisteredSchema, Schema, SchemaUse
from causeway.rules.schema_subjects import renamed_subject, subjects_of
from causeway.schema_registry.copying import SchemaConflict, SchemaCopies

Strategies = Mapping[Part, SubjectStrategy]


@dataclass(frozen=True, slots=True)
class ResolvedSchema:
    from_subject: str
    there: RegisteredSchema


def resolve(
    copies: SchemaCopies, strategies: Strategies, use: SchemaUse, to_topic: str
) -> ResolvedSchema | None:
    """The schema at the destination, under the subjects of this topic; None if the source does not have it.

    An id that other subjects have, and none of the topic's, is not taken for a schema: the record may begin
    with these bytes by chance.
    """
    source, strategy = copies.source, strategies[use.part]
    schema_id = source.id_of_guid(use.id) if isinstance(use.id, str) else use.id
    schema = source.by_id(schema_id) if schema_id is not None else None
    if schema_id is None or schema is None:
        return None
    live = source.uses(schema_id)
    resolved = None
    for subject in subjects_of(strategy, use.topic, use.part, live, schema):
        to_subject = renamed_subject(strategy, subject, use.topic, to_topic)
        resolved = resolved or ResolvedSchema(subject, copies.copy(subject, to_subject, live[subject]))
    resolved = resolved or _deleted(copies, strategy, use, to_topic, schema_id, schema)
    if resolved is not None and isinstance(use.id, str):
        _check_guid(copies, use.id, resolved)
    return resolved


def _deleted(
    copies: SchemaCopies,
    strategy: SubjectStrategy,
    use: SchemaUse,
    to_topic: str,
    schema_id: int,
    schema: Schema,
) -> ResolvedSchema | None:
    """A schema whose versions were soft-deleted, and which records still name: they must stay readable."""
    gone = copies.source.uses(schema_id, deleted=True)
    for subject in subjects_of(strategy, use.topic, use.part, gone, schema):
        to_subject = renamed_subject(strategy, subject, use.topic, to_topic)
        return ResolvedSchema(subject, copies.copy_deleted(schema, to_subject))
    return None


def _check_guid(copies: SchemaCopies, guid: str, resolved: ResolvedSchema) -> None:
    """A GUID in a header stays as it is, so the destination's registry must have the schema under it."""
    if copies.destination.id_of_guid(guid) is None:
        raise SchemaConflict(
            f"the destination's registry has no schema with the GUID {guid}",
            where=f"{copies.destination.registry}, subject {resolved.there.subject}",
            why="it gives no GUIDs, or the schema refers to other versions there",
            todo="records that name schemas in headers need a registry with GUIDs on both sides",
        )
