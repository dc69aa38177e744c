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
        description="Address to listen on. Whoever reaches it sees topics, offsets and the configuration "
        "without its secrets.",
        examples=["0.0.0.0"],
    )
    port: AutoPort = Field(
        default=None,
        description=f'Port to listen on. "auto" is {PORT}, or any free one where that is taken; 0 is any '
        "free one.",
    )
    token: str = Field(
        default="",
        description="Whoever has it may pause, resume and verify. Empty means that nobody may.",
        examples=["${env:CAUSEWAY_TOKEN}"],
    )


class MetricsSettings(ConfigTable):
    """What `/metrics` exports to Prometheus."""

    compat: Annotated[
        tuple[Compat, ...], BeforeValidator(fields.several), Shown('"ktm", "kaf-relay", or a list of them')
    ] = Field(
        default=(),
        description="Other tools whose metric names are told too, for alerts that know no others.",
        examples=[["kaf-relay"]],
    )
    partitions: fields.Rate = Field(
        default=1_000,
        description="A mirror with more partitions than this has its series summed up by topic; 0 is no "
        "limit.",
    )


class LogSettings(ConfigTable):
    """What a running mirror logs to stderr."""

    format: LogFormat = Field(
        default="auto",
        description='"text": lines for people. "json": an object a line. "auto": a live table and text on a '
        "terminal, JSON without one.",
    )
