"""`causeway.check`: what would prevent mirrors from running."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.api.arguments import Config, names_of, settings_of
from causeway.checking.check import check_mirrors
from causeway.core.check_report import CheckReport


def check(config: Config, *, mirrors: Iterable[str] | str | None = None) -> CheckReport:
    """Check both sides of mirrors and write nothing.

    Problems are remarks of the report, not errors: `report.ok` says whether nothing prevents the mirrors.
    """
    names = names_of(mirrors)
    return check_mirrors(settings_of(config), names)
