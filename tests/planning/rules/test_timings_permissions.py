"""What a mirror with timings may need beside what it needs without."""

from __future__ import annotations

from typing import Any

from causeway.config import MirrorSettings
from causeway.planning.rules.permissions import destination_permissions


def needed(**more: Any) -> set[str]:
    given = {
        "name": "m",
        "source": "src",
        "destination": "dst",
        "topics": ["orders", "pay.*"],
        "prefix": "eu.",
    }
    return {
        str(one.permission) for one in destination_permissions(MirrorSettings.model_validate(given | more))
    }


def test_topics_for_timings_are_written_and_created_and_nothing_else_is_done_with_them() -> None:
    assert needed(timings="headers") == needed()
    more = {
        f"{operation} on {where}"
        for operation in ("WRITE", "CREATE", "DESCRIBE_CONFIGS")
        for where in ("topic timings_eu.orders", "topics that begin with timings_eu.pay")
    }
    assert needed(timings="topic") - needed() == more
    without = needed(timings="topic", create_topics=False) - needed(create_topics=False)
    assert without == {one for one in more if not one.startswith("CREATE")}
