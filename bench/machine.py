"""The machine that the benchmark ran on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import confluent_kafka
import psutil

from causeway import __version__
from causeway.local_kafka import DEFAULT_VERSION, find_java


def describe() -> dict[str, str]:
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def versions() -> dict[str, str]:
    names = ("confluent-kafka", "pyspark", "numba")
    return {
        "Causeway": __version__,
        "Kafka, MirrorMaker 2": DEFAULT_VERSION,
        "Java": _java(),
        "Python": platform.python_version(),
        "librdkafka": confluent_kafka.libversion()[0],
        **{name: version for name in names if (version := _installed(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _java() -> str:
    output = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=False).stderr
    return output.splitlines()[0].partition('"')[2].partition('"')[0] if output else "unknown"


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
