"""The directory for what Causeway downloads or builds once for a user."""

from __future__ import annotations

import os
from pathlib import Path

from causeway.errors import ConfigError


def cache_dir() -> Path:
    """$CAUSEWAY_CACHE, else $XDG_CACHE_HOME/causeway, else ~/.cache/causeway."""
    if chosen := os.environ.get("CAUSEWAY_CACHE"):
        return Path(chosen).expanduser().absolute()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).absolute() / "causeway"
    try:
        return Path.home() / ".cache" / "causeway"
    except RuntimeError:
        raise ConfigError(
            "there is no directory for Causeway's cache",
            why="this user has no home directory",
            todo="set CAUSEWAY_CACHE to a directory that can be written",
        ) from None
