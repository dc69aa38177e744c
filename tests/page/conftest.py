"""A browser for all tests of the page, and a destination whose connections can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.browser import Browser, Page, program
from support.proxy import Proxy
from support.world import World


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not program():
        pytest.skip("Chromium is not installed: apt-get install chromium")
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Large enough to show everything: the page does not refresh what is out of view."""
    page = browser.page()
    page.looks(1280, 2400)
    yield page
    page.close()


@pytest.fixture
def line() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture
def far(line: Proxy, tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A destination that is reached over that line."""
    with EmbeddedCluster.start("far", directory=tmp_path / "far", proxied={0: line.port}) as cluster:
        target = cluster.brokers[0].proxy_target_port
        assert target is not None
        line.target(target)
        yield cluster


@pytest.fixture
def over_line(source: EmbeddedCluster, far: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    """The mirror connects over the line; the tests' own clients do not."""
    world = World(source, far, tmp_path)
    yield world
    world.close()
