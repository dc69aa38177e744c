"""`causeway pause` and `resume`: through the API if the mirror runs, otherwise in its ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from causeway.cli import pause as command
from causeway.cli.api_client import ApiClient
from causeway.config import MirrorSettings, Settings
from causeway.core.ledger_record import Paused
from causeway.errors import IntegrityError
from causeway.kafka.ledger_access import who
from causeway.operations.pause import PauseChange
from causeway.web.access import NO_TOKEN, Access
from causeway.web.api_responses import process
from causeway.web.app import application
from causeway.web.history import History
from causeway.web.serve import Server
from cli.conftest import Configure, Foreign, Serve, Type
from web import made
from web.made import NOW, Shown, mirror, refusal, snapshot

LATER = 0.5


class Obeying(Shown):
    """Applies a request after some time."""

    def pause(self, mirror: str, by: str) -> None:
        super().pause(mirror, by)
        threading.Timer(LATER, self._become, (mirror, "paused", by)).start()

    def resume(self, mirror: str, by: str) -> None:
        super().resume(mirror, by)
        threading.Timer(LATER, self._become, (mirror, "running", "")).start()

    def _become(self, name: str, state: Any, by: str) -> None:
        mirrors = tuple(
            replace(mirror, state=state, paused_by=by) if mirror.name == name else mirror
            for mirror in self.view.mirrors
        )
        self.view = replace(self.view, mirrors=mirrors)

    def state(self, name: str = "paris-to-tokyo") -> str:
        return next(mirror.state for mirror in self.view.mirrors if mirror.name == name)


class Written:
    """A fake ledger."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.respond: Callable[[str], PauseChange] = lambda by: PauseChange(Paused(by, NOW), unchanged=False)

    def write_pause(self, _: Settings, mirror: MirrorSettings, by: str, why: str) -> PauseChange:
        self.asked.append((mirror.name, by, why))
        return self.respond(by)


@pytest.fixture(autouse=True)
def ledger(monkeypatch: pytest.MonkeyPatch) -> Written:
    written = Written()
    monkeypatch.setattr(command, "write_pause", written.write_pause)
    return written


def test_pause_requests_a_running_mirror_and_waits_for_it(
    serve: Serve, configure: Configure, typed: Type, ledger: Written
) -> None:
    shown, config = Obeying(made.healthy()), configure()
    address = serve(shown)

    result = typed("pause", config, "--url", address)

    assert result.code == 0, result
    assert result.out == f"paris-to-tokyo is paused; resume it with `causeway resume {config}`\n"
    assert shown.state() == "paused", "it was reported too early"
    result = typed("resume", config, "--url", address)
    assert (result.code, result.out) == (0, "paris-to-tokyo is resumed\n"), result
    assert shown.state() == "running", "it was reported too early"
    assert shown.asked == [("pause", "paris-to-tokyo", who()), ("resume", "paris-to-tokyo", who())]
    assert ledger.asked == []


def test_of_several_mirrors_one_is_named(serve: Serve, configure: Configure, typed: Type) -> None:
    shown = Obeying(snapshot(mirror(), mirror(name="back")))
    config, address = configure("paris-to-tokyo", "back"), serve(shown)
    for verb in ("pause", "resume"):
        result = typed(verb, config, "--url", address)
        assert (result.code, "several mirrors" in result.err) == (2, True), result
    assert shown.asked == []
    result = typed("pause", config, "--url", address, "--mirror", "back")
    assert f"causeway resume {config} --mirror back`" in result.out
    assert (shown.state("back"), shown.state()) == ("paused", "running")
    assert typed("pause", config, "--url", address, "--mirror", "unknown").code == 2


@pytest.mark.parametrize(
    ("view", "verb", "words"),
    [
        (made.paused(), "pause", "is already paused by ann since 2026-09-21 14:08:20 UTC; resume it with"),
        (snapshot(mirror(state="waiting", paused_by="ann")), "pause", "is already paused by ann; resume it"),
        (made.healthy(), "resume", "paris-to-tokyo is not paused: it is running\n"),
    ],
)
def test_a_state_that_already_holds_is_reported_and_not_requested(
    serve: Serve, configure: Configure, typed: Type, view: Any, verb: str, words: str
) -> None:
    shown = Shown(view)
    result = typed(verb, configure(token=""), "--url", serve(shown))
    assert (result.code, words in result.out) == (0, True), result
    assert shown.asked == []


def test_a_mirror_that_does_not_pause_in_time_is_not_reported_as_paused(
    serve: Serve, configure: Configure, typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for a cluster, shards may still replicate."""
    monkeypatch.setattr(command, "WAIT_SECONDS", 0.3)
    result = typed("pause", configure(), "--url", serve(Shown(made.waiting())))
    assert result.code == 5
    assert "error: the mirror has not paused yet" in result.err
    assert "why: it is waiting for paris" in result.err
    assert result.out == ""


def test_pause_does_not_wait_for_a_mirror_that_ends_instead(
    serve: Serve, configure: Configure, typed: Type
) -> None:
    class Ending(Obeying):
        def pause(self, mirror: str, by: str) -> None:
            self._become(mirror, "failed", "")

    result = typed("pause", configure(), "--url", serve(Ending(made.healthy())))
    assert (result.code, "why: it is failed" in result.err) == (5, True), result


def test_without_a_token_the_remedy_is_reported(
    serve: Serve, configure: Configure, typed: Type, ledger: Written
) -> None:
    shown = Shown(made.healthy())
    result = typed("pause", configure(token=""), "--url", serve(shown))
    assert result.code == 4
    assert "no token is configured: it cannot be asked to pause" in result.err
    assert "set `token = " in result.err
    assert (shown.asked, ledger.asked) == ([], []), "it runs: nothing is written to its ledger"


def test_another_token_is_refused(serve: Serve, configure: Configure, typed: Type) -> None:
    shown = Shown(made.healthy())
    address = serve(shown)
    for token in ("another one", "schlüssel"):
        result = typed("pause", configure(token=token), "--url", address)
        assert (result.code, "error: the token is wrong" in result.err) == (4, True), result
        assert token not in result.err
    result = typed("pause", configure(token="a\\nsecret"), "--url", address)
    assert (result.code, "secret" in result.err) == (3, False), result
    assert shown.asked == []


def test_a_process_without_a_token_reports_that(configure: Configure, typed: Type) -> None:
    server = Server(application(Shown(made.healthy())), port=0)
    server.start()
    result = typed("pause", configure(), "--url", server.address)
    server.stop()
    assert (result.code, NO_TOKEN in result.err) == (4, True), result


def test_a_token_with_non_ascii_letters_is_accepted(configure: Configure, typed: Type) -> None:
    shown = Obeying(made.healthy())
    server = Server(application(shown, Access("schlüssel")), port=0)
    server.start()
    result = typed("pause", configure(token="schlüssel"), "--url", server.address)
    server.stop()
    assert (result.code, len(shown.asked)) == (0, 1), result


def test_a_request_that_the_mirror_rejects_is_reported_with_its_remedy(
    serve: Serve, configure: Configure, typed: Type
) -> None:
    shown = Shown(made.healthy())
    shown.error = refusal()
    result = typed("pause", configure(), "--url", serve(shown))
    assert result.code == 2
    assert result.err.splitlines()[0] == "error: the mirror is about to end"
    assert result.err.splitlines()[-1] == "do: start it again"


@pytest.mark.parametrize("code", [302, 307])
def test_the_token_is_sent_to_no_other_address(
    foreign: Foreign, configure: Configure, typed: Type, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    asked: list[str] = []
    away = foreign(b"", code, {"Location": foreign(b"{}", asked=asked)})
    running = process(made.healthy(), History(), NOW)
    monkeypatch.setattr(ApiClient, "process", lambda _: running)
    result = typed("pause", configure(), "--url", away)
    assert (result.code, "redirects to another one" in result.err) == (5, True), result
    assert asked == []


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize(
    ("web", "why"),
    [
        ("enabled = false", "does not serve its API"),
        ("port = 0", "on any free port"),
        ("port = {port}", "no mirror responds"),
    ],
)
def test_if_no_process_responds_the_request_is_written_to_the_ledger(
    configure: Configure, typed: Type, ledger: Written, unreachable: str, verb: str, web: str, why: str
) -> None:
    config = configure(web=web.format(port=unreachable.rpartition(":")[2]))
    result = typed(verb, config)
    assert result.code == 0, result
    [(name, by, reason)] = ledger.asked
    assert (name, by, why in reason) == ("paris-to-tokyo", who() if verb == "pause" else "", True)
    begins, ends = {
        "pause": ("does not run; it is paused and stays", f"resume it with `causeway resume {config}`\n"),
        "resume": ("does not run; it is no longer paused;", f"start it with `causeway run {config}`\n"),
    }[verb]
    assert result.out.startswith(f"paris-to-tokyo {begins}"), result
    assert result.out.endswith(ends), result


def test_another_process_or_program_on_the_port_does_not_decide(
    serve: Serve, foreign: Foreign, configure: Configure, typed: Type, ledger: Written
) -> None:
    shown = Shown(made.healthy())
    assert typed("pause", configure("m"), "--url", serve(shown)).code == 0
    assert typed("pause", configure("m"), "--url", foreign(b"<html>")).code == 0
    first, second = (why for _, _, why in ledger.asked)
    assert "does not run it: it runs paris-to-tokyo" in first
    assert "not Causeway" in second
    assert shown.asked == []


@pytest.mark.parametrize("state", ["done", "stopped", "failed"])
def test_a_mirror_that_ended_beside_others_is_paused_in_its_ledger(
    serve: Serve, configure: Configure, typed: Type, ledger: Written, state: Any
) -> None:
    shown = Shown(snapshot(mirror(state=state), mirror(name="back")))
    assert typed("pause", configure(), "--url", serve(shown)).code == 0
    assert [(name, by) for name, by, _ in ledger.asked] == [("paris-to-tokyo", who())]
    assert shown.asked == []


def test_a_pause_that_is_already_in_the_ledger_is_reported(
    configure: Configure, typed: Type, ledger: Written, unreachable: str
) -> None:
    config: Path = configure()
    ledger.respond = partial(_noted, Paused("ann@tokyo-1", NOW))
    result = typed("pause", config, "--url", unreachable)
    assert (result.code, result.out) == (
        0,
        "paris-to-tokyo is already paused by ann@tokyo-1 since 2026-09-21 14:13:20 UTC; resume it with"
        f" `causeway resume {config}`\n",
    )
    for record in (None, Paused("", NOW)):
        ledger.respond = partial(_noted, record)
        result = typed("resume", config, "--url", unreachable)
        assert (result.code, result.out) == (0, "paris-to-tokyo is not paused: the ledger has no pause\n")


def _noted(record: Paused | None, _: str) -> PauseChange:
    return PauseChange(record, unchanged=True)


def test_a_running_mirror_that_does_not_respond_is_not_paused(
    configure: Configure, typed: Type, ledger: Written, unreachable: str
) -> None:
    def runs(_: str) -> PauseChange:
        raise IntegrityError("the mirror is running", why=ledger.asked[-1][2], todo="--url")

    ledger.respond = runs
    result = typed("pause", configure(), "--url", unreachable)
    assert result.code == 6
    assert f"why: no mirror responds · {unreachable} · Connection refused" in result.err
