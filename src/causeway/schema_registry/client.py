"""What a schema registry knows and does, in our values. Confluent's API, version 1.

Names of subjects are those inside the client's context: responses may qualify them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from causeway.core.schema import RegisteredSchema, Registry, Schema, SchemaReference
from causeway.errors import RegistryUnreachable
from causeway.rules.schema_subjects import context_of, unqualified
from causeway.schema_registry.requests import NotFound, RegistryRequests, Rejected

IMPORT, READWRITE = "IMPORT", "READWRITE"
INCOMPATIBLE = 409

Parsed = TypeVar("Parsed")


class SchemaRegistryClient:
    def __init__(self, requests: RegistryRequests) -> None:
        self._requests = requests

    @staticmethod
    def of(registry: Registry) -> SchemaRegistryClient:
        return SchemaRegistryClient(RegistryRequests(registry))

    @property
    def registry(self) -> Registry:
        return self._requests.registry

    def check(self) -> None:
        """Raise RegistryDenied or RegistryUnreachable where it cannot be used."""
        try:
            answer = self._requests.get("subjects", limit=1)  # every user may list what it may read
        except Rejected as error:
            raise self._nonsense("subjects", error.why) from None
        self._list(answer, "subjects")

    def subjects(self) -> list[str]:
        return [self._local(str(name)) for name in self._list(self._requests.get("subjects"), "subjects")]

    def versions(self, subject: str) -> list[int]:
        """The versions of a subject that are not deleted, in their order."""
        try:
            answer = self._requests.get("subjects", subject, "versions")
        except NotFound:
            return []
        found = self._list(answer, subject)
        return self._parsed(lambda: sorted(int(number) for number in found), subject, answer)

    def version(self, subject: str, version: int) -> RegisteredSchema:
        return self._registered(self._requests.get("subjects", subject, "versions", version), subject)

    def all_versions(self, subject: str) -> list[RegisteredSchema]:
        return [self.version(subject, number) for number in self.versions(subject)]

    def by_id(self, schema_id: int) -> Schema | None:
        """The schema with this id, also where its subjects are deleted; None if there is none."""
        try:
            found = self._mapping(self._requests.get("schemas", "ids", schema_id), f"id {schema_id}")
        except NotFound:
            return None
        return self._parsed(lambda: self._schema(found), f"id {schema_id}", found)

    def id_of_guid(self, guid: str) -> int | None:
        """The id that this registry's context gives the schema with this GUID."""
        try:
            answer = self._requests.get("schemas", "guids", guid, "ids")
        except Rejected:  # it is not there, or this registry has no GUIDs
            return None
        pairs = [self._mapping(each, guid) for each in self._list(answer, guid)]
        found = self._parsed(
            lambda: {str(pair["context"]).strip(":."): int(pair["id"]) for pair in pairs}, guid, answer
        )
        return found.get(self.registry.context.strip(":."))

    def uses(self, schema_id: int, *, deleted: bool = False) -> dict[str, int]:
        """The subjects that have the schema with this id, and the version in each."""
        query = {"deleted": "true"} if deleted else {}
        try:
            answer = self._requests.get("schemas", "ids", schema_id, "versions", **query)
        except NotFound:
            return {}
        pairs = [self._mapping(each, f"id {schema_id}") for each in self._list(answer, f"id {schema_id}")]
        return self._parsed(
            lambda: {self._local(str(pair["subject"])): int(pair["version"]) for pair in pairs},
            f"schemas/ids/{schema_id}/versions",
            answer,
        )

    def find(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        """The subject's version that has this content."""
        try:
            return self._registered(self._requests.post("subjects", subject, body=_body(schema)), subject)
        except NotFound:
            return None

    def register(self, subject: str, schema: Schema, *, at_id: int = 0, version: int = 0) -> None:
        """Register a version; at a certain id only where the subject's mode is IMPORT."""
        body = _body(schema)
        if at_id:
            body |= {"id": at_id, "version": version}
        self._requests.post("subjects", subject, "versions", body=body)

    def compatibility(self, subject: str) -> str:
        """The level that is in force for a subject: its own one, or the registry's."""
        for path in (("config", subject), ("config",)):
            try:
                answer = self._mapping(self._requests.get(*path), subject)
            except NotFound:
                continue
            return str(answer.get("compatibilityLevel") or answer.get("compatibility") or "")
        return ""

    def set_compatibility(self, subject: str, level: str) -> None:
        self._requests.put("config", subject, body={"compatibility": level})

    def mode(self, subject: str) -> str:
        """The subject's own mode; empty where the registry's is in force, or where there are no modes."""
        return self._mode("mode", subject)

    def registry_mode(self) -> str:
        """The mode of the whole registry; empty where it has no modes."""
        return self._mode("mode")

    def _mode(self, *path: str) -> str:
        try:
            answer = self._requests.get(*path)
        except Rejected:
            return ""
        return str(answer.get("mode", "")) if isinstance(answer, dict) else ""  # Apicurio: an empty response

    def set_mode(self, subject: str, mode: str) -> None:
        """Set the subject's own mode; an empty one ends it."""
        if mode:
            self._requests.put("mode", subject, body={"mode": mode}, force="true")
            return
        try:
            self._requests.delete("mode", subject)
        except Rejected:  # older ones cannot
            self._requests.put("mode", subject, body={"mode": READWRITE}, force="true")

    def _registered(self, answer: Any, subject: str) -> RegisteredSchema:
        found = self._mapping(answer, subject)
        return self._parsed(
            lambda: RegisteredSchema(
                self._local(str(found["subject"])),
                int(found["version"]),
                int(found["id"]),
                self._schema(found),
                str(found.get("guid") or ""),
            ),
            f"subjects/{subject}",
            answer,
        )

    def _schema(self, found: Mapping[str, Any]) -> Schema:
        return Schema(
            str(found["schema"]),
            str(found.get("schemaType") or "AVRO"),
            tuple(
                SchemaReference(str(each["name"]), self._local(str(each["subject"])), int(each["version"]))
                for each in found.get("references") or ()
            ),
            found.get("metadata") or {},
            found.get("ruleSet") or {},
        )

    def _local(self, subject: str) -> str:
        """A subject's name inside this client's context."""
        same = context_of(subject) == self.registry.context.strip(":.")
        return unqualified(subject) if same else subject

    def _parsed(self, parse: Callable[[], Parsed], what: str, answer: Any) -> Parsed:
        try:
            return parse()
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._nonsense(what, answer) from None

    def _mapping(self, answer: Any, what: str) -> Mapping[str, Any]:
        if not isinstance(answer, dict):
            raise self._nonsense(what, answer)
        return answer

    def _list(self, answer: Any, what: str) -> list[Any]:
        if not isinstance(answer, list):
            raise self._nonsense(what, answer)
        return answer

    def _nonsense(self, what: str, answer: Any) -> RegistryUnreachable:
        return RegistryUnreachable(
            f'the schema registry "{self.registry.alias}" cannot be used',
            where=f"{self.registry}, {what}",
            why=f"not a response of a schema registry: {self._requests.concealed(str(answer))[:200]}",
        )


def _body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.type != "AVRO":
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in schema.references
        ]
    if schema.metadata:
        body["metadata"] = schema.metadata
    if schema.rules:
        body["ruleSet"] = schema.rules
    return body
