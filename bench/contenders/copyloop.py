"""A bare copy loop at C speed: the librdkafka that confluent-kafka ships, and a few lines of C around it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka

from bench.child import Child, Failed
from bench.contenders.job import Job

SOURCE = Path(__file__).with_name("copyloop.c")

CONSUMER = {
    "group.id": "bench-copyloop", "enable.auto.commit": "false", "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "10", "fetch.queue.backoff.ms": "2",
    "queued.max.messages.kbytes": "16384", "queued.min.messages": "1000000",
}  # fmt: skip
PRODUCER = {
    "enable.idempotence": "true", "linger.ms": "5", "batch.size": "1000000", "batch.num.messages": "100000",
    "queue.buffering.max.messages": "1000000", "queue.buffering.max.kbytes": "32768",
    "message.max.bytes": "10000000",
}  # fmt: skip


@dataclass(frozen=True)
class CopyLoop:
    program: Path
    name: str = "copy-loop"
    title: str = "bare copy loop in C"
    keeps_all: bool = True

    def settings(self, job: Job) -> dict[str, str]:
        return {
            "processes": str(_processes(job)),
            "consumer": " ".join(f"{key}={value}" for key, value in CONSUMER.items()),
            "producer": " ".join(f"{key}={value}" for key, value in PRODUCER.items()),
            "no": "transactions, ledger, positions",
        }

    def start(self, job: Job) -> Child:
        if len(job.topics) != 1:
            raise Failed("the copy loop replicates only one topic")
        consumer = {**CONSUMER, "bootstrap.servers": job.source}
        producer = {
            **PRODUCER, "bootstrap.servers": job.destination, "compression.type": job.compression
        }  # fmt: skip
        properties = [
            *(f"c:{key}={value}" for key, value in consumer.items()),
            *(f"p:{key}={value}" for key, value in producer.items()),
        ]
        numbers = [str(job.partitions), str(_processes(job))]
        return Child([str(self.program), job.topics[0], *numbers, *properties], job.directory)

    def arrives_in(self, topic: str) -> str:
        return topic

    def workers(self, child: Child) -> Sequence[int]:
        return []


def compiled(directory: Path) -> Path:
    """Compile the program. Raises Failed with the reason."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    libraries = sorted(
        Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*.so*")
    )
    if compiler is None or not libraries:
        missing = "a C compiler" if compiler is None else "the librdkafka of confluent-kafka's wheel"
        raise Failed(f"it needs {missing}, which is not here")
    directory.mkdir(parents=True, exist_ok=True)
    program, library = directory / "copyloop", libraries[0]
    command = [compiler, "-O2", "-o", str(program), str(SOURCE), str(library), f"-Wl,-rpath,{library.parent}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"it cannot be compiled: {done.stderr.strip().splitlines()[0]}")
    return program


def _processes(job: Job) -> int:
    """As many processes as Causeway has shards."""
    return min(os.cpu_count() or 1, job.partitions)
