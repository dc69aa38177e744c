"""One schema: responses, docs/api.md and the page's script agree with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from causeway.core.job import Job
from causeway.core.snapshot import EventView
from causeway.web import api_schema
from causeway.web.app import HERE
from causeway.web.stream import Feed
from support import generated_docs
from web import made
from web.made import NOW, TOKEN, Shown, mirror, partition, snapshot

MIRROR = "/api/v1/mirrors/paris-to-tokyo"
SCRIPTS = sorted((HERE / "static").glob("*.js"))
PAGES = sorted((HERE / "templates").glob("*.html"))
VARIABLES: dict[str, type[BaseModel]] = {
    "accepted": api_schema.ApiAccepted,
    "apiError": api_schema.ApiError,
    "apiLayout": api_schema.ApiLayout,
    "catch_up": api_schema.ApiCatchUp,
    "content": api_schema.ApiConfiguration,
    "eventList": api_schema.ApiEventList,
    "finding": api_schema.ApiFinding,
    "findings[0]": api_schema.ApiFinding,
    "first": api_schema.ApiFinding,
    "gap": api_schema.ApiGap,
    "gapList": api_schema.ApiGapList,
    "job": api_schema.ApiJob,
    "layoutCell": api_schema.ApiLayoutCell,
    "logEvent": api_schema.ApiEvent,
    "mirror": api_schema.ApiStreamedMirror,
    "nodeMove": api_schema.ApiNodeMove,
    "partition": api_schema.ApiPartition,
    "partitionList": api_schema.ApiPartitionList,
    "pool": api_schema.ApiPool,
    "poolNode": api_schema.ApiNode,
    "shard": api_schema.ApiShard,
    "shardList": api_schema.ApiShardList,
    "status": api_schema.ApiStreamEvent,
    "stoppedPartition": api_schema.ApiStoppedPartition,
    "versions": api_schema.ApiVersions,
}
"""The model that a variable of the page's scripts and templates holds: each name has one meaning there."""


def read_fields(text: str) -> set[tuple[str, str]]:
    """Every `variable.field` of a script or a template, without comments, imports and quoted text."""
    code = re.sub(r"^import .*$|//.*$|\"[^\"\n]*\"", "", text, flags=re.MULTILINE)
    names = "|".join(map(re.escape, VARIABLES))
    return set(re.findall(rf"(?<![\w-])({names})(?=\??\.(\w+))", code))


@pytest.mark.parametrize("path", [*SCRIPTS, *PAGES], ids=lambda path: path.name)
def test_the_page_reads_only_fields_of_the_schema(path: Path) -> None:
    unknown = {(name, field) for name, field in read_fields(path.read_text()) if not has(name, field)}
    assert unknown == set()


def has(variable: str, field: str) -> bool:
    return field in VARIABLES[variable].model_fields


def test_every_variable_is_used_and_fields_are_found() -> None:
    pairs = {pair for path in [*SCRIPTS, *PAGES] for pair in read_fields(path.read_text())}
    assert {name for name, _ in pairs} == set(VARIABLES)
    assert len(pairs) > 90
    assert read_fields("mirror.lag; this.job?.state; // gap.x\nx = 'a'") == {
        ("mirror", "lag"),
        ("job", "state"),
    }


def test_the_plots_draw_columns_of_the_history_that_the_stream_continues() -> None:
    names = set(re.findall(r'name: "(\w+)"', (HERE / "static" / "plots.js").read_text()))
    assert len(names) == 6
    assert names <= set(api_schema.ApiHistory.model_fields)
    assert names <= set(api_schema.ApiStreamedMirror.model_fields)


@pytest.mark.parametrize("path", generated_docs.PAGES, ids=lambda path: path.name)
def test_the_tables_of_the_docs_are_those_of_the_code(path: Path) -> None:
    page = path.read_text()
    assert page == generated_docs.generated(page), "run: PYTHONPATH=tests python -m support.generated_docs"


def test_every_model_is_documented_and_every_field_described() -> None:
    page = (generated_docs.DOCS / "api.md").read_text()
    documented = set(re.findall(r"<!-- fields: (\w+)", page))
    inline = {"ApiLayout", "ApiStoppedPartition", "ApiVersions", "ApiLive", "ApiReady", "ApiStarted"}
    bases = {"ApiModel", "ApiProcessState", "ApiStreamEvent"}
    assert set(generated_docs.MODELS) - inline - bases == documented
    assert list(generated_docs.undescribed()) == []


ROUTES: dict[str, type[BaseModel]] = {
    "/api/v1/mirrors": api_schema.ApiProcess,
    MIRROR: api_schema.ApiMirrorDetail,
    f"{MIRROR}/partitions": api_schema.ApiPartitionList,
    f"{MIRROR}/layout": api_schema.ApiLayout,
    f"{MIRROR}/shards": api_schema.ApiShardList,
    f"{MIRROR}/events": api_schema.ApiEventList,
    f"{MIRROR}/gaps": api_schema.ApiGapList,
    f"{MIRROR}/node-lags": api_schema.ApiNodeLagList,
    f"{MIRROR}/configuration": api_schema.ApiConfiguration,
    "/api/v1/history?mirror=paris-to-tokyo": api_schema.ApiHistory,
    "/api/v1/jobs/7": api_schema.ApiJob,
    "/api/v1/jobs/8": api_schema.ApiError,
    "/livez": api_schema.ApiLive,
    "/readyz": api_schema.ApiReady,
    "/startupz": api_schema.ApiStarted,
}


def conforms(content: Any, model: type[BaseModel]) -> bool:
    """Every field is there, of its type, and no other one."""
    return bool(model.model_validate(content).model_dump(mode="json") == content)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "situation", ["stopped", "starting", "typo", "unknown_ends", "pooled", "without_node"]
)
def test_responses_conform_to_the_schema(
    client: TestClient, shown: Shown, route: str, situation: str
) -> None:
    shown.view = getattr(made, situation)()
    shown.jobs["7"] = Job("7", "paris-to-tokyo", "running", NOW)
    assert conforms(client.get(route).json(), ROUTES[route])


@pytest.mark.parametrize("action", ["pause", "verify", "failover"])
def test_accepted_actions_conform_to_the_schema(client: TestClient, action: str) -> None:
    response = client.post(f"{MIRROR}/{action}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert conforms(response.json(), api_schema.ApiAccepted)


def test_the_stream_conforms_to_the_schema() -> None:
    feed = Feed(Shown(made.stopped()), lambda: NOW)
    feed.take_snapshot()
    head, data = feed.event().decode().split("\ndata: ")
    assert head == "id: 1\nevent: status"
    assert conforms(json.loads(data), api_schema.ApiStreamEvent)


def test_text_that_utf8_cannot_encode_is_escaped(client: TestClient, shown: Shown) -> None:
    """A damaged ledger may contain lone surrogates: the page must still show everything else."""
    event = EventView(NOW, "error", "broken \udcff", "\ud800")
    shown.view = snapshot(mirror([partition(verdict="filter", what="\udcff")], events=(event,)))
    assert client.get(f"{MIRROR}/events").json()["events"][0]["what"] == "broken \\udcff"
    assert client.get("/api/v1/mirrors").json()["findings"][0]["what"].endswith("(filter): \\udcff")
    feed = Feed(shown, lambda: NOW)
    feed.take_snapshot()
    assert b"\\\\udcff" in feed.event()
