"""Settings of source pools: clusters that carry the same records at the same offsets."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer, Strict, model_validator

from causeway.config import fields
from causeway.config.fields import Between, Duration, Shown
from causeway.config.routing import ConfigTable
from causeway.config.units import parse_duration
from causeway.core.source_pool import InitialNode


def _limit(value: object) -> object:
    if isinstance(value, str) and value != "none":
        raise ValueError('must be "none" or an integer')
    return None if value == "none" else value


def _share(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


FailoverLimit = Annotated[
    Annotated[int, Strict(), Field(ge=0)] | None,
    BeforeValidator(_limit),
    PlainSerializer(lambda count: "none" if count is None else count),
    Shown('"none" or an integer, at least 0'),
]
Records = Annotated[int, Strict(), Field(ge=0), Shown("integer, at least 0")]
Share = Annotated[float, BeforeValidator(_share), Shown("number, 0 to 1")]


class PoolSettings(ConfigTable):
    """A pool: clusters with the same records at the same offsets. A mirror reads from one at a time."""

    nodes: fields.Names = Field(
        description="Aliases of the clusters, the nodes of the pool.",
        examples=[["paris-a", "paris-b", "paris-c"]],
    )
    healthcheck_interval: Annotated[Duration, Between("100ms", "1h")] = Field(
        default=parse_duration("3s"),
        description="Interval of checks: log start and end of every replicated partition, on all nodes.",
    )
    request_timeout: Annotated[Duration, Between("10ms", "5m")] = Field(
        default=parse_duration("1s"),
        description="Time that a node has for one check. The node is dead after two failed checks in a row "
        "and a healthcheck_interval, or at once if all its brokers refuse connections.",
    )
    lag_threshold: Records = Field(
        default=1_000,
        description="A node is lagging if it lacks more than this many records of any one partition that "
        "another fit node has.",
    )
    hysteresis: Annotated[Duration, Between("0ms", "1d")] = Field(
        default=parse_duration("10s"),
        description="How long another node must have more records before a lagging one is left.",
    )
    max_failovers: FailoverLimit = Field(
        default=None,
        description="Maximum of nodes that are left in a row without a record in between; at the next one "
        'the mirror ends with exit code 5. "none" is no limit.',
    )
    backoff_min: Annotated[Duration, Between("10ms", "1h")] = Field(
        default=parse_duration("1s"),
        description="How long a node that had to be left is left alone while another one is fit. It doubles "
        "each time.",
    )
    backoff_max: Annotated[Duration, Between("10ms", "1h")] = Field(
        default=parse_duration("10s"), description="Maximum of that time."
    )
    jitter: Share = Field(
        default=0.2, description="That time is longer or shorter by up to this share of it, at random."
    )
    initial: InitialNode = Field(
        default="first",
        description='Which of the fit nodes a mirror begins with: the first of the list, a "random" one, or '
        'the "freshest", with the smallest lag. A mirror that has positions begins with the node that it '
        "read from last.",
    )

    @model_validator(mode="after")
    def _backoff(self) -> PoolSettings:
        if self.backoff_max < self.backoff_min:
            raise ValueError("backoff_max must not be shorter than backoff_min")
        return self
