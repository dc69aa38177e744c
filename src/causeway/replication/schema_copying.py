"""Schemas of a running mirror: what its tasks need is copied, and the ledger gets to know the ids.

A thread for each source talks to the registries: the driver never waits for one. Tasks write to the ledger
which schemas a partition waits for; the driver passes these on, and writes the ids that come back to the
control partition, which every task follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from causeway import failpoint
from causeway.core.clock import now_ms
from causeway.core.ledger_record import CopiedSchema
from causeway.core.plan import Plan
from causeway.core.plural import counted
from causeway.core.position import SourcePartition
from causeway.core.schema import SchemaUse
from causeway.core.task_order import SchemaPolicy
from causeway.replication.event_log import EventLog
from causeway.replication.open_ledger import OpenLedger
from causeway.replication.schema_threads import SchemaSetup, SchemaThread, SubjectCopy
from causeway.rules.schema_subjects import topic_subject
from causeway.schema_registry.resolving import ResolvedSchema

BEING_COPIED = "being copied"


@dataclass(slots=True)
class SchemaCopying:
    """The driver's part: between the ledger and the threads."""

    setup: SchemaSetup
    events: EventLog
    aliases: Mapping[str, str]  # of the sources, by cluster id
    policy_of: Callable[[Iterable[str]], SchemaPolicy | None]  # for these source topics
    _threads: dict[str, SchemaThread] = field(default_factory=dict)  # by cluster id
    _planned: Plan | None = None  # the plan and the ledger's changes that these were made for
    _changes: int = -1
    _places: dict[SourcePartition, str] = field(default_factory=dict)  # destination topics
    _subjects: dict[str, set[SubjectCopy]] = field(default_factory=dict)  # to keep complete, by cluster id
    _reported: dict[SchemaUse, str] = field(default_factory=dict)
    waiting: dict[SourcePartition, str] = field(default_factory=dict)  # why partitions wait for schemas

    def settle(self, ledger: OpenLedger, plan: Plan) -> None:
        """Write what was resolved to the ledger, and pass on what partitions wait for."""
        self._record(ledger)
        lease, state = ledger.control.lease, ledger.state
        needed = state.needed_schemas(lease)
        if needed or self._planned is not plan or self._changes != state.schema_changes:
            self._places = {lane.source: lane.place.topic for lane in plan.lanes}
            self._subjects = self._subjects_of(state.schemas.values())
            if self._planned is None:
                self._check_copies(state.schemas.values())
            self._planned, self._changes = plan, state.schema_changes
        needed = {source: uses for source, uses in needed.items() if source in self._places}
        for cluster_id in self.aliases:
            wanted = {
                use: self._places[source]
                for source, uses in needed.items()
                for use in uses
                if use.cluster == cluster_id
            }
            self._thread(cluster_id).want(wanted, self._subjects.get(cluster_id, set()))
        self._report(needed)

    def _check_copies(self, known: Iterable[CopiedSchema]) -> None:
        topics = {(source.cluster, source.topic): to for source, to in self._places.items()}
        for cluster_id in self.aliases:
            copies = {
                record.use: (record.to_id, topics[record.cluster, record.topic])
                for record in known
                if record.cluster == cluster_id
                and record.to_id is not None
                and (record.cluster, record.topic) in topics
            }
            if copies:
                self._thread(cluster_id).check_copies(copies)

    def close(self) -> None:
        for thread in self._threads.values():
            thread.end()

    def _thread(self, cluster_id: str) -> SchemaThread:
        if cluster_id not in self._threads:
            self._threads[cluster_id] = SchemaThread(self.setup, self.aliases[cluster_id])
        return self._threads[cluster_id]

    def _record(self, ledger: OpenLedger) -> None:
        for thread in self._threads.values():
            while thread.warnings:
                self.events.report_once("warning", thread.warnings.popleft())
            resolved = list(thread.resolved)
            if resolved:
                failpoint.reach("before-schema-ids")
            ledger.record([_copied(use, schema, ledger.control.lease) for use, schema in resolved])
            if resolved:
                failpoint.reach("after-schema-ids")
            for use, schema in resolved:  # only now: without a response the next tick retries
                thread.resolved.popleft()
                self.events.report("info" if schema else "warning", _told(use, schema))

    def _subjects_of(self, known: Iterable[CopiedSchema]) -> dict[str, set[SubjectCopy]]:
        """With versions = "all": the subjects of the mirror's topics, by cluster id."""
        subjects: dict[str, set[SubjectCopy]] = {}
        if not self.setup.all_versions:
            return subjects
        for record in known:
            if record.to_id is not None:
                copy = SubjectCopy(record.from_subject, record.subject)
                subjects.setdefault(record.cluster, set()).add(copy)
        policy = self.policy_of({source.topic for source in self._places})
        if policy is None:
            return subjects
        for source, to_topic in self._places.items():
            for part in policy.parts_of(source.topic):
                if self.setup.strategies[part] == "topic":
                    names = topic_subject(source.topic, part), topic_subject(to_topic, part)
                    subjects.setdefault(source.cluster, set()).add(SubjectCopy(*names))
        return subjects

    def _report(self, needed: Mapping[SourcePartition, list[SchemaUse]]) -> None:
        """Say why partitions wait, each reason once."""
        failures = {use: error for thread in self._threads.values() for use, error in thread.failures.items()}
        self.waiting = {
            source: "; ".join(f"{use}: {failures.get(use, BEING_COPIED)}" for use in uses)
            for source, uses in needed.items()
        }
        open_uses = {
            use: sum(use in uses for uses in needed.values()) for uses in needed.values() for use in uses
        }
        self._reported = {use: text for use, text in self._reported.items() if use in open_uses}
        for use, partitions in open_uses.items():
            if use in failures and self._reported.get(use) != str(failures[use]):
                self._reported[use] = str(failures[use])
                many = counted(partitions, "partition")
                what = f"{many} of {use.topic} must wait for the {use}: {failures[use]}"
                self.events.report("warning", what, todo=failures[use].todo)


def _copied(use: SchemaUse, resolved: ResolvedSchema | None, lease: int) -> CopiedSchema:
    if resolved is None:
        return CopiedSchema(*use, None, "", "", 0, lease, now_ms())
    there = resolved.there
    return CopiedSchema(*use, there.id, resolved.from_subject, there.subject, there.version, lease, now_ms())


def _told(use: SchemaUse, resolved: ResolvedSchema | None) -> str:
    if resolved is None:
        return f"{use}: the source's registry has none under the topic's subjects"
    there = resolved.there
    kept = "" if isinstance(use.id, str) else " (kept)" if use.id == there.id else f" (was {use.id})"
    return f"{use}: subject {there.subject}, version {there.version}, id {there.id}{kept}"
