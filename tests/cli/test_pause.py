"""`causeway pause` and `resume`: over the API where the mirror runs, and else in its ledger."""

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
from causeway.web.actions import NO_TOKEN
from causeway.web.api_responses import process
from causeway.web.app import application
from causeway.web.history import History
from causeway.web.serve import Server
from cli.conftest import Configure, Foreign, Serve, Type
from web import made
from web.made import NOW, Shown, mirror, refusal, snapshot

LATER = 0.5


class Obeying(Shown):
    """Does what it is asked to, after a while."""

    def pause(self, mirror: str, by: str) -> None:
        super().pause(mirror, by)
        threading.Timer(LATER, self._become, (mirror, "paused", by)).start()

    def resume(self, mirror: str, by: str) -> None:
        super().resume(mirror, by)
        threading.Timer(LATER, self._become, (mirror, "running", "")).start()

    def _become(self, name: str, state: Any, by: str) -> None:
        mirrors = tuple(
            replace(one, state=state, paused_by=by) if one.name == name else one for one in self.view.mirrors
        )
        self.view = replace(self.view, mirrors=mirrors)

    def state(self, name: str = "paris-to-tokyo") -> str:
        return next(one.state for one in self.view.mirrors if one.name == name)


class Written:
    """Stands in for the ledger."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.answer: Callable[[str], PauseChange] = lambda by: PauseChange(Paused(by, NOW), unchanged=False)

    def write_pause(self, _: Settings, mirror: MirrorSettings, by: str, why: str) -> PauseChange:
        self.asked.append((mirror.name, by, why))
        return self.answer(by)


@pytest.fixture(autouse=True)
def ledger(monkeypatch: pytest.MonkeyPatch) -> Written:
    written = Written()
    monkeypatch.setattr(command, "write_pause", written.write_pause)
    return written


def test_a_running_mirror_is_asked_and_waited_for(
    serve: Serve, configure: Configure, typed: Type, ledger: Written
) -> None:
    shown, config = Obeying(made.healthy()), configure()
    address = serve(shown)

    said = typed("pause", config, "--url", address)

    assert said.code == 0, said
    assert said.out == f"paris-to-tokyo is paused; resume it with `causeway resume {config}`\n"
    assert shown.state() == "paused", "it was said before it was so"
    said = typed("resume", config, "--url", address)
    assert (said.code, said.out) == (0, "paris-to-tokyo is resumed\n"), said
    assert shown.state() == "running", "it was said before it was so"
    assert shown.asked == [("pause", "paris-to-tokyo", who()), ("resume", "paris-to-tokyo", who())]
    assert ledger.asked == []


def test_of_several_mirrors_one_is_named(serve: Serve, configure: Configure, typed: Type) -> None:
    shown = Obeying(snapshot(mirror(), mirror(name="back")))
    config, address = configure("paris-to-tokyo", "back"), serve(shown)
    for verb in ("pause", "resume"):
        said = typed(verb, config, "--url", address)
        assert (said.code, "several mirrors" in said.err) == (2, True), said
    assert shown.asked == []
    said = typed("pause", config, "--url", address, "--mirror", "back")
    assert f"causeway resume {config} --mirror back`" in said.out
    assert (shown.state("back"), shown.state()) == ("paused", "running")
    assert typed("pause", config, "--url", address, "--mirror", "nobody").code == 2


@pytest.mark.parametrize(
    ("view", "verb", "words"),
    [
        (made.paused(), "pause", "is already paused by ann since 2026-09-21 14:08:20 UTC; resume it with"),
        (snapshot(mirror(state="waiting", paused_by="ann")), "pause", "is already paused by ann; resume it"),
        (made.healthy(), "resume", "paris-to-tokyo is not paused: it is running\n"),
    ],
)
def test_what_is_so_already_is_said_and_not_asked_for(
    serve: Serve, configure: Configure, typed: Type, view: Any, verb: str, words: str
) -> None:
    shown = Shown(view)
    said = typed(verb, configure(token=""), "--url", serve(shown))
    assert (said.code, words in said.out) == (0, True), said
    assert shown.asked == []


def test_a_mirror_that_does_not_obey_in_time_is_not_said_to_be_paused(
    serve: Serve, configure: Configure, typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for a cluster, shards may still carry."""
    monkeypatch.setattr(command, "WAIT_SECONDS", 0.3)
    said = typed("pause", configure(), "--url", serve(Shown(made.waiting())))
    assert said.code == 5
    assert "error: the mirror has not paused yet" in said.err
    assert "why: it is waiting for paris" in said.err
    assert said.out == ""


def test_a_mirror_that_ends_instead_is_not_waited_for(
    serve: Serve, configure: Configure, typed: Type
) -> None:
    class Ending(Obeying):
        def pause(self, mirror: str, by: str) -> None:
            self._become(mirror, "failed", "")

    said = typed("pause", configure(), "--url", serve(Ending(made.healthy())))
    assert (said.code, "why: it is failed" in said.err) == (5, True), said


def test_without_a_token_the_way_is_told(
    serve: Serve, configure: Configure, typed: Type, ledger: Written
) -> None:
    shown = Shown(made.healthy())
    said = typed("pause", configure(token=""), "--url", serve(shown))
    assert said.code == 4
    assert "no token is configured: it cannot be asked to pause" in said.err
    assert "set `token = " in said.err
    assert (shown.asked, ledger.asked) == ([], []), "it runs: nothing is written beside it"


def test_another_token_is_refused(serve: Serve, configure: Configure, typed: Type) -> None:
    shown = Shown(made.healthy())
    address = serve(shown)
    for token in ("another one", "schlüssel"):
        said = typed("pause", configure(token=token), "--url", address)
        assert (said.code, "error: the token is wrong" in said.err) == (4, True), said
        assert token not in said.err
    said = typed("pause", configure(token="a\\nsecret"), "--url", address)
    assert (said.code, "secret" in said.err) == (3, False), said
    assert shown.asked == []


def test_a_process_that_has_no_token_says_so(configure: Configure, typed: Type) -> None:
    server = Server(application(Shown(made.healthy())), port=0)
    server.start()
    said = typed("pause", configure(), "--url", server.address)
    server.stop()
    assert (said.code, NO_TOKEN in said.err) == (4, True), said


def test_a_token_of_other_letters_is_understood(configure: Configure, typed: Type) -> None:
    shown = Obeying(made.healthy())
    server = Server(application(shown, "schlüssel"), port=0)
    server.start()
    said = typed("pause", configure(token="schlüssel"), "--url", server.address)
    server.stop()
    assert (said.code, len(shown.asked)) == (0, 1), said


def test_what_the_mirror_cannot_do_now_is_said_with_its_remedy(
    serve: Serve, configure: Configure, typed: Type
) -> None:
    shown = Shown(made.healthy())
    shown.error = refusal()
    said = typed("pause", configure(), "--url", serve(shown))
    assert said.code == 2
    assert said.err.splitlines()[0] == "error: the mirror is about to end"
    assert said.err.splitlines()[-1] == "do: start it again"


@pytest.mark.parametrize("code", [302, 307])
def test_the_token_goes_nowhere_else(
    foreign: Foreign, configure: Configure, typed: Type, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    asked: list[str] = []
    away = foreign(b"", code, {"Location": foreign(b"{}", asked=asked)})
    running = process(made.healthy(), History(), NOW)
    monkeypatch.setattr(ApiClient, "process", lambda _: running)
    said = typed("pause", configure(), "--url", away)
    assert (said.code, "redirects to another one" in said.err) == (5, True), said
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
def test_where_nobody_can_be_asked_it_goes_to_the_ledger(
    configure: Configure, typed: Type, ledger: Written, nobody: str, verb: str, web: str, why: str
) -> None:
    config = configure(web=web.format(port=nobody.rpartition(":")[2]))
    said = typed(verb, config)
    assert said.code == 0, said
    [(name, by, told)] = ledger.asked
    assert (name, by, why in told) == ("paris-to-tokyo", who() if verb == "pause" else "", True)
    begins, ends = {
        "pause": ("does not run; it is paused and stays", f"resume it with `causeway resume {config}`\n"),
        "resume": ("does not run; it is no longer paused;", f"start it with `causeway run {config}`\n"),
    }[verb]
    assert said.out.startswith(f"paris-to-tokyo {begins}"), said
    assert said.out.endswith(ends), said


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


def test_what_the_ledger_says_already_is_said(
    configure: Configure, typed: Type, ledger: Written, nobody: str
) -> None:
    config: Path = configure()
    ledger.answer = partial(_noted, Paused("ann@tokyo-1", NOW))
    said = typed("pause", config, "--url", nobody)
    assert (said.code, said.out) == (
        0,
        "paris-to-tokyo is already paused by ann@tokyo-1 since 2026-09-21 14:13:20 UTC; resume it with"
        f" `causeway resume {config}`\n",
    )
    for record in (None, Paused("", NOW)):
        ledger.answer = partial(_noted, record)
        said = typed("resume", config, "--url", nobody)
        assert (said.code, said.out) == (0, "paris-to-tokyo is not paused: the ledger has no pause\n")


def _noted(record: Paused | None, _: str) -> PauseChange:
    return PauseChange(record, unchanged=True)


def test_a_mirror_that_runs_and_cannot_be_asked_is_left_alone(
    configure: Configure, typed: Type, ledger: Written, nobody: str
) -> None:
    def runs(_: str) -> PauseChange:
        raise IntegrityError("the mirror is running", why=ledger.asked[-1][2], todo="--url")

    ledger.answer = runs
    said = typed("pause", configure(), "--url", nobody)
    assert said.code == 6
    assert f"why: no mirror responds · {nobody} · Connection refused" in said.err
