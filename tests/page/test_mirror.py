"""The page of a real mirror, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.browser import Page
from support.process import eventually
from support.proxy import Proxy
from support.world import World

TOKEN = "a-token-of-the-tests"
HEALTHY = "document.querySelector('#health').dataset.level === 'ok'"


def shows(page: Page, place: str, text: str) -> None:
    page.until(f"document.querySelector({place!r}).innerText === {text!r}", f"{place} is {text}")


def click(page: Page, place: str) -> None:
    page.until(f"!document.querySelector({place!r}).disabled", f"{place} can be clicked")
    page.js(f"document.querySelector({place!r}).click()")


def cells(page: Page) -> list[list[str]]:
    """The rows of the table of offsets."""
    rows = "[...document.querySelectorAll('#offsets tr')]"
    return list(page.js(f"{rows}.map(row => [...row.cells].map(cell => cell.innerText))"))


@pytest.mark.spark
def test_lag_an_outage_a_pause_and_a_verify(
    over_line: World, far: EmbeddedCluster, line: Proxy, page: Page
) -> None:
    world = over_line
    topic = world.topic("orders", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config()
    config.write_text(config.read_text().replace(far.bootstrap_servers, far.proxied_servers))
    run = world.run(config, "-X", "web.port=0", "-X", f"web.token={TOKEN}")
    page.go(run.page())

    page.until(HEALTHY, "it is healthy")
    assert page.text("#health-what").startswith("Healthy")
    shows(page, "#f-delivered", "1,000")
    shows(page, "#f-lag", "0")
    page.until("document.querySelector('#shards').innerText.includes('native')", "the shards are shown")
    assert str(run.process.pid) in page.text("#process")
    replicated = [[f"{topic}[{number}]", "0", "500", "500", "0"] for number in range(2)]
    eventually(
        lambda: [row[:5] for row in sorted(cells(page))] == replicated, "both sides' offsets are shown"
    )
    assert page.text("#rpo") == "If the source were lost now, no records would be lost."

    line.cut()
    world.produce(topic, world.numbers(500, 2, 1_000))
    shows(page, "#f-lag", "500")
    page.until("document.querySelector('#state').dataset.state === 'waiting'", "it waits")
    page.until("document.querySelector('#health').dataset.level === 'error'", "the headline says so")
    assert "dst" in page.text("#health-what")
    assert "500 records" in page.text("#rpo")
    line.heal()
    shows(page, "#f-lag", "0")
    shows(page, "#f-delivered", "1,500")
    page.until(HEALTHY, "it is healthy again")

    click(page, "#pause")
    page.js(f"document.querySelector('#token').value = '{TOKEN}'")
    page.js("document.querySelector('#by').value = 'the tests'")
    page.js("document.querySelector('#token-submit').click()")
    page.until("document.querySelector('#state').dataset.state === 'paused'", "it is paused")
    page.until("document.querySelector('#main').innerText.includes('the tests')", "it says who did")
    world.produce(topic, world.numbers(100, 2, 1_500))
    shows(page, "#f-lag", "100")
    click(page, "#resume")
    shows(page, "#f-delivered", "1,600")
    page.until(HEALTHY, "it is healthy once more")

    click(page, "#verify")
    page.until("document.querySelector('#job').dataset.state === 'equal'", "both sides are equal", 120)
    assert "1,600" in page.text("#job-lines")
    assert page.errors == []
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_a_stopped_partition_is_shown_with_its_remedy(world: World, page: Page, tmp_path: Path) -> None:
    topic, config = world.with_a_gap("orders")
    run = world.run(config, "-X", "web.port=0")
    page.go(run.page())

    page.until("document.querySelector('#health').dataset.level === 'error'", "the headline says so")
    assert f"{topic}[1]" in page.text("#health-what")
    assert "offsets skip" in page.text("#health-todo")
    page.until("document.querySelector('#events').innerText.includes('gap')", "there is an event")
    assert "offsets skip" in page.text("#events")
    shows(page, "#f-delivered", "150")
    assert page.js("document.querySelector('#pause').disabled"), "there is no token"
    assert page.errors == []
    assert run.stop() == 0, run.output
