"""Schema registries of a mirror: whether they respond, which subjects would be created, and which clash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from causeway.config import MirrorSettings, Settings
from causeway.config.effective import registries_of
from causeway.core.check_report import Remark, note, ok, problem, warning
from causeway.core.plural import counted
from causeway.core.route import Route
from causeway.core.schema import Registry
from causeway.errors import CausewayError
from causeway.planning.registries import (
    destination_registry,
    registry_warnings,
    schema_policy,
    source_registries,
)
from causeway.rules.schema_subjects import (
    foreign_versions,
    may_be_subject_of,
    missing_versions,
    renamed_subject,
    same_content,
)
from causeway.schema_registry.client import SchemaRegistryClient

MOST_SUBJECTS = 200
"""Maximum number of subjects that are compared: each costs a request for every version."""


def check_schemas(
    settings: Settings, mirror: MirrorSettings, routes: Mapping[tuple[str, str], Route] | None
) -> Iterator[Remark]:
    """`routes` by alias and topic; None if the topics could not be read."""
    if not mirror.copies_schemas:
        return
    for name in registries_of(settings, mirror):
        for line in registry_warnings(name, settings.registries[name]):
            yield warning(line, "use https, with [registries.<name>.tls] for a CA of your own")
    sources, destination = source_registries(settings, mirror), destination_registry(settings, mirror)
    failed = []
    for registry in dict.fromkeys((*sources.values(), destination)):
        try:
            SchemaRegistryClient.of(registry).check()
            yield ok(f'schema registry "{registry.alias}" responds at {registry}')
        except CausewayError as error:
            failed.append(registry)
            yield problem(error)
    if failed or routes is None:
        yield note("subjects were not compared")
        return
    try:
        yield from _subjects(mirror, sources, destination, routes)
    except CausewayError as error:
        yield problem(error)


def _subjects(
    mirror: MirrorSettings,
    sources: Mapping[str, Registry],
    destination: Registry,
    routes: Mapping[tuple[str, str], Route],
) -> Iterator[Remark]:
    left = MOST_SUBJECTS
    there = SchemaRegistryClient.of(destination)
    known_there = set(there.subjects())
    for alias, registry in sources.items():
        here = SchemaRegistryClient.of(registry)
        subjects = here.subjects()
        chosen = _chosen(mirror, subjects, [route for (each, _), route in routes.items() if each == alias])
        for subject, to_subject in sorted(chosen)[:left]:
            yield _compared(here, there, subject, to_subject, known_there)
        if len(chosen) > left:
            yield note(f"{left:,} of {counted(len(chosen), 'subject')} were compared")
        left -= min(left, len(chosen))
    if "record" in (mirror.schemas.keys, mirror.schemas.values):
        yield note("subjects that are named by the record alone are known once records use them")


def _chosen(mirror: MirrorSettings, subjects: Iterable[str], routes: Iterable[Route]) -> set[tuple[str, str]]:
    """Subjects that are named by a topic of the mirror, with their names at the destination."""
    routes = list(routes)
    policy = schema_policy(mirror, [route.source.name for route in routes])
    strategies = {"key": mirror.schemas.keys, "value": mirror.schemas.values}
    subjects = list(subjects)
    return {
        (subject, renamed_subject(strategies[part], subject, route.source.name, route.to))
        for route in routes
        for part in (policy.parts_of(route.source.name) if policy else ())
        for subject in subjects
        if may_be_subject_of(strategies[part], route.source.name, part, subject)
    }


def _compared(
    here: SchemaRegistryClient,
    there: SchemaRegistryClient,
    subject: str,
    to_subject: str,
    known_there: set[str],
) -> Remark:
    originals = here.all_versions(subject)
    copies = there.all_versions(to_subject) if to_subject in known_there else []
    taken = [
        each.id
        for each in originals
        if (other := there.by_id(each.id)) is not None and not same_content(other, each.schema)
    ]
    ids = f"; taken there, and replaced in records: {_listed('id', taken)}" if taken else ""
    if not copies:
        return note(f"subject {to_subject} would be created, with {counted(len(originals), 'version')}{ids}")
    foreign = foreign_versions(originals, copies)
    missing = missing_versions(originals, copies)
    if foreign:
        numbers = _listed("version", [each.version for each in foreign])
        level = there.compatibility(to_subject) or "unknown"
        return warning(
            f"subject {to_subject} clashes: its {numbers} at the destination are not of {subject}"
            f" (compatibility there: {level}){ids}",
            "rename the destination topic, or delete these versions; otherwise schemas of the source are"
            " added where that level allows it, and partitions wait where it does not",
        )
    added = f"; {counted(len(missing), 'version')} would be added" if missing else ""
    return ok(f"subject {to_subject} has {counted(len(copies), 'version')} of {subject}{added}{ids}")


def _listed(what: str, numbers: list[int]) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"{what}{plural} {', '.join(map(str, numbers[:10]))}{' …' if len(numbers) > 10 else ''}"
