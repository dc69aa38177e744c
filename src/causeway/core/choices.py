"""What the configuration chooses among, where the pipeline knows the same choices."""

from __future__ import annotations

from typing import Literal

Delivery = Literal["exactly-once", "at-least-once"]
CarrierChoice = Literal["auto", "native", "object"]
OnGap = Literal["stop", "continue"]
OnRecreate = Literal["stop", "restart"]
OnPoison = Literal["stop", "quarantine"]
OnError = Literal["stop", "keep", "drop"]
SubjectStrategy = Literal["topic", "record", "topic-record", "none"]
SchemaVersions = Literal["used", "all"]
UnknownIds = Literal["refuse", "pass"]
Timings = Literal["off", "topic", "headers"]
Compat = Literal["ktm", "kaf-relay"]
