"""Real Kafka brokers as child processes: for trying things out, for the demo and for the tests.

cluster  → broker → process     a cluster, its brokers, the processes they are
         ↘ shape → properties   what a cluster is made of, and the server.properties that say so
         ↘ storage              formatted data directories
jars     → ivy, java            where the brokers' code comes from
registry → cluster              clusters with a name, which outlive the command that started them

This room stands by itself: it imports nothing of causeway but the errors.
"""

from causeway.embedded.broker import Broker
from causeway.embedded.cluster import EmbeddedCluster
from causeway.embedded.jars import DEFAULT_VERSION, resolve
from causeway.embedded.java import find_java

__all__ = ["DEFAULT_VERSION", "Broker", "EmbeddedCluster", "find_java", "resolve"]
