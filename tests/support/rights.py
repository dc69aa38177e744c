"""A cluster with authentication and ACLs, and a user whose permissions a test revokes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from causeway.core.cluster import Cluster
from causeway.local_kafka import EmbeddedCluster
from support.world import World

USER, PASSWORD = "causeway", "a-password"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
CONFIG = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.client.plain.sasl.jaas.config": JAAS,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # brokers among themselves, and the test
}
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID


class Rights:
    """The user's permissions on a cluster: everything except what a test denies."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self._admin = AdminClient({"bootstrap.servers": cluster.internal_servers, "log_level": 0})
        for kind in (ResourceType.TOPIC, ResourceType.GROUP, TRANSACTIONAL_ID):
            self._create(kind, "*", AclOperation.ALL, AclPermissionType.ALLOW)
        self._create(
            ResourceType.BROKER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE, AclPermissionType.ALLOW
        )

    @property
    def login(self) -> dict[str, str]:
        return {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }

    def as_user(self, alias: str) -> Cluster:
        return Cluster(alias, self.login, {}, {})

    def deny(
        self,
        name: str,
        operation: AclOperation = AclOperation.WRITE,
        kind: ResourceType = ResourceType.TOPIC,
    ) -> None:
        self._create(kind, name, operation, AclPermissionType.DENY)

    def grant(self, name: str, kind: ResourceType = ResourceType.TOPIC) -> None:
        """Remove the denials there."""
        wanted = AclBindingFilter(
            kind, name, ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.DENY
        )
        for future in self._admin.delete_acls([wanted]).values():
            future.result()

    def _create(
        self, kind: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType
    ) -> None:
        binding = AclBinding(
            kind, name, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, permission
        )
        for future in self._admin.create_acls([binding]).values():
            future.result()


@contextlib.contextmanager
def cluster_with_rights(name: str, directory: Path) -> Iterator[Rights]:
    with EmbeddedCluster.start(name, directory=directory, config=CONFIG) as cluster:
        yield Rights(cluster)


@contextlib.contextmanager
def world_with(rights: Rights, source: EmbeddedCluster, directory: Path) -> Iterator[World]:
    """A mirror's world whose destination has the user. The test itself may do everything there."""
    world = World(source, rights.cluster, directory)
    world.servers["destination"] = rights.cluster.internal_servers
    yield world
    world.close()
