"""`causeway.check`: what would prevent mirrors from running."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.api.arguments import Config, names_of, settings_of
from causeway.checking.check import check_mirrors
from causeway.core.check_report import CheckReport
from causeway.planning.clusters import chosen
from causeway.planning.permissions import acl_lines


def check(config: Config, *, mirrors: Iterable[str] | str | None = None) -> CheckReport:
    """Check both sides of mirrors and write nothing.

    Problems are remarks of the report, not errors: `report.ok` says whether nothing prevents the mirrors.
    """
    names = names_of(mirrors)
    return check_mirrors(settings_of(config), names)


def print_acls(
    config: Config, *, mirrors: Iterable[str] | str | None = None, principals: Mapping[str, str] | None = None
) -> list[str]:
    """The `kafka-acls.sh` lines that grant mirrors what they need, and nothing else. Needs no cluster.

    `principals` are by alias of a cluster or a pool; a user with a password is known from the configuration.
    """
    settings = settings_of(config)
    return list(acl_lines(settings, chosen(settings, names_of(mirrors)), principals or {}))
