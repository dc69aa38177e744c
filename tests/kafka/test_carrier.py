"""Which carrier is chosen, and the reason that is reported if it is not the native one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from causeway.errors import ConfigError
from causeway.kafka.carrier import carrier

ASKED = "from causeway.kafka.carrier import carrier; print(carrier('auto', '').description)"


def description_after(first: str) -> str:
    """The carrier that a new interpreter chooses after running `first`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{first}; {ASKED}"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_native_carrier_is_the_default() -> None:
    assert carrier("auto", "").description == "native"
    assert carrier("object", "").name == "object"


def test_filters_require_the_object_carrier() -> None:
    assert carrier("auto", "filters").description == "object (filters need an object for each record)"


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
def test_without_its_requirements_the_native_carrier_is_replaced_and_the_reason_reported(
    first: str, why: str
) -> None:
    assert why in description_after(first)


@pytest.mark.parametrize("version", [0x020F00FF, 0x030000FF])
def test_an_untested_library_version_is_not_used(version: int) -> None:
    other = (
        "import ctypes, numba; real = ctypes.CDLL; "
        "Fake = type('Fake', (), {'__init__': lambda self, path: setattr(self, 'real', real(path)), "
        f"'__getattr__': lambda self, name: (lambda: {version}) if name == 'rd_kafka_version' "
        "else getattr(self.real, name)}); ctypes.CDLL = Fake"
    )
    assert description_after(other).endswith("was never tried)")


def test_an_explicit_native_carrier_that_cannot_be_used_is_an_error() -> None:
    with pytest.raises(ConfigError, match="filters need an object for each record"):
        carrier("native", "filters")
