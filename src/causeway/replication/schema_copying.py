"""Schemas of a running mirror: what its tasks need is copied, and the ledger gets to know the ids.

A thread for each source talks to the registries: the driver never waits for one. Tasks write to the ledger
which schemas a partition waits for; the driver passes these on, and writes the ids that come back to the
control partition, which every task follows.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from causeway import failpoint
from causeway.core.clock import now_ms
from causeway.core.ledger_record import CopiedSchema
from causeway.core.plan import Plan
from causeway.core.plural import counted
from causeway.core.position import SourcePartition
from causeway.core.schema import Registry, SchemaUse
from causeway.core.task_order import SchemaPolicy
from causeway.errors import CausewayError
from causeway.replication.event_log import EventLog
from causeway.replication.open_ledger import OpenLedger
from causeway.rules.schema_subjects import topic_subject
from causeway.schema_registry.client import SchemaRegistryClient
from causeway.schema_registry.copying import SchemaCopies
from causeway.schema_registry.resolving import ResolvedSchema, Strategies, resolve

FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 15.0
ALL_VERSIONS_SECONDS = 30.0
BEING_COPIED = "being copied"


@dataclass(frozen=True, slots=True)
class SchemaSetup:
    """What a mirror does with schemas."""

    sources: Mapping[str, Registry]  # by the source's alias
    destination: Registry
    strategies: Strategies
    all_versions: bool

    def check(self) -> None:
        """Raise RegistryDenied or RegistryUnreachable where a registry cannot be used."""
        for registry in {**self.sources, "": self.destination}.values():
            SchemaRegistryClient.of(registry).check()


class SubjectCopy(NamedTuple):
    subject: str
    to_subject: str


class SchemaThread:
    """Resolves the schemas of one source, one after the other, again and again until they are resolved."""

    def __init__(self, setup: SchemaSetup, alias: str) -> None:
        self._setup = setup
        self.warnings: deque[str] = deque()
        self.resolved: deque[tuple[SchemaUse, ResolvedSchema | None]] = deque()
        self.failures: dict[SchemaUse, CausewayError] = {}
        self._copies = SchemaCopies(
            SchemaRegistryClient.of(setup.sources[alias]),
            SchemaRegistryClient.of(setup.destination),
            self.warnings.append,
        )
        self._wanted: dict[SchemaUse, str] = {}  # the destination topic of each
        self._subjects: set[SubjectCopy] = set()
        self._changed = threading.Condition()
        self._ending = False
        self._failed = 0  # rounds in a row
        self._thread = threading.Thread(target=self._run, name=f"schemas of {alias}", daemon=True)

    def want(self, wanted: Mapping[SchemaUse, str], subjects: set[SubjectCopy]) -> None:
        """Resolve these schemas, and keep these subjects complete. From the driver's thread."""
        if not wanted and not subjects:
            return
        with self._changed:
            if not self._thread.is_alive() and not self._ending:
                self._thread.start()
            if wanted.keys() - self._wanted.keys():
                self._changed.notify()
            self._wanted, self._subjects = dict(wanted), subjects

    def end(self) -> None:
        """End soon; a request that is in progress is not waited for."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def _run(self) -> None:
        complete_at = 0.0
        while True:
            with self._changed:
                wanted, subjects = dict(self._wanted), set(self._subjects)
                done = {use for use, _ in self.resolved}
                if self._ending:
                    return
            open_uses = {use: to for use, to in wanted.items() if use not in done}
            self._resolve(open_uses)
            if subjects and time.monotonic() >= complete_at:
                self._complete(subjects)
                complete_at = time.monotonic() + ALL_VERSIONS_SECONDS
            with self._changed:
                if self._ending:
                    return
                if self._wanted.keys() <= wanted.keys():
                    self._changed.wait(self._pause())

    def _pause(self) -> float:
        return min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * float(2 ** min(self._failed, 10)))

    def _resolve(self, wanted: Mapping[SchemaUse, str]) -> None:
        failures = {}
        for use, to_topic in wanted.items():
            try:
                resolved = resolve(self._copies, self._setup.strategies, use, to_topic)
            except CausewayError as error:
                failures[use] = error
                self.failures = {**self.failures, use: error}
                self._copies.forget()  # what was copied may be gone: compare everything again
            except Exception as error:  # noqa: BLE001 - the thread must not end: the partition would wait for ever
                failures[use] = CausewayError(f"{use} cannot be copied", why=repr(error))
                self.failures = {**self.failures, use: failures[use]}
            else:
                self.resolved.append((use, resolved))
        self.failures = failures
        self._failed = self._failed + 1 if failures else 0

    def _complete(self, subjects: set[SubjectCopy]) -> None:
        """Copy versions of these subjects that no record uses yet."""
        for subject, to_subject in sorted(subjects):
            try:
                versions = self._copies.source.versions(subject)
                if versions:
                    self._copies.copy(subject, to_subject, versions[-1])
            except CausewayError as error:
                self.warnings.append(f"new versions of subject {subject} cannot be copied: {error}")


@dataclass(slots=True)
class SchemaCopying:
    """The driver's part: between the ledger and the threads."""

    setup: SchemaSetup
    events: EventLog
    aliases: Mapping[str, str]  # of the sources, by cluster id
    policy_of: Callable[[Iterable[str]], SchemaPolicy | None]  # for these source topics
    _threads: dict[str, SchemaThread] = field(default_factory=dict)  # by cluster id
    _reported: dict[SchemaUse, str] = field(default_factory=dict)
    waiting: dict[SourcePartition, str] = field(default_factory=dict)  # why partitions wait for schemas

    def settle(self, ledger: OpenLedger, plan: Plan) -> None:
        """Write what was resolved to the ledger, and pass on what partitions wait for."""
        self._record(ledger)
        lease, state = ledger.control.lease, ledger.state
        places = {lane.source: lane.place.topic for lane in plan.lanes}
        needed = {source: uses for source, uses in state.needed_schemas(lease).items() if source in places}
        subjects = self._subjects(state.schemas.values(), places)
        for cluster_id in self.aliases:
            wanted = {
                use: places[source]
                for source, uses in needed.items()
                for use in uses
                if use.cluster == cluster_id
            }
            self._thread(cluster_id).want(wanted, subjects.get(cluster_id, set()))
        self._report(needed)

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
            for (
                use,
                schema,
            ) in resolved:  # only now: if the destination does not respond, the next tick retries
                thread.resolved.popleft()
                self.events.report("info" if schema else "warning", _told(use, schema))

    def _subjects(
        self, known: Iterable[CopiedSchema], places: Mapping[SourcePartition, str]
    ) -> dict[str, set[SubjectCopy]]:
        """With versions = "all": the subjects of the mirror's topics, by cluster id."""
        subjects: dict[str, set[SubjectCopy]] = {}
        if not self.setup.all_versions:
            return subjects
        for record in known:
            if record.to_id is not None:
                copy = SubjectCopy(record.from_subject, record.subject)
                subjects.setdefault(record.cluster, set()).add(copy)
        policy = self.policy_of({source.topic for source in places})
        if policy is None:
            return subjects
        for source, to_topic in places.items():
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
                what = (
                    f"{counted(partitions, 'partition')} of {use.topic} wait for the {use}: {failures[use]}"
                )
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
