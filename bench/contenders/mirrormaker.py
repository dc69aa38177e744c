"""A real MirrorMaker 2, in its dedicated mode, tuned for the same work.

What differs from its defaults, and why:

- several tasks, larger polls, fetches and batches: one task with polls of 500 records and batches of 16 KB
  would run at a fraction of its possible rate;
- the heap and the collector are those of its own start script;
- compression, partitions, names of topics and the topic refresh interval are the same as the others'.

Exactly-once also has all settings that its manual requires. A transaction ends with each poll, the default:
an interval replicates more, but delays every record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.child import Child
from bench.contenders.job import Job
from causeway.local_kafka import DEFAULT_VERSION, find_java, resolve
from causeway.local_kafka.ports import free_ports
from causeway.local_kafka.properties import render
from support.mirrormaker2 import Flow, properties

Delivery = Literal["at-least-once", "exactly-once"]

JVM = (
    "-Xms256M", "-Xmx2G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
)  # fmt: skip
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients=warn",
)
_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"


@dataclass(frozen=True)
class MirrorMaker2:
    delivery: Delivery
    overrides: Mapping[str, str] = field(default_factory=dict)  # for experiments
    jvm: Sequence[str] = JVM
    keeps_all: bool = True

    @property
    def name(self) -> str:
        return "mm2" if self.delivery == "at-least-once" else "mm2-exactly-once"

    @property
    def title(self) -> str:
        return f"MirrorMaker 2, {self.delivery.replace('-', ' ')}"

    def settings(self, job: Job) -> dict[str, str]:
        """Its properties without names and addresses, which differ in each run."""
        flow = self._flow(job)
        properties = self.properties(job, rest_port=0)
        hidden = ("bootstrap.servers", ".topics", "listeners", "clusters")
        return {
            "JVM": " ".join(self.jvm),
            **{
                key.replace(flow.name, "src"): value
                for key, value in properties.items()
                if not key.endswith(hidden)
            },
        }

    def start(self, job: Job) -> Child:
        job.directory.mkdir(parents=True, exist_ok=True)
        file = job.directory / "mm2.properties"
        file.write_text(render(self.properties(job, rest_port=free_ports(1)[0])))
        jars = resolve("org.apache.kafka", "connect-mirror", DEFAULT_VERSION)
        return Child(
            [str(find_java()), *self.jvm, *_LOGGING, "-cp", f"{jars}/*", _MAIN, str(file)], job.directory
        )

    def properties(self, job: Job, rest_port: int) -> dict[str, str]:
        flow = self._flow(job)
        setting: Literal["default", "exactly-once"] = (
            "default" if self.delivery == "at-least-once" else "exactly-once"
        )
        return {**properties(flow, setting, rest_port), **self._tuned(flow, job), **self.overrides}

    def arrives_in(self, topic: str) -> str:
        return topic

    def workers(self, child: Child) -> Sequence[int]:
        return []

    def _flow(self, job: Job) -> Flow:
        return Flow(job.name, job.source, job.destination, ",".join(job.topics))

    def _tuned(self, flow: Flow, job: Job) -> dict[str, str]:
        tuned = {
            f"{flow.name}->dst.tasks.max": str(tasks(job.partitions, os.cpu_count() or 1)),
            f"{flow.name}.consumer.max.poll.records": "10000",
            f"{flow.name}.consumer.max.partition.fetch.bytes": str(8 << 20),
            f"{flow.name}.consumer.receive.buffer.bytes": str(1 << 20),
            "dst.producer.batch.size": str(512 << 10),
            "dst.producer.linger.ms": "5",
            "dst.producer.compression.type": job.compression,
            "dst.producer.buffer.memory": str(128 << 20),
            "dst.producer.max.request.size": str(10 << 20),
            "refresh.topics.interval.seconds": "5",
            "sync.topic.acls.enabled": "false",
        }
        if self.delivery == "exactly-once":
            tuned["dst.producer.transaction.timeout.ms"] = "15000"
        return tuned


def tasks(partitions: int, cores: int) -> int:
    """Two per core, at most one per partition: one waits for the broker while another works."""
    return max(1, min(partitions, 2 * cores))
