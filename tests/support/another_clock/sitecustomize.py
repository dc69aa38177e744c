"""On the path of a run with another clock: libfaketime refuses how Python sleeps (until a monotonic time).

A wait for nothing does the same, and asks no clock that anybody could have changed.
"""

from __future__ import annotations

import select
import time
from typing import SupportsIndex


def sleep(seconds: float | SupportsIndex) -> None:
    select.select([], [], [], float(seconds))


time.sleep = sleep
