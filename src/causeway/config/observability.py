"""Settings for observing mirrors: the page and the API, the metrics, the log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, Strict

from causeway.config import fields
from causeway.config.fields import Flag, Shown
from causeway.config.routing import ConfigTable
from causeway.core.choices import Compat

LogFormat = Literal["auto", "text", "json"]

PORT = 7081

AutoPort = Annotated[
    Annotated[int, Strict(), Field(ge=0, le=65_535)] | None,
    BeforeValidator(fields.auto),
    PlainSerializer(lambda port: "auto" if port is None else port),
    Shown('"auto" or an integer, 0 to 65535'),
]


class WebSettings(ConfigTable):
    """The page, its API, the health probes and `/metrics`, all on one port."""

    enabled: Flag = Field(default=True, description="Whether they are served.")
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on. Everyone who can connect to it can read topics, offsets and the "
        "configuration without its secrets.",
        examples=["0.0.0.0"],
    )
    port: AutoPort = Field(
        default=None,
        description=f'Port to listen on. "auto" is {PORT}, or a free port if that is in use; 0 is any '
        "free port.",
    )
    token: str = Field(
        default="",
        description="Bearer token for pause, resume and verify. Empty disables these actions.",
        examples=["${env:CAUSEWAY_TOKEN}"],
    )


class MetricsSettings(ConfigTable):
    """What `/metrics` exports to Prometheus."""

    compat: Annotated[
        tuple[Compat, ...], BeforeValidator(fields.several), Shown('"ktm", "kaf-relay", or a list of them')
    ] = Field(
        default=(),
        description="Other tools whose metric names are exported too, for existing dashboards and alerts.",
        examples=[["kaf-relay"]],
    )
    max_partitions: fields.Rate = Field(
        default=1_000,
        description="Above this number of partitions a mirror exports its series by topic instead of by "
        "partition; 0 is no limit.",
    )


class LogSettings(ConfigTable):
    """What a running mirror logs to stderr."""

    format: LogFormat = Field(
        default="auto",
        description='"text": readable lines. "json": one JSON object per line. "auto": a live table and '
        "text on a terminal, otherwise JSON.",
    )
