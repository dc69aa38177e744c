"""The page and its files: nothing from elsewhere, nothing inline, and data is never markup."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from starlette.testclient import TestClient

from causeway.web.app import HERE, application
from web import made
from web.made import LOCAL, MARKUP, Shown

ROOT = Path(__file__).parents[2]
STATIC, TEMPLATES = HERE / "static", HERE / "templates"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js" and path.parent == STATIC]
PAGES = sorted(TEMPLATES.glob("*.html"))
# All that `made` has; the last one is of no mirror at all.
SITUATIONS = (
    "healthy", "lagging", "stopped", "paused", "waiting", "starting", "thousand", "markup", "snapshot",
    "pooled", "without_node",
)  # fmt: skip
# A name space, which is not loaded, and the address in the licence line of uPlot.
HARMLESS = ('xmlns="http://www.w3.org/2000/svg"', "/*! https://github.com/leeoniya/uPlot (v1.6.32) */")


def name(path: Path) -> str:
    return path.name


def test_the_first_line_is_there_before_any_script_runs(client: TestClient, shown: Shown) -> None:
    shown.view = made.stopped()
    text = client.get("/").text
    assert "orders[1] is stopped (gap)" in text
    assert "causeway offsets skip mirror.toml" in text
    assert "would be lost" in text


@pytest.mark.parametrize("situation", SITUATIONS)
def test_there_is_a_page_in_every_situation(client: TestClient, shown: Shown, situation: str) -> None:
    shown.view = getattr(made, situation)()
    response = client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"


def test_names_with_markup_are_text(client: TestClient, shown: Shown) -> None:
    shown.view = made.markup()
    text = client.get("/").text
    assert MARKUP not in text
    assert "</script><b>" not in text
    assert html.escape(MARKUP) in text


def test_without_a_token_the_page_says_how_to_have_one(client: TestClient, shown: Shown) -> None:
    text = TestClient(application(shown), LOCAL).get("/").text
    assert "no token is configured" in text
    assert "no token is configured" not in client.get("/").text


@pytest.mark.parametrize(
    "path", ["/", "/livez", "/metrics", "/static/main.js", "/api/v1/mirrors", "/nothing", "/static/nothing"]
)
def test_every_response_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "set-cookie" not in headers
    assert "access-control-allow-origin" not in headers


def test_responses_are_not_cached_and_files_are_revalidated(client: TestClient) -> None:
    assert client.get("/api/v1/mirrors").headers["cache-control"] == "no-store"
    first = client.get("/static/main.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/static/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("path", ["..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "/etc/passwd", "", "uplot"])
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


@pytest.mark.parametrize("path", FILES, ids=name)
def test_files_are_served_with_their_type(client: TestClient, path: Path) -> None:
    response = client.get(f"/static/{path.relative_to(STATIC)}")
    assert response.status_code == 200
    assert response.content == path.read_bytes()
    kind = response.headers["content-type"]
    assert {".js": "javascript", ".css": "text/css", ".svg": "image/svg+xml", "": "octet"}[
        path.suffix
    ] in kind


@pytest.mark.parametrize("path", [*FILES, *PAGES], ids=name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    text = path.read_text()
    for harmless in HARMLESS:
        text = text.replace(harmless, "")
    assert not re.findall(r"(?:https?:|wss?:)?//[a-z0-9-]+\.[a-z]", text, re.I)
    assert "@import" not in text


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_write_text_and_never_markup(path: Path) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|setHTML"
    assert not re.findall(forbidden, path.read_text())


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_nothing_is_inline_and_nothing_unescaped(path: Path) -> None:
    text = path.read_text()
    assert not re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert all("src=" in script for script in re.findall(r"<script[^>]*>", text))
    assert not re.findall(r"\|\s*safe|autoescape", text)


def test_what_pages_and_scripts_refer_to_is_there() -> None:
    pages = "".join(path.read_text() for path in PAGES)
    for link in re.findall(r'(?:src|href)="(static/[^"]+)"', pages):
        assert (HERE / link).is_file(), link
    ids = re.findall(r'\sid="([^"]+)"', pages)
    assert len(ids) == len(set(ids))
    for path in SCRIPTS:
        text = path.read_text()
        for imported in re.findall(r'from "\./([^"]+)"', text):
            assert (STATIC / imported).is_file(), f"{path.name} imports {imported}"
        for wanted in re.findall(r'find\("([^"]+)"\)', text):
            assert wanted in ids, f"{path.name} looks for {wanted}"
    for wanted in re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', pages):
        assert wanted in ids, wanted


def test_the_plots_library_has_its_licence_beside_it() -> None:
    assert "MIT License" in (STATIC / "uplot" / "LICENSE").read_text()


def test_the_wheel_has_every_file() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    for path in [*FILES, *PAGES]:
        assert str(path.relative_to(ROOT / "src")) in packed
