"""Settings for observing mirrors: the page and the API, the metrics, the log."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, Strict

from causeway.config import fields
from causeway.config.fields import Flag, Shown
from causeway.config.routing import ConfigTable
from causeway.core.choices import Compat

LogFormat = Literal["auto", "text", "json"]

PORT = 7081
TOKEN_CHARACTERS = 16
"""Of a token that clients on other machines could try to guess."""

AutoPort = Annotated[
    Annotated[int, Strict(), Field(ge=0, le=65_535)] | None,
    BeforeValidator(fields.auto),
    PlainSerializer(lambda port: "auto" if port is None else port),
    Shown('"auto" or an integer, 0 to 65535'),
]


def is_loopback(host: str) -> bool:
    """Whether a server at this address can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class WebTlsSettings(ConfigTable):
    """TLS for all of these. PEM files; renewed ones are used without a restart."""

    certificate: str = Field(
        min_length=1,
        description="File with the server's certificate and its chain.",
        examples=["/etc/causeway/page.pem"],
    )
    key: str = Field(
        default="",
        description="File with the private key; empty if it is in `certificate`.",
        examples=["/etc/causeway/page.key"],
    )
    key_password: str = Field(
        default="", description="Password of an encrypted key.", examples=["${env:PAGE_KEY_PASSWORD}"]
    )
    client_ca: str = Field(
        default="",
        description="File with certificates of authorities: clients, probes too, must have a certificate of "
        "one of them.",
        examples=["/etc/causeway/clients-ca.pem"],
    )


class WebSettings(ConfigTable):
    """The page, its API, the health probes and `/metrics`, all on one port."""

    enabled: Flag = Field(default=True, description="Whether they are served.")
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on. Any but this machine's loopback address needs a `token`, for "
        "reading too.",
        examples=["0.0.0.0"],
    )
    port: AutoPort = Field(
        default=None,
        description=f'Port to listen on. "auto" is {PORT}, or a free port if that is in use; 0 is any '
        "free port.",
    )
    token: str = Field(
        default="",
        description="Bearer token for actions (pause, resume, verify, failover); empty disables them. With "
        "`private`, or where other machines are served, for reading too; it then has at least "
        f"{TOKEN_CHARACTERS} characters.",
        examples=["${env:CAUSEWAY_TOKEN}"],
    )
    private: Flag = Field(
        default=False,
        description="Whether reading needs the token on this machine's loopback address too: otherwise every "
        "user of this machine can read topics, offsets and the configuration without its secrets.",
    )
    allowed_hosts: Annotated[
        tuple[str, ...], BeforeValidator(fields.several), Shown("string or list of strings")
    ] = Field(
        default=(),
        description="Host names by which it may be addressed, besides IP addresses, localhost and `host`: "
        'names of this machine or of a proxy before it. This stops DNS rebinding; "*" allows every name.',
        examples=[["mirror.example.com"]],
    )
    tls: WebTlsSettings | None = Field(
        default=None,
        description="TLS: switched on by this table.",
        examples=[{"certificate": "/etc/causeway/page.pem", "key": "/etc/causeway/page.key"}],
    )

    @property
    def reads_with_token(self) -> bool:
        """Whether reading needs the token."""
        return self.private or not is_loopback(self.host)


class MetricsSettings(ConfigTable):
    """What `/metrics` exports to Prometheus."""

    compat: Annotated[
        tuple[Compat, ...], BeforeValidator(fields.several), Shown('"ktm", "kaf-relay", or a list of them')
    ] = Field(
        default=(),
        description="Other tools whose metric names are exported too, for existing dashboards and alerts.",
        examples=[["kaf-relay"]],
    )
    token: str = Field(
        default="",
        description="Bearer token that reads `/metrics` and nothing else, for Prometheus. If it is set, "
        "`/metrics` needs it, or the `token` under [web].",
        examples=["${env:METRICS_TOKEN}"],
    )
    public: Flag = Field(
        default=False,
        description="Whether `/metrics` needs no token, wherever it is served.",
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
