"""Copies versions of subjects from one registry to another. Every step may be repeated.

What the destination has already is found by its content, so a copy that was cut off, another instance, or the
mirror that goes the other way, get the ids that are there. An id is kept where the destination can import
schemas and the id is free there; otherwise the destination gives its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from causeway.core.schema import RegisteredSchema, Schema, SchemaReference
from causeway.errors import CausewayError, RegistryDenied
from causeway.rules.schema_subjects import context_of, foreign_versions, same_content
from causeway.schema_registry.client import IMPORT, INCOMPATIBLE, SchemaRegistryClient
from causeway.schema_registry.requests import Rejected

NO_CHECK = "NONE"
DEEPEST = 100
"""References inside references, at most."""

Warn = Callable[[str], None]


class SchemaConflict(CausewayError):
    """A schema cannot be copied as the destination's registry is now."""

    code = "schema-conflict"


class SchemaCopies:
    """The copies from one registry to another. Not for several threads."""

    def __init__(self, source: SchemaRegistryClient, destination: SchemaRegistryClient, warn: Warn) -> None:
        self.source = source
        self.destination = destination
        self._warn = warn
        self._copied: dict[tuple[str, int, str], RegisteredSchema] = {}
        self._imports: bool | None = None  # None: not tried yet

    def copy(self, subject: str, to_subject: str, up_to: int) -> RegisteredSchema:
        """Copy a version and those before it, in their order: the latest there is then the latest here."""
        copied = None
        for version in self.source.versions(subject):
            if version <= up_to:
                copied = self._copy(subject, version, to_subject)
        if copied is None or (subject, up_to, to_subject) not in self._copied:
            raise SchemaConflict(
                f"version {up_to} of subject {subject} was deleted", where=str(self.source.registry)
            )
        self._copy_level(subject, to_subject)
        return self._copied[subject, up_to, to_subject]

    def copy_deleted(self, schema: Schema, to_subject: str) -> RegisteredSchema:
        """Copy a schema of which records have the id, although its versions were deleted."""
        return self._register(replace(schema, references=self._references(schema, 0)), to_subject, 0, 0, ())

    def forget(self) -> None:
        """Compare everything with the destination again."""
        self._copied.clear()
        self._imports = None

    def _copy(self, subject: str, version: int, to_subject: str, depth: int = 0) -> RegisteredSchema:
        known = self._copied.get((subject, version, to_subject))
        if known is not None:
            return known
        original = self.source.version(subject, version)
        schema = replace(original.schema, references=self._references(original.schema, depth))
        found = self.destination.find(to_subject, schema)
        if found is None:
            found = self._register(
                schema, to_subject, original.id, version, self._originals(subject, version)
            )
        self._copied[subject, version, to_subject] = found
        return found

    def _originals(self, subject: str, version: int) -> tuple[RegisteredSchema, ...]:
        return tuple(
            self.source.version(subject, each) for each in self.source.versions(subject) if each <= version
        )

    def _references(self, schema: Schema, depth: int) -> tuple[SchemaReference, ...]:
        """Copy what a schema refers to, under the same names; versions may have other numbers there."""
        if depth > DEEPEST:
            raise SchemaConflict("schemas refer to each other in a circle", where=str(self.source.registry))
        copied = []
        for reference in schema.references:
            if context_of(reference.subject):
                raise SchemaConflict(
                    f"a schema refers to {reference.subject}, in another context",
                    where=str(self.source.registry),
                    todo="register what it refers to in its own context",
                )
            there = self._copy(reference.subject, reference.version, reference.subject, depth + 1)
            copied.append(replace(reference, version=there.version))
        return tuple(copied)

    def _register(
        self,
        schema: Schema,
        subject: str,
        schema_id: int,
        version: int,
        originals: tuple[RegisteredSchema, ...],
    ) -> RegisteredSchema:
        """Register a version, and return what the destination made of it. Its own response decides the id."""
        imported = schema_id > 0 and self._import(schema, subject, schema_id, version)
        if not imported:
            self._register_new(schema, subject, originals)
        found = self.destination.find(subject, schema)
        if imported and found is not None and found.id != schema_id:
            self._imports = False  # it has modes, or takes them for something else, and gives its own ids
        if found is None:
            raise SchemaConflict(
                f"a schema was registered under {subject}, and is not found there",
                where=str(self.destination.registry),
            )
        return found

    def _register_new(self, schema: Schema, subject: str, originals: tuple[RegisteredSchema, ...]) -> None:
        try:
            self.destination.register(subject, schema)
        except Rejected as error:
            if error.status != INCOMPATIBLE:
                raise SchemaConflict(
                    f"the destination's registry rejects a schema of subject {subject}",
                    where=error.where,
                    why=error.why,
                ) from None
            # The source has these versions, whatever its level is now. Only where others register under the
            # subject too, their level decides.
            foreign = foreign_versions(originals, self.destination.all_versions(subject)) if originals else ()
            if foreign or not originals:
                raise SchemaConflict(
                    f"a schema is incompatible with subject {subject} of the destination's registry",
                    where=error.where,
                    why=f"version {foreign[0].version} there is not of the source" if foreign else error.why,
                    todo="delete that version there, rename the destination topic, or lower the level there",
                ) from None
            with self._without_check(subject):
                self.destination.register(subject, schema)

    @contextlib.contextmanager
    def _without_check(self, subject: str) -> Iterator[None]:
        level = self.destination.compatibility(subject)
        self.destination.set_compatibility(subject, NO_CHECK)
        try:
            yield
        finally:
            self.destination.set_compatibility(subject, level)

    def _import(self, schema: Schema, subject: str, schema_id: int, version: int) -> bool:
        """Register a version at its own id and number; returns whether that was possible."""
        if self._imports is False:
            return False
        there = self.destination.by_id(schema_id)
        if there is not None and not same_content(there, schema):
            return False  # the id is taken
        if version in self.destination.versions(subject):
            return False
        try:
            mode = self.destination.mode(subject)
            if not mode and self.destination.registry_mode() == IMPORT:
                mode = IMPORT
        except RegistryDenied:
            self._imports = False
            return False
        if mode == IMPORT:
            self._warn(f"subject {subject} was in mode {IMPORT} already: only importers can register there")
        elif not self._begin_import(subject):
            return False
        try:
            self.destination.register(subject, schema, at_id=schema_id, version=version)
        except Rejected:
            return False
        finally:
            if mode != IMPORT:
                self.destination.set_mode(subject, mode)
        return True

    def _begin_import(self, subject: str) -> bool:
        """Put a subject into the mode for imports. A registry that cannot do that is not asked again."""
        try:
            self.destination.set_mode(subject, IMPORT)
            self._imports = True
        except (Rejected, RegistryDenied):
            self._imports = False
        return self._imports

    def _copy_level(self, subject: str, to_subject: str) -> None:
        """The level of the source is in force for the copy too, unless others register under it."""
        try:
            wanted, level = self.source.compatibility(subject), self.destination.compatibility(to_subject)
        except RegistryDenied as error:
            self._warn(f"compatibility levels are not copied: {error}")
            return
        if not wanted or wanted == level:
            return
        originals = self.source.all_versions(subject)
        if foreign_versions(originals, self.destination.all_versions(to_subject)):
            self._warn(
                f"subject {to_subject} keeps the level {level}, {subject} has {wanted}: others register there"
            )
            return
        try:
            self.destination.set_compatibility(to_subject, wanted)
        except (Rejected, RegistryDenied) as error:
            self._warn(f"the level of subject {to_subject} stays {level}, {subject} has {wanted}: {error}")
