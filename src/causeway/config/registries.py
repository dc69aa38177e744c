"""Schema registries, [registries.<name>], and what a mirror does with schemas, [mirrors.schemas]."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from causeway.config import fields
from causeway.config.authentication import FilePath, PemFile, Text
from causeway.config.fields import Between, Duration, Flag, Shown
from causeway.config.routing import ConfigTable
from causeway.config.units import parse_duration
from causeway.core.choices import SchemaVersions, SubjectStrategy, UnknownIds

_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
_CONTEXT = re.compile(r"\.?[A-Za-z0-9._-]*")


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("must be a URL") from None
    if "@" in value:
        raise ValueError("must not have a user or a password in it: `username` and `password` are keys")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        raise ValueError("must be a URL that begins with http:// or https://")
    if parts.query or parts.fragment or re.search(r"\s", value):
        raise ValueError("must be a URL without a query, a fragment or spaces")
    return value.rstrip("/")


def _context(value: str) -> str:
    if not _CONTEXT.fullmatch(value):
        raise ValueError("must have letters, digits, dots, hyphens and underscores only")
    return value if not value or value.startswith(".") else f".{value}"


class RegistryTlsSettings(ConfigTable):
    """Whom to trust, for https. Without this table: the CAs of the system. Files are read again and again."""

    ca: PemFile = Field(
        default="",
        description="File with the CA certificates that sign the registry's.",
        examples=["/etc/kafka/registry-ca.pem"],
    )
    certificate: FilePath = Field(
        default="",
        description="File with a client certificate, followed by its chain, for registries that request one.",
        examples=["/etc/kafka/causeway.pem"],
    )
    key: FilePath = Field(
        default="",
        description="File with its private key. Without it: from the file of the certificate.",
        examples=["/etc/kafka/causeway.key"],
    )
    key_password: Text = Field(
        default="", description="Password of the private key.", examples=["${env:KEY_PASSWORD}"]
    )

    @model_validator(mode="after")
    def _complete(self) -> RegistryTlsSettings:
        if not self.certificate and (self.key or self.key_password):
            raise ValueError("key and key_password need a certificate")
        return self


class RegistrySettings(ConfigTable):
    """A schema registry with Confluent's API. The one that belongs to a cluster has its alias as a name."""

    url: Annotated[
        tuple[Annotated[str, AfterValidator(_url)], ...],
        BeforeValidator(fields.many),
        Shown("string or list of strings"),
    ] = Field(
        description="URL of its API, or a list of URLs of one registry: where one does not respond, the next "
        "one is asked.",
        examples=["https://registry.paris.example.com"],
    )
    username: Text = Field(
        default="", description="User name, for basic authentication.", examples=["causeway"]
    )
    password: Text = Field(
        default="", description="Its password. Write a reference.", examples=["${env:REGISTRY_PASSWORD}"]
    )
    token: Text = Field(
        default="",
        description="Bearer token, instead of user name and password. Write a reference: a file is read "
        "again for each request.",
        examples=["${file:/run/secrets/registry-token}"],
    )
    tls: RegistryTlsSettings | None = Field(
        default=None,
        description="Whom to trust, for https, and a client certificate.",
        examples=[{"ca": "/etc/kafka/registry-ca.pem"}],
    )
    context: Annotated[str, AfterValidator(_context), Shown("string")] = Field(
        default="",
        description="Context inside the registry, with subjects and ids of its own. Empty means the default "
        "one.",
        examples=[".paris"],
    )
    timeout: Annotated[Duration, Between("100ms", "5m")] = Field(
        default=parse_duration("10s"), description="Time that the registry has for one response."
    )
    unsafe: Flag = Field(
        default=False,
        description="Allow a password or a token without https: everyone on the network can read it. A "
        "warning at each start says so.",
    )

    @model_validator(mode="after")
    def _login(self) -> RegistrySettings:
        if bool(self.username) != bool(self.password):
            raise ValueError("username and password need each other")
        if self.username and self.token:
            raise ValueError("username and token are two ways to log in: give one of them")
        if self.exposes_login and not self.unsafe:
            raise ValueError("a password or a token needs https, or unsafe = true")
        return self

    @property
    def exposes_login(self) -> bool:
        """Whether a password or a token would leave this machine without encryption."""
        open_urls = [url for url in self.url if not url.startswith("https:")]
        remote = [url for url in open_urls if not _LOOPBACK.fullmatch(urlsplit(url).hostname or "")]
        return bool(remote) and bool(self.username or self.token)


class SchemaSettings(ConfigTable):
    """What to do with the schemas that records name by an id of the source's registry."""

    mode: Literal["pass", "copy"] = Field(
        default="pass",
        description='"pass": records keep their bytes, and registries are not asked. "copy": subjects that '
        "records use are copied to the destination's registry first, and ids in keys and values are replaced "
        "where that registry cannot keep them.",
    )
    source: str = Field(
        default="",
        description="Name of the sources' registry. Empty means that each source has the registry of its "
        "alias.",
        examples=["paris"],
    )
    destination: str = Field(
        default="",
        description="Name of the destination's registry. Empty means the one of the destination's alias.",
        examples=["tokyo"],
    )
    keys: SubjectStrategy = Field(
        default="topic",
        description="Subjects of keys, as their producers name them: by the topic (`<topic>-key`), by the "
        'record, or by both. "none": keys name no schemas, and keep their bytes.',
    )
    values: SubjectStrategy = Field(default="topic", description="The same for values (`<topic>-value`).")
    exclude: fields.Exclusions = Field(
        default=(),
        description="Source topics whose records name no schemas, and keep their bytes: names, or regular "
        "expressions that must match the whole name.",
    )
    versions: SchemaVersions = Field(
        default="used",
        description='"used": versions of a subject are copied up to the latest that records use. "all": new '
        "ones follow as well, every 30 seconds.",
    )
    unknown_ids: UnknownIds = Field(
        default="refuse",
        description="What to do with a key or value that begins like one with an id, where the source's "
        'registry has no such id under the topic\'s subjects. "refuse": `on_poison` decides about the '
        'record. "pass": it keeps its bytes.',
    )
