"""A partition stops for a missing permission only if a write was denied, and resumes when it is granted."""

from __future__ import annotations

import pytest

from causeway.planning.rules.write_access import is_denied


@pytest.mark.parametrize(
    ("writable", "denied", "refused_before", "stops"),
    [
        (False, set(), False, False),  # no write was denied: try it
        (None, set(), True, False),  # unknown by the brokers: every slice tries again
        (False, set(), True, True),  # nothing has changed since it stopped
        (False, {"t"}, False, True),
        (None, {"t"}, False, True),
        (False, {""}, False, True),  # the denial named no topic, the cluster does
        (None, {""}, False, False),
        (None, {"u"}, False, False),
        (False, {"u"}, False, True),
        (True, {"t"}, True, False),  # granted since
    ],
)
def test_when_a_topic_counts_as_not_writable(
    writable: bool | None, denied: set[str], refused_before: bool, stops: bool
) -> None:
    assert is_denied("t", writable, denied, refused_before=refused_before) is stops
