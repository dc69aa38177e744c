"""Which carrier is taken, and what is said where it is not the fast one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from causeway.errors import ConfigError
from causeway.kafka.carrier import carrier

ASKED = "from causeway.kafka.carrier import carrier; print(carrier('auto', '').description)"


def told(first: str) -> str:
    """What a fresh interpreter takes, after something was done to it."""
    done = subprocess.run(
        [sys.executable, "-c", f"{first}; {ASKED}"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_by_itself_the_fast_one_is_taken() -> None:
    assert carrier("auto", "").description == "native"
    assert carrier("object", "").name == "object"


def test_whoever_looks_at_records_gets_objects() -> None:
    assert carrier("auto", "filters").description == "object (filters inspect each record)"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("import sys; sys.modules['numba'] = None", "object (numba is not installed"),
        ("import sys; sys.modules['llvmlite'] = None", "object (llvmlite is not installed"),
        (
            "import confluent_kafka; confluent_kafka.__file__ = '/nowhere/confluent_kafka/__init__.py'",
            "object (0 libraries beside confluent_kafka",
        ),
        (
            "import ctypes, numba; ctypes.CDLL = lambda path: (_ for _ in ()).throw(OSError('damaged'))",
            "damaged",
        ),
    ],
)
def test_without_what_it_needs_the_other_one_is_taken_and_says_so(first: str, why: str) -> None:
    assert why in told(first)


@pytest.mark.parametrize("version", [0x020F00FF, 0x030000FF])
def test_a_library_that_was_never_tried_is_not_used(version: int) -> None:
    other = (
        "import ctypes, numba; real = ctypes.CDLL; "
        "Fake = type('Fake', (), {'__init__': lambda self, path: setattr(self, 'real', real(path)), "
        f"'__getattr__': lambda self, name: (lambda: {version}) if name == 'rd_kafka_version' "
        "else getattr(self.real, name)}); ctypes.CDLL = Fake"
    )
    assert told(other).endswith("was never tried)")


def test_what_was_asked_for_and_cannot_be_is_an_error() -> None:
    with pytest.raises(ConfigError, match="filters inspect each record"):
        carrier("native", "filters")
