"""Checks what callers pass: a wrong argument is one clear line, before anything is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from causeway import config
from causeway.config import Settings
from causeway.config.toml import written

Config = Settings | str | os.PathLike[str]
"""Loaded settings, or what `load` takes."""
ConfigOverrides = Mapping[str, object] | Iterable[str]


def load(source: str | os.PathLike[str], overrides: ConfigOverrides = ()) -> Settings:
    """Load a configuration from a file, or from TOML text; raises ConfigError with every problem.

    A path, or a string without a line break, names a file; a string with a line break is TOML. Environment
    variables (`CAUSEWAY__…`) apply over it, and `overrides` over those: `{"mirrors.orders.shards": 2}`, or
    the texts that `-X` takes.
    """
    if isinstance(source, str) and "\n" in source:
        return config.load_text(source, _options(overrides))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a path or TOML text is needed, not {type(source).__name__}")
    return config.load(Path(source), _options(overrides))


def settings_of(config: Config) -> Settings:
    return config if isinstance(config, Settings) else load(config)


def names_of(mirrors: Iterable[str] | str | None) -> list[str]:
    """The names of the chosen mirrors; none stands for all."""
    if mirrors is None:
        return []
    names = [mirrors] if isinstance(mirrors, str) else list(mirrors)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"mirrors must be names, not {type(name).__name__}")
    if not names:
        raise TypeError("mirrors is empty: leave it out to choose all mirrors")
    return names


def check_callable(name: str, function: Callable[..., Any] | None) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")


def check_seconds(name: str, seconds: float | None) -> None:
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}")
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"{name} must be 0 or more, not {seconds}")


def _options(overrides: ConfigOverrides) -> list[str]:
    if isinstance(overrides, str):
        raise TypeError('overrides must be a mapping or a list of "key=value", not one str')
    if isinstance(overrides, Mapping):
        return [
            f"{key}={value if isinstance(value, str) else written(value)}" for key, value in overrides.items()
        ]
    options = list(overrides)
    for option in options:
        if not isinstance(option, str):
            raise TypeError(f'overrides must be texts like "key=value", not {type(option).__name__}')
    return options
