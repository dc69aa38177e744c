"""Real Kafka brokers as child processes: for trying things out, for the demo and for the tests.

cluster  → broker → kept_process → process     a cluster, its brokers, their processes
         ↘ schema_registry → maven_archive     a registry beside it, and where its code comes from
         ↘ shape → properties   what a cluster consists of, and the server.properties made from it
         ↘ storage              formatted data directories
         ↘ listener_security    how clients connect to each listener
         ↘ scram_users          users that the cluster stores itself
jars     → ivy, java            where the brokers' code comes from
named_clusters → cluster        named clusters, which outlive the command that started them

This package is self-contained: of causeway it imports only the errors.
"""

from causeway.local_kafka.broker import Broker
from causeway.local_kafka.cluster import EmbeddedCluster
from causeway.local_kafka.jars import DEFAULT_VERSION, resolve
from causeway.local_kafka.java import find_java
from causeway.local_kafka.listener_security import AUTHORIZER, ListenerSecurity
from causeway.local_kafka.schema_registry import SchemaRegistry

__all__ = [
    "AUTHORIZER",
    "DEFAULT_VERSION",
    "Broker",
    "EmbeddedCluster",
    "ListenerSecurity",
    "SchemaRegistry",
    "find_java",
    "resolve",
]
