"""Every text of a snapshot is hostile: API, page, probes, stream and metrics show it as text."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from causeway.core.job import Job
from causeway.core.snapshot import Snapshot
from causeway.reporting.metrics import Metrics
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.stream import Feed
from support.hostile import BIDI, NASTY, TEXTS
from web import made
from web.made import LOCAL, NOW, TOKEN, Shown

# Values that a type limits: they do not come from outside.
OURS = {"state", "level", "delivery", "carrier", "outcome", "version", "name"}
SITUATIONS = ("stopped", "waiting", "typo", "refused", "pooled", "without_node", "paused")


def spoilt(value: Any, text: str) -> Any:
    """The value with this text in place of each of its own that comes from outside."""
    if is_dataclass(value) and not isinstance(value, type):
        changes = {
            each.name: spoilt(getattr(value, each.name), text)
            for each in fields(value)
            if each.name not in OURS
        }
        return replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(spoilt(each, text) for each in value)
    if isinstance(value, dict):
        return {spoilt(key, text): spoilt(each, text) for key, each in value.items()}
    return text if isinstance(value, str) else value


def hostile(situation: str, text: str) -> Snapshot:
    view: Snapshot = spoilt(getattr(made, situation)(), text)
    return view


def every_text(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [*content, *every_text(list(content.values()))]
    if isinstance(content, list):
        return [text for each in content for text in every_text(each)]
    return [content] if isinstance(content, str) else []


def is_shown_as_text(text: str) -> bool:
    """Nothing that a browser or a terminal interprets instead of showing it."""
    return text.replace("\n", "").isprintable()


def markup_of(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """The tags of a page, with the names of their attributes."""
    tags: list[tuple[str, tuple[str, ...]]] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, tuple(name for name, _ in attrs)))

    Tags().feed(page)
    return tags


ONE = "/api/v1/mirrors/paris-to-tokyo"
PATHS = (
    "/api/v1/mirrors", ONE, f"{ONE}/layout", f"{ONE}/partitions", f"{ONE}/shards", f"{ONE}/events",
    f"{ONE}/gaps", f"{ONE}/node-lags", f"{ONE}/configuration", "/api/v1/jobs/1",
    "/api/v1/history?mirror=paris-to-tokyo", "/readyz", "/startupz",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("situation", ["stopped", "pooled"])
def test_every_response_shows_it_as_text(shown: Shown, situation: str, text: str) -> None:
    check_responses(shown, situation, text)


@settings(max_examples=60)
@pytest.mark.no_cover
@given(situation=st.sampled_from(SITUATIONS), text=NASTY)
def test_whatever_the_text_is(situation: str, text: str) -> None:
    check_responses(Shown(made.healthy()), situation, text)


def check_responses(shown: Shown, situation: str, text: str) -> None:
    shown.view = hostile(situation, text)
    shown.jobs["1"] = Job("1", text, "failed", NOW, NOW, (text, "x"))
    client = TestClient(application(shown, Access(TOKEN), now=lambda: NOW), LOCAL)
    for path in PATHS:
        response = client.get(path)
        assert response.status_code in (200, 503), path
        assert all(map(is_shown_as_text, every_text(response.json()))), path
    page = client.get("/")
    assert page.status_code == 200
    shown.view = hostile(situation, "harmless" if text else "")
    assert markup_of(page.text) == markup_of(client.get("/").text), "the text has become markup"
    shown.view = hostile(situation, text)
    assert page.text.replace("\n", "").isprintable()
    feed = Feed(shown, lambda: NOW)
    feed.take_snapshot()
    head, _, data = feed.event().decode().partition("\ndata: ")
    assert (head, data.count("\n")) == ("id: 1\nevent: status", 2)
    assert all(map(is_shown_as_text, every_text(json.loads(data))))


@settings(max_examples=60)
@pytest.mark.no_cover
@given(situation=st.sampled_from(SITUATIONS), text=NASTY)
def test_metrics_stay_readable(situation: str, text: str) -> None:
    check_metrics(situation, text)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_metrics_with_these_names(text: str) -> None:
    check_metrics("stopped", text)


def check_metrics(situation: str, text: str) -> None:
    exposed = exposition(hostile(situation, text))
    assert exposed.replace("\n", "").isprintable()
    harmless = exposition(hostile(situation, "harmless" if text else ""))
    assert [line.split("{")[0] for line in samples(exposed)] == [
        line.split("{")[0] for line in samples(harmless)
    ], "the text has become a sample"
    assert len(list(text_string_to_metric_families(exposed))) > 10


def exposition(view: Snapshot) -> str:
    return Metrics(lambda: view, compat=("ktm", "kaf-relay"), clock=lambda: 0.0).exposition().decode()


def samples(exposed: str) -> list[str]:
    return [line for line in exposed.splitlines() if not line.startswith("#")]


def test_a_reversed_name_is_escaped(client: TestClient, shown: Shown) -> None:
    shown.view = hostile("stopped", BIDI)
    assert client.get(f"{ONE}/partitions").json()["partitions"][0]["topic"] == r"\u202eexe.nwod\u2066"
