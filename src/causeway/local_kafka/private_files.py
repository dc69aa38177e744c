"""Files that may hold secrets: only their owner can read them."""

from __future__ import annotations

from pathlib import Path

OWNER_ALONE = 0o600


def write_private(path: Path, text: str) -> None:
    """Write a file that no other user could read at any moment."""
    path.unlink(missing_ok=True)
    path.touch(OWNER_ALONE, exist_ok=False)
    path.write_text(text, encoding="utf-8")
