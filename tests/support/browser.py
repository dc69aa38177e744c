"""A real browser: Debian's Chromium, headless, driven over the pipe of its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START_SECONDS = 60.0
ANSWER_SECONDS = 30.0
LARGE = 1 << 20
AT_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, wanted in zip(ends, (3, 4)):
    os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The file descriptors at which the browser expects its pipe."""


def program() -> str:
    """Chromium's path, or an empty string if it is not installed."""
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), "")


class Page:
    """A tab. `errors`: the errors of its console."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, parameters, self._session)

    def go(self, address: str) -> None:
        self.ask("Page.navigate", url=address)
        self.until("document.readyState === 'complete'", "the page is loaded")

    def js(self, expression: str) -> Any:
        reply = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """The visible text."""
        return str(self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def until(self, expression: str, what: str, seconds: float = 60.0) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := self.js(expression)):
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}\n{self.text()[:3000]}"
            time.sleep(0.05)
        return value

    def looks(self, width: int, height: int, *, dark: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, place: Path) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        place.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """Otherwise it keeps sending requests to its server's port, where the next server may listen."""
        self._browser.ask("Target.closeTarget", {"targetId": self._target})

    def on_event(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(parameters["entry"])[:500])


class Browser:
    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        flags = "--headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe"
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", AT_3_AND_4, str(to_read), str(to_write), program(), *flags.split(),
                f"--user-data-dir={profile}", "about:blank",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write), start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._pages: dict[str, Page] = {}
        try:
            self.ask("Browser.getVersion", {}, seconds=START_SECONDS)
        except AssertionError:
            self.close()
            raise

    def page(self) -> Page:
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self._pages[session] = page = Page(self, target, session)
        return page

    def ask(
        self, method: str, parameters: dict[str, Any], session: str = "", seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any]:
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        os.write(self._to, json.dumps(order | ({"sessionId": session} if session else {})).encode() + b"\0")
        for message in self._messages(time.monotonic() + seconds):
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            if "method" in message and (page := self._pages.get(message.get("sessionId", ""))):
                page.on_event(message["method"], message["params"])
        raise AssertionError(f"the browser did not respond to {method} within {seconds:.0f} s")

    def _messages(self, deadline: float) -> Iterator[dict[str, Any]]:
        while (left := deadline - time.monotonic()) > 0:
            whole, zero, rest = self._rest.partition(b"\0")
            if zero:
                self._rest = rest
                yield json.loads(whole)
            elif select.select([self._from], [], [], left)[0]:
                self._rest += os.read(self._from, LARGE)

    def close(self) -> None:
        with contextlib.suppress(AssertionError, OSError):
            self.ask("Browser.close", {}, seconds=5)
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
