"""Threads that talk to the schema registries of a mirror: the driver never waits for one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from causeway.core.schema import Registry, SchemaUse
from causeway.errors import CausewayError
from causeway.schema_registry.client import SchemaRegistryClient
from causeway.schema_registry.copying import SchemaCopies
from causeway.schema_registry.resolving import ResolvedSchema, Strategies, resolve

FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 15.0
ALL_VERSIONS_SECONDS = 30.0


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
        self._unchecked: dict[SchemaUse, tuple[int, str]] = {}  # copies of earlier runs: id and topic there
        self._changed = threading.Condition()
        self._ending = False
        self._failed = 0  # rounds in a row
        self._complete_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"schemas of {alias}", daemon=True)

    def want(self, wanted: Mapping[SchemaUse, str], subjects: set[SubjectCopy]) -> None:
        """Resolve these schemas, and keep these subjects complete. From the driver's thread."""
        with self._changed:
            if wanted != self._wanted or subjects != self._subjects:
                self._wanted, self._subjects = dict(wanted), subjects
                self._wake()

    def check_copies(self, copies: Mapping[SchemaUse, tuple[int, str]]) -> None:
        """Check once that the destination still has the schemas that earlier runs copied."""
        with self._changed:
            self._unchecked |= copies
            self._wake()

    def _wake(self) -> None:
        if self._thread.is_alive():
            self._changed.notify()
        elif not self._ending:
            self._thread.start()

    def end(self) -> None:
        """End soon; a request that is in progress is not waited for."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ending:
                    return
                wanted, subjects = self._wanted, self._subjects
            done = {use for use, _ in list(self.resolved)}
            self._resolve({use: to for use, to in wanted.items() if use not in done})
            self._check_copies()
            if subjects and time.monotonic() >= self._complete_at:
                self._complete(subjects)
                self._complete_at = time.monotonic() + ALL_VERSIONS_SECONDS
            with self._changed:
                if not self._ending and (self._wanted, self._subjects) == (wanted, subjects):
                    self._changed.wait(self._pause())

    def _pause(self) -> float | None:
        """How long nothing has to be done, if nothing else is wanted; None: until then."""
        if self._wanted or self._unchecked:
            return min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * float(2 ** min(self._failed, 10)))
        return max(0.0, self._complete_at - time.monotonic()) if self._subjects else None

    def _check_copies(self) -> None:
        """A registry that lost schemas, or another one at the URL, gets them again, maybe with other ids."""
        for use, (to_id, to_topic) in list(self._unchecked.items()):
            try:
                if self._copies.destination.by_id(to_id) is None:
                    self.warnings.append(
                        f"{use}: the destination's registry has lost id {to_id}: records that have it cannot"
                        " be read there; copying the schema again"
                    )
                    self.resolved.append((use, resolve(self._copies, self._setup.strategies, use, to_topic)))
                del self._unchecked[use]
            except CausewayError as error:
                self.warnings.append(f"copies of schemas cannot be checked: {error}")
                self._failed += 1
                return

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
