"""A source that shows a snapshot, and a client of the application over it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from causeway.web.access import Access
from causeway.web.app import application
from web.made import LOCAL, NOW, TOKEN, Shown, healthy


@pytest.fixture
def shown() -> Shown:
    return Shown(healthy())


@pytest.fixture
def client(shown: Shown) -> Iterator[TestClient]:
    with TestClient(application(shown, Access(TOKEN), now=lambda: NOW), LOCAL) as client:
        yield client
