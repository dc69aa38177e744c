"""What `causeway status -o json` prints: the API's response and the details of each mirror."""

from __future__ import annotations

from pydantic import Field

from causeway.web.api_schema import ApiEvent, ApiGap, ApiModel, ApiPartition, ApiProcess, ApiShard


class MirrorDetails(ApiModel):
    shards: list[ApiShard] = Field(description="every shard")
    stopped_partitions: list[ApiPartition] = Field(description="the partitions that are stopped")
    events: list[ApiEvent] = Field(description="the latest 20")
    gaps: list[ApiGap] = Field(description="every gap since the mirror began")
    ledger_command: str = Field(description="the command that shows positions, gaps and quarantine")


class StatusReport(ApiProcess):
    url: str = Field(description="the address of the process")
    not_run_here: list[str] = Field(description="mirrors of the configuration that this process does not run")
    details: dict[str, MirrorDetails] = Field(description="for each mirror, by name")


class StatusFailure(ApiModel):
    error: str = Field(description="what failed")
    where: str = Field(description="the address")
    why: str = Field(description="the reason")
    todo: str = Field(description="what to do")
