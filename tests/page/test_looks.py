"""The page in a real browser, over snapshots made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from causeway.web.app import application
from causeway.web.serve import Server
from support.browser import Page
from web import made
from web.made import NOW, Shown

Serve = Callable[[Shown], str]
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(shown: Shown) -> str:
        servers.append(Server(application(shown, made.TOKEN, now=lambda: NOW), port=0))
        servers[-1].start()
        return servers[-1].address

    yield start
    for server in servers:
        server.stop()


def test_names_with_markup_are_text(serve: Serve, page: Page) -> None:
    page.go(serve(Shown(made.markup())))
    page.until(f"document.querySelector('#events').innerText.includes({made.MARKUP!r})", "it is all shown")
    page.until("document.querySelectorAll('#offsets tr').length === 1", "its offsets are shown")

    assert page.js("document.querySelectorAll('[onerror]').length") == 0
    assert made.MARKUP in page.text("#offsets")
    assert page.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_a_thousand_partitions_fit(serve: Serve, page: Page, width: int, dark: bool) -> None:
    page.looks(width, 900, dark=dark)
    page.go(serve(Shown(made.thousand())))
    page.until("document.querySelector('#heat-count').innerText.includes('1,000')", "all are counted")

    assert not page.js(WIDE), "nothing is to be scrolled sideways"
    shade = page.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(shade) < 200) is dark
    assert page.errors == []


@pytest.mark.parametrize(
    "situation", ["lagging", "stopped", "paused", "waiting", "starting", "typo", "refused"]
)
def test_every_situation_has_its_first_line(serve: Serve, page: Page, situation: str) -> None:
    shown = Shown(getattr(made, situation)())
    page.go(serve(shown))
    page.until("document.querySelector('#link').dataset.state === 'live'", "the page is live")

    assert page.text("#first")
    assert not page.text("#first").startswith("All is well")
    assert page.errors == []


def test_what_changes_is_seen_without_a_reload(serve: Serve, page: Page) -> None:
    shown = Shown(made.healthy())
    page.go(serve(shown))
    page.until("document.querySelector('#verdict').dataset.level === 'well'", "all is well")
    shown.view = made.stopped()
    page.until("document.querySelector('#verdict').dataset.level === 'error'", "a partition stands still")
    shown.view = made.healthy()
    page.until("document.querySelector('#verdict').dataset.level === 'well'", "all is well again")
    assert page.errors == []
