"""Chooses a shard's carrier: native, or object (one Python object per record).

Both follow the same protocol. The native carrier needs numba and a librdkafka that it knows, and nothing may
inspect single records. Otherwise the object carrier is used, and reports why.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.core.choices import CarrierChoice
from causeway.errors import ConfigError
from causeway.kafka.native.library import Absent
from causeway.kafka.producer import OBJECT, ProducerKind
from causeway.kafka.source_consumer import SourceConsumer


class Carrier(NamedTuple):
    name: str
    source_consumer: type[SourceConsumer]
    producer: ProducerKind
    why: str = ""  # this is not the native carrier

    @property
    def description(self) -> str:
        return f"{self.name} ({self.why})" if self.why else self.name


def carrier(wanted: CarrierChoice, inspection: str) -> Carrier:
    """`inspection`: what needs an object for each record, if anything does.

    Raises ConfigError if "native" is impossible.
    """
    chosen = _native(inspection) if wanted != "object" else _object('carrier = "object"')
    if wanted == "native" and chosen.name != "native":
        raise ConfigError(
            'carrier = "native" is not available here',
            why=chosen.why,
            todo='install kafka-causeway[fast], or leave it at carrier = "auto"',
        )
    return chosen


def _native(inspection: str) -> Carrier:
    if inspection:
        return _object(f"{inspection} need an object for each record")
    try:
        from causeway.kafka.native import produce_loop, producer_handle, source_consumer
    except ImportError as error:
        missing = (error.name or str(error)).partition(".")[0]
        return _object(f"{missing} is not installed, kafka-causeway[fast] brings it")
    except Absent as error:
        return _object(str(error))
    return Carrier(
        "native",
        source_consumer.NativeSourceConsumer,
        ProducerKind(producer_handle.NativeProducer, produce_loop.NativeProduceLoop),
    )


def _object(why: str) -> Carrier:
    return Carrier("object", SourceConsumer, OBJECT, why)
