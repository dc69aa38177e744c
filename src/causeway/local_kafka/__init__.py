"""Real Kafka brokers as child processes: for trying things out, for the demo and for the tests.

cluster  → broker → process     a cluster, its brokers, their processes
         ↘ shape → properties   what a cluster consists of, and the server.properties made from it
         ↘ storage              formatted data directories
         ↘ listener_security    how clients connect to each listener
         ↘ scram_users          users that the cluster stores itself
jars     → ivy, java            where the brokers' code comes from
registry → cluster              named clusters, which outlive the command that started them

This package is self-contained: of causeway it imports only the errors.
"""

from causeway.local_kafka.broker import Broker
from causeway.local_kafka.cluster import EmbeddedCluster
from causeway.local_kafka.jars import DEFAULT_VERSION, resolve
from causeway.local_kafka.java import find_java
from causeway.local_kafka.listener_security import AUTHORIZER, ListenerSecurity

__all__ = [
    "AUTHORIZER",
    "DEFAULT_VERSION",
    "Broker",
    "EmbeddedCluster",
    "ListenerSecurity",
    "find_java",
    "resolve",
]
