"""When a client that the cluster refuses is replaced by a new one.

librdkafka connects for ever with the password, the token's secret and the certificates that it was created
with. A new client reads them again. So a client is replaced where the cluster refuses it and one of them has
changed since. Where nothing has changed, a new one would be refused too, and the old one goes on trying.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from causeway.core.cluster import Cluster
from causeway.kafka import clients
from causeway.kafka.connection_failures import may_need_new_client

LOOK_SECONDS = 0.5
"""Interval between two looks at the secrets' files, while the client is refused."""
REPORTED_SECONDS = 40.0
"""librdkafka reports the same error of a broker once in 30 s."""
REQUEST_SECONDS = 20.0
"""Longer than any request takes whose response is waited for."""


class Renewal:
    """Collects the errors that a client reports, and decides when to replace it."""

    def __init__(self, secrets: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._clock = clock
        self._errors: deque[tuple[float, KafkaError]] = deque(maxlen=20)
        self._look_at = 0.0
        self._known = secrets()

    @staticmethod
    def of(cluster: Cluster) -> Renewal:
        """For a client that is about to be created."""
        return Renewal(lambda: clients.secret_versions(cluster))

    def report(self, error: KafkaError) -> None:
        """The client's error callback."""
        self._errors.append((self._clock(), error))

    @property
    def errors(self) -> list[KafkaError]:
        """What the client reported recently."""
        since = self._clock() - REPORTED_SECONDS
        return [error for at, error in self._errors if at >= since]

    @property
    def refused(self) -> bool:
        """Whether the cluster refuses this client."""
        return any(map(may_need_new_client, self.errors))

    @property
    def due(self) -> bool:
        """Whether a new client may be accepted where this one is refused."""
        now = self._clock()
        if now < self._look_at or not self.refused:
            return False
        self._look_at = now + LOOK_SECONDS
        return self._secrets() != self._known

    def renew(self) -> None:
        """A new client is about to be created in this one's place."""
        self._known = self._secrets()
        self._errors.clear()

    def succeeded(self) -> None:
        """A response came: what was reported before is over."""
        if self._errors:
            self._errors.clear()


class RenewedAdmin:
    """An admin client, replaced by a new one where the cluster refuses it and its secrets have changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._renewal = Renewal.of(cluster)
        self._client = clients.admin(cluster, on_error=self._renewal.report)
        self._replaced: list[tuple[float, AdminClient]] = []

    @property
    def client(self) -> AdminClient:
        """The client for the next request."""
        if self._renewal.due:
            self._renewal.renew()
            new = clients.admin(self._cluster, on_error=self._renewal.report)
            # The old one is kept until its requests have timed out: a client that is gone never responds.
            now = time.monotonic()
            self._replaced = [(until, client) for until, client in self._replaced if until > now]
            self._replaced.append((now + REQUEST_SECONDS, self._client))
            self._client = new
        return self._client

    def errors(self) -> list[KafkaError]:
        """What the client reported recently, and until now."""
        self._client.poll(0)
        return self._renewal.errors

    def causes(self) -> list[KafkaError]:
        """The errors that name a reason: that all brokers are down is a consequence."""
        return [error for error in self.errors() if error.code() != KafkaError._ALL_BROKERS_DOWN]

    def refused(self) -> bool:
        return bool(self.errors()) and self._renewal.refused

    def succeeded(self) -> None:
        self._renewal.succeeded()
