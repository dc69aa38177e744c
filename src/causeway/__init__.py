"""Causeway mirrors Kafka topics: every record, exactly once, in order, bit for bit.

    import causeway

    config = causeway.load("mirror.toml")
    causeway.run(config, stop_at_end=True)
    causeway.verify(config).raise_if_different()

Importing it is cheap: what a name needs (Kafka's client, Spark) is imported when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from causeway.errors import (
    AccessDenied,
    CausewayError,
    ConfigError,
    DeliveryFailed,
    IntegrityError,
    PlanRefused,
    SecretMissing,
    SetupError,
    Superseded,
    Unreachable,
    UsageError,
    VerifyMismatch,
)
from causeway.version import __version__

if TYPE_CHECKING:
    from causeway.api.adopt import adopt
    from causeway.api.arguments import load
    from causeway.api.check import check
    from causeway.api.runner import Runner, run
    from causeway.api.verify import VerifyResult, verify
    from causeway.config import Settings
    from causeway.core.adopt_report import (
        AdoptReport,
        ComparedNode,
        MirrorHandoffs,
        PartitionHandoff,
        PoolAdoptionReport,
    )
    from causeway.core.check_report import CheckReport
    from causeway.core.run_result import MirrorResult, RunResult
    from causeway.core.snapshot import EventView, MirrorView, PartitionView, Snapshot
    from causeway.core.verify_report import VerifyReport

__all__ = [
    "AccessDenied",
    "AdoptReport",
    "CausewayError",
    "CheckReport",
    "ComparedNode",
    "ConfigError",
    "DeliveryFailed",
    "EventView",
    "IntegrityError",
    "MirrorHandoffs",
    "MirrorResult",
    "MirrorView",
    "PartitionHandoff",
    "PartitionView",
    "PlanRefused",
    "PoolAdoptionReport",
    "RunResult",
    "Runner",
    "SecretMissing",
    "Settings",
    "SetupError",
    "Snapshot",
    "Superseded",
    "Unreachable",
    "UsageError",
    "VerifyMismatch",
    "VerifyReport",
    "VerifyResult",
    "__version__",
    "adopt",
    "check",
    "load",
    "run",
    "verify",
]

_LAZY = {
    "AdoptReport": "causeway.core.adopt_report",
    "CheckReport": "causeway.core.check_report",
    "ComparedNode": "causeway.core.adopt_report",
    "EventView": "causeway.core.snapshot",
    "MirrorHandoffs": "causeway.core.adopt_report",
    "MirrorResult": "causeway.core.run_result",
    "MirrorView": "causeway.core.snapshot",
    "PartitionHandoff": "causeway.core.adopt_report",
    "PartitionView": "causeway.core.snapshot",
    "PoolAdoptionReport": "causeway.core.adopt_report",
    "RunResult": "causeway.core.run_result",
    "Runner": "causeway.api.runner",
    "Settings": "causeway.config",
    "Snapshot": "causeway.core.snapshot",
    "VerifyReport": "causeway.core.verify_report",
    "VerifyResult": "causeway.api.verify",
    "adopt": "causeway.api.adopt",
    "check": "causeway.api.check",
    "load": "causeway.api.arguments",
    "run": "causeway.api.runner",
    "verify": "causeway.api.verify",
}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports names that do not exist

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LAZY})
