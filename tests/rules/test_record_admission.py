"""Which records may be replicated, for every combination of reasons against it."""

from __future__ import annotations

from itertools import product

import pytest

from causeway.rules.record_admission import Admission, content_admission, offset_admission

NEXT, BARRIER = 10, 20


@pytest.mark.parametrize(
    ("stopped", "recognized", "offset"), list(product([False, True], [False, True], [9, 10, 19, 20, 21]))
)
def test_the_first_reason_decides(stopped: bool, recognized: bool, offset: int) -> None:
    expected = [
        (Admission.IGNORE, stopped),
        (Admission.CHECK_LOG, not recognized or offset == 9),
        (Admission.BARRIER, offset in (20, 21)),
        (Admission.REPLICATE, True),
    ]
    decision = offset_admission(
        offset, stopped=stopped, recognized=recognized, next_offset=NEXT, barrier=BARRIER
    )
    assert decision is next(reason for reason, applies in expected if applies)


@pytest.mark.parametrize("usable", [False, True])
@pytest.mark.parametrize(("timestamp", "is_set"), [(-1, False), (0, False), (1, True), (1 << 62, True)])
def test_a_record_needs_a_timestamp_and_headers_that_can_be_written(
    timestamp: int, is_set: bool, usable: bool
) -> None:
    expected = Admission.NO_TIMESTAMP if not is_set else Admission.REPLICATE if usable else Admission.HEADERS
    assert content_admission(timestamp, headers_usable=usable) is expected
