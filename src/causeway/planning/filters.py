"""Makes filters from their specs, and calls them.

A filter that raises is called again record by record, so that the consequence concerns only the record that
it raised on. A Go plugin is asked in a process of its own, which ends when the filter is closed.
"""

from __future__ import annotations

import importlib
import traceback
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from causeway.config import secrets
from causeway.core.choices import OnError
from causeway.core.filtering import FilterRecord, FilterSpec
from causeway.errors import ConfigError
from causeway.go_filters.go_filter import GoFilter
from causeway.printable import printable

Ask = Callable[[Sequence[FilterRecord]], Sequence[object]]


class MadeFilter:
    """A filter that is ready to be called."""

    def __init__(self, name: str, on_error: OnError, ask: Ask) -> None:
        self.name = name
        self.on_error = on_error
        self._ask = ask

    def close(self) -> None:
        """End what the filter has started."""

    def judge(self, records: Sequence[FilterRecord]) -> list[bool | str]:
        """For each record: whether the filter keeps it or, as text, why it raised."""
        try:
            return self._asked(records)
        except (Exception, SystemExit):  # noqa: BLE001 - user code
            return [self._judge_one(record) for record in records]

    def _judge_one(self, record: FilterRecord) -> bool | str:
        try:
            return self._asked([record])[0]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code
            return printable(f"{type(error).__name__}: {error} ({_frames(error)})")

    def _asked(self, records: Sequence[FilterRecord]) -> list[bool | str]:
        answers = self._ask(records)
        if len(answers) != len(records):
            raise ValueError(f"{len(answers)} answers for {len(records)} records")
        if any(answer is None for answer in answers):
            raise TypeError("the answer is None: a filter answers True or False")
        return [bool(answer) for answer in answers]


class PluginFilter(MadeFilter):
    """A Go plugin, which sees values alone."""

    def __init__(self, name: str, on_error: OnError, plugin: GoFilter) -> None:
        super().__init__(name, on_error, lambda records: plugin.judge([record.value for record in records]))
        self._plugin = plugin

    def judge(self, records: Sequence[FilterRecord]) -> list[bool | str]:
        verdicts = self._plugin.judge([record.value for record in records])
        return [printable(verdict) if isinstance(verdict, str) else verdict for verdict in verdicts]

    def close(self) -> None:
        self._plugin.close()


def try_out(specs: Iterable[FilterSpec]) -> None:
    """Make each filter once; raises ConfigError for one that cannot be made."""
    for spec in specs:
        make(spec).close()


def make(spec: FilterSpec) -> MadeFilter:
    """Make the filter; raises ConfigError if that fails."""
    place, _, name = spec.name.rpartition(":")
    if spec.digest is not None:
        return PluginFilter(
            spec.name, spec.on_error, GoFilter(place, name, spec.digest, _resolved(spec.config))
        )
    try:
        module = importlib.import_module(place) if spec.code is None else _module(place, spec.code)
        made = getattr(module, name)(_resolved(spec.config))
        batch, one = getattr(made, "keep_all", None), getattr(made, "keep", None)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - user code
        raise ConfigError(
            f"the filter {spec.name} cannot be made",
            why=f"{type(error).__name__}: {error} ({_frames(error) or 'while importing it'})",
            todo="it is called with its config table, on the driver and where the shards run",
        ) from None
    if callable(batch):
        return MadeFilter(spec.name, spec.on_error, batch)
    if callable(one):
        keep = one
        return MadeFilter(spec.name, spec.on_error, lambda records: [keep(record) for record in records])
    raise ConfigError(
        f"the filter {spec.name} has neither keep(record) nor keep_all(records)",
        todo="see the page on filters",
    )


def _module(path: str, code: str) -> types.ModuleType:
    module = types.ModuleType("causeway_filter")
    module.__file__ = path
    exec(compile(code, path, "exec"), module.__dict__)
    return module


def _resolved(value: Any) -> Any:
    """Resolve references to secrets, on the machine that makes the filter."""
    if isinstance(value, dict):
        return {name: _resolved(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_resolved(inner) for inner in value]
    return secrets.resolve(value) if isinstance(value, str) else value


def _frames(error: BaseException) -> str:
    """Where it was raised, innermost first, without Causeway's own frames; on one line, like all errors."""
    frames = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        if frame.filename != __file__ and "importlib" not in frame.filename
    ]
    return " ← ".join(frames)
