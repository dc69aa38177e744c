"""The tree drawn in causeway.errors is the tree there is, and errors cross processes whole."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import pytest

from causeway import errors
from causeway.core.receipt import Receipt, TaskError
from causeway.errors import (
    AccessDenied,
    CausewayError,
    ConfigError,
    PlanRefused,
    PoolExhausted,
    RegistryDenied,
    RegistryUnreachable,
    SecretMissing,
    Unreachable,
)

_LINE = re.compile(r"^(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+) +(?P<code>\d+)   \S")


def tree(kind: type[CausewayError] = CausewayError) -> Iterator[type[CausewayError]]:
    """The classes of the module, depth first, in the order they are written.

    Other rooms refine some of them for themselves; which ones are loaded is a matter of what ran before.
    """
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


ALL = list(tree())


def drawn() -> list[tuple[str, str, int]]:
    """Name, parent and exit code of every line of the drawing."""
    path: list[str] = []
    found = []
    for line in (errors.__doc__ or "").splitlines():
        match = _LINE.match(line)
        if match:
            depth = len(match["branch"]) // 4
            path[depth:] = [match["name"]]
            found.append((match["name"], path[depth - 1] if depth else "Exception", int(match["code"])))
    return found


def test_the_drawing_is_the_tree() -> None:
    assert drawn() == [(kind.__name__, kind.__mro__[1].__name__, kind.exit_code) for kind in ALL]


def test_every_exit_code_is_one_kind_of_failure() -> None:
    """A plan that is refused and a secret that is missing are a configuration that does not fit.

    A pool of which no node can be read is a source that cannot be reached; registries fail as clusters do.
    """
    assert PlanRefused.exit_code == SecretMissing.exit_code == ConfigError.exit_code
    assert PoolExhausted.exit_code == RegistryUnreachable.exit_code == Unreachable.exit_code
    assert RegistryDenied.exit_code == AccessDenied.exit_code
    same = (PlanRefused, SecretMissing, PoolExhausted, RegistryDenied, RegistryUnreachable)
    codes = [kind.exit_code for kind in ALL if kind not in same]
    assert len(set(codes)) == len(codes)
    assert 0 not in codes
    assert max(codes) < 64  # the shell's own begin there


def test_every_code_has_one_name() -> None:
    names = [kind.code for kind in ALL]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_errors_cross_processes_with_their_attributes(kind: type[CausewayError]) -> None:
    error = kind("what", where="where", why="why", todo="todo", cluster="paris")
    if isinstance(error, ConfigError):
        error.problems = ("one", "two")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(error, protocol))
        assert type(back) is kind
        assert vars(back) == vars(error)
        assert back.cluster == "paris"
        assert back.args == error.args
        assert str(back) == str(error)
        assert back.lines() == error.lines()


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_errors_travel_in_receipts_with_their_attributes(kind: type[CausewayError]) -> None:
    error = kind("what", where="where", why="why", todo="todo", cluster="paris")
    if isinstance(error, ConfigError):
        error.problems = ("one", "two")
    receipt = Receipt.from_json(Receipt(1, "broken", error=TaskError.of(error)).to_json())
    assert receipt.error is not None
    back = receipt.error.as_exception()
    assert type(back) is kind
    assert vars(back) == vars(error)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_the_remedy_stands_in_where_nothing_better_is_known(kind: type[CausewayError]) -> None:
    assert kind("what").todo == kind.remedy
    assert kind("what", todo="this").todo == "this"


def test_lines_say_what_is_known_and_nothing_else() -> None:
    assert CausewayError("it broke").lines() == ["error: it broke"]
    assert CausewayError("it broke", where="here", why="rust", todo="paint").lines() == [
        "error: it broke",
        "where: here",
        "why: rust",
        "do: paint",
    ]
    assert ConfigError("two problems", problems=("a", "b"), where="file").lines() == [
        "error: two problems",
        "  - a",
        "  - b",
        "where: file",
    ]
