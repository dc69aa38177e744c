"""What carries a shard's records: the native carrier, or the one that makes an object of each.

Both keep the same protocol. The native one needs numba and a librdkafka that it knows, and that nobody looks
at single records; where one of that is missing the other one carries, and says why.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.errors import ConfigError
from causeway.kafka.delivery import IdempotentDelivery
from causeway.kafka.intake import Intake
from causeway.kafka.native.library import Absent
from causeway.kafka.transaction import TransactionalDelivery
from causeway.model.order import CarrierChoice


class Carrier(NamedTuple):
    name: str
    intake: type[Intake]
    at_least_once: type[IdempotentDelivery]
    exactly_once: type[TransactionalDelivery]
    why: str = ""  # not the native one

    @property
    def told(self) -> str:
        return f"{self.name} ({self.why})" if self.why else self.name


def carrier(wanted: CarrierChoice, looks: str) -> Carrier:
    """`looks`: who looks at each record, if anybody does. Raises ConfigError where "native" cannot be."""
    found = _native(looks) if wanted != "object" else _object('carrier = "object"')
    if wanted == "native" and found.name != "native":
        raise ConfigError(
            'carrier = "native" cannot be had here',
            why=found.why,
            todo='install causeway[fast], or leave it at carrier = "auto"',
        )
    return found


def _native(looks: str) -> Carrier:
    if looks:
        return _object(f"{looks} look at each record")
    try:
        from causeway.kafka.native import delivery, intake
    except ImportError as error:
        missing = (error.name or str(error)).partition(".")[0]
        return _object(f"{missing} is not installed, causeway[fast] brings it")
    except Absent as error:
        return _object(str(error))
    return Carrier(
        "native",
        intake.NativeIntake,
        delivery.NativeIdempotentDelivery,
        delivery.NativeTransactionalDelivery,
    )


def _object(why: str) -> Carrier:
    return Carrier("object", Intake, IdempotentDelivery, TransactionalDelivery, why)
