"""The page in a real browser, over snapshots made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from support.browser import Page
from support.hostile import TEXTS
from support.process import eventually
from web import made
from web.made import NOW, Shown
from web.test_hostile_text import hostile

Serve = Callable[[Shown], str]
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(shown: Shown) -> str:
        servers.append(Server(application(shown, Access(made.TOKEN), now=lambda: NOW), port=0))
        servers[-1].start()
        return servers[-1].address

    yield start
    for server in servers:
        server.stop()


def test_a_private_page_shows_nothing_until_the_token_is_entered(page: Page) -> None:
    shown = Shown(made.stopped())
    server = Server(application(shown, Access(made.TOKEN, private=True), now=lambda: NOW), port=0)
    server.start()
    try:
        page.go(server.address)
        page.until("document.querySelector('#token-dialog').open", "it asks for the token")
        assert "orders" not in page.js("document.documentElement.outerHTML")
        assert page.errors == []
        page.js("document.querySelector('#token-cancel').click()")
        page.until("document.querySelector('#connection').innerText === 'token required'", "it says so")
        page.js("document.querySelector('#connection').click()")
        page.until("document.querySelector('#token-dialog').open", "it asks again")
        _enter(page, "wrong")
        page.until(
            "document.querySelector('#token-error').innerText === 'the token is wrong'",
            "a wrong token is refused",
        )
        page.errors.clear()  # the browser lists the 403
        _enter(page, made.TOKEN)
        page.until("document.querySelector('#health-what').innerText.includes('orders[1]')", "it shows them")
        page.until("document.querySelectorAll('#offsets tr').length === 2", "the offsets are shown")
        page.until("document.querySelector('#configuration').textContent.includes('paris')", "all is read")
        page.js("document.querySelector('#pause').click()")
        eventually(lambda: shown.asked, "the token is not asked for again")
        assert shown.asked == [("pause", "paris-to-tokyo", "ann")]
        assert made.TOKEN not in page.js("document.documentElement.outerHTML")
        assert page.errors == []
    finally:
        server.stop()


def _enter(page: Page, token: str) -> None:
    page.js(f"document.querySelector('#token').value = {token!r}")
    page.js("document.querySelector('#by').value = 'ann'")
    page.js("document.querySelector('#token-submit').click()")


def test_names_with_markup_are_text(serve: Serve, page: Page) -> None:
    page.go(serve(Shown(made.markup())))
    page.until(f"document.querySelector('#events').innerText.includes({made.MARKUP!r})", "the event is shown")
    page.until("document.querySelectorAll('#offsets tr').length === 1", "its offsets are shown")

    assert page.js("document.querySelectorAll('[onerror]').length") == 0
    assert made.MARKUP in page.text("#offsets")
    assert page.errors == []


@pytest.mark.parametrize("situation", ["stopped", "pooled", "waiting"])
def test_hostile_texts_are_shown_and_not_interpreted(serve: Serve, page: Page, situation: str) -> None:
    """Markup, scripts, escape sequences, reversed reading direction, control characters, very long ones."""
    text = "".join(TEXTS)
    page.go(serve(Shown(hostile(situation, text))))
    page.until("document.querySelectorAll('#offsets tr').length === 2", "its offsets are shown")
    page.until("document.querySelector('#configuration').textContent.includes('onerror')", "all is shown")
    shown = page.js("document.body.innerText")
    assert "<img src=x onerror=alert(1)>" in shown
    assert r"\u202e" in shown
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert page.js("document.querySelectorAll('[onerror], main script, main a[href*=evil]').length") == 0
    assert not page.js(WIDE), "the page must not scroll sideways"
    assert page.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_a_thousand_partitions_fit(serve: Serve, page: Page, width: int, dark: bool) -> None:
    page.looks(width, 900, dark=dark)
    page.go(serve(Shown(made.thousand())))
    page.until("document.querySelector('#heat-map-count').innerText.includes('1,000')", "all are counted")

    assert not page.js(WIDE), "the page must not scroll sideways"
    shade = page.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(shade) < 200) is dark
    assert page.errors == []


@pytest.mark.parametrize(
    "situation",
    ["lagging", "stopped", "paused", "waiting", "starting", "typo", "refused", "pooled", "without_node"],
)
def test_every_situation_has_its_headline(serve: Serve, page: Page, situation: str) -> None:
    shown = Shown(getattr(made, situation)())
    page.go(serve(shown))
    page.until("document.querySelector('#connection').dataset.state === 'live'", "the page is live")

    assert page.text("#health-what")
    assert not page.text("#health-what").startswith("Healthy")
    assert page.errors == []


def test_a_lag_that_is_not_known_is_a_dash(serve: Serve, page: Page) -> None:
    page.go(serve(Shown(made.unknown_ends())))
    page.until(
        "document.querySelector('#offsets').innerText.includes('not started')", "its offsets are shown"
    )

    assert (page.text("#f-lag"), page.text("#f-lag-time"), page.text("#f-catch-up")) == (
        "–",
        "–",
        "not known yet",
    )
    assert page.errors == []


def test_counts_agree_with_their_nouns(serve: Serve, page: Page) -> None:
    page.go(serve(Shown(made.unknown_ends())))
    page.until(
        "document.querySelector('#heat-map-count').innerText === '1 partition, 0 stopped'", "one is one"
    )
    counted = (
        "import('/static/format.js').then(format => [0, 1, 2, 1234].map(n => format.counted(n, 'shard')))"
    )
    assert page.js(counted) == ["0 shards", "1 shard", "2 shards", "1,234 shards"]


def test_a_pool_has_its_nodes_and_is_read_from_another_one_by_hand(serve: Serve, page: Page) -> None:
    nodes = (
        made.node("paris-a", shards=(1, 2)),
        made.node("paris-b", lag={("orders", 0): 12}),
        made.node("paris-c", state="dead", why="no response", responds=False),
    )
    shown = Shown(made.snapshot(made.mirror(pools=(made.pool(*nodes),))))
    page.go(serve(shown))
    page.until("document.querySelectorAll('#pool-nodes tr').length === 3", "its nodes are shown")
    cells = (
        "[...document.querySelectorAll('#pool-nodes tr')].map(row => [...row.cells].map(c => c.innerText))"
    )
    assert [row[1:6] for row in page.js(cells)] == [
        ["paris-a", "fit", "0", "1, 2", ""],
        ["paris-b", "fit", "12", "–", ""],
        ["paris-c", "dead", "0", "–", "no response"],
    ]
    assert "dead: paris-a is dead" in page.text("#moves")
    buttons = "[...document.querySelectorAll('#pool-nodes button')]"
    assert page.js(f"{buttons}.map(button => button.disabled)") == [True, False, True]

    page.js(f"{buttons}[1].click()")
    page.until("document.querySelector('#token-dialog').open", "it asks for the token")
    page.js(f"document.querySelector('#token').value = {made.TOKEN!r}")
    page.js("document.querySelector('#by').value = 'ann'")
    page.js("document.querySelector('#token-submit').click()")
    eventually(lambda: shown.asked, "the request is made")
    assert shown.asked == [("failover", "paris-to-tokyo", "paris", "paris-b", "ann", "")]
    assert not page.js(WIDE), "the page must not scroll sideways"
    assert page.errors == []


def test_changes_are_shown_without_a_reload(serve: Serve, page: Page) -> None:
    shown = Shown(made.healthy())
    page.go(serve(shown))
    page.until("document.querySelector('#health').dataset.level === 'ok'", "it is healthy")
    shown.view = made.stopped()
    page.until("document.querySelector('#health').dataset.level === 'error'", "a partition is stopped")
    shown.view = made.healthy()
    page.until("document.querySelector('#health').dataset.level === 'ok'", "it is healthy again")
    assert page.errors == []
