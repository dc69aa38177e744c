"""Every error a user can meet, in one tree.

CausewayError                  1   a bug if nothing below fits
├── UsageError                 2   the command line does not make sense
├── ConfigError                3   the configuration is wrong; lists every problem
│   ├── PlanRefused            3   configuration and clusters do not fit together
│   └── SecretMissing          3   the variable or file of a secret reference is missing
├── AccessDenied               4   a broker denied authentication or authorization
├── Unreachable                5   a cluster does not respond
│   └── PoolExhausted          5   no node of a source pool could be read from, max_failovers times in a row
├── IntegrityError             6   continuing would lose, repeat or change records
├── DeliveryFailed             7   the destination rejects a record
├── Superseded                 8   a newer instance of the mirror holds the lease
├── VerifyMismatch             9   source and destination differ
└── SetupError                10   Java, the jars or a local broker is not available

Each error holds what failed (the message), where, why and what to do; the CLI prints one line for each.
Errors travel from Spark workers to the driver, so every attribute must survive pickling.
"""

from __future__ import annotations

from typing import ClassVar

from causeway.printable import printable

MOST_LISTED = 100
"""Problems of one configuration that are printed."""


class CausewayError(Exception):
    """What failed, and optionally where, why and what to do about it."""

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1
    remedy: ClassVar[str] = ""

    def __init__(
        self, what: str, *, where: str = "", why: str = "", todo: str = "", cluster: str = ""
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.todo = todo or self.remedy
        self.cluster = cluster  # alias of the cluster that failed, if any

    def __str__(self) -> str:
        return " · ".join(part for part in (self.what, self.where, self.why) if part)

    def lines(self) -> list[str]:
        """The error as the CLI prints it: one labelled line for each part that is set."""
        labelled = [("error", self.what), ("where", self.where), ("why", self.why), ("do", self.todo)]
        return [f"{label}: {printable(text)}" for label, text in labelled if text]


class UsageError(CausewayError):
    code = "usage"
    exit_code = 2


class ConfigError(CausewayError):
    """One or more problems in the configuration; `problems` has a line for each."""

    code = "config"
    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        problems: tuple[str, ...] = (),
        where: str = "",
        why: str = "",
        todo: str = "",
        cluster: str = "",
    ) -> None:
        super().__init__(what, where=where, why=why, todo=todo, cluster=cluster)
        self.problems = problems

    def lines(self) -> list[str]:
        head, *rest = super().lines()
        listed = [f"  - {printable(problem)}" for problem in self.problems[:MOST_LISTED]]
        if len(self.problems) > MOST_LISTED:
            listed.append(f"  … and {len(self.problems) - MOST_LISTED} more")
        return [head, *listed, *rest]


class PlanRefused(ConfigError):
    code = "plan-refused"


class SecretMissing(ConfigError):
    code = "secret-missing"


class AccessDenied(CausewayError):
    code = "access"
    exit_code = 4
    remedy = (
        "check the credentials under [clusters.<alias>], and the permissions of that user:"
        " `causeway check CONFIG` names those that are missing"
    )


class Unreachable(CausewayError):
    code = "unreachable"
    exit_code = 5
    remedy = "check the address, the network and that the brokers run; `causeway check CONFIG` tries again"


class PoolExhausted(Unreachable):
    code = "pool-exhausted"


class IntegrityError(CausewayError):
    code = "integrity"
    exit_code = 6


class DeliveryFailed(CausewayError):
    code = "delivery"
    exit_code = 7


class Superseded(CausewayError):
    code = "superseded"
    exit_code = 8
    remedy = "one instance of a mirror runs at a time: stop the other one, or leave this one stopped"


class VerifyMismatch(CausewayError):
    code = "verify-mismatch"
    exit_code = 9


class SetupError(CausewayError):
    code = "setup"
    exit_code = 10


def kind_of(code: str) -> type[CausewayError]:
    """The class with this code, for places where only the code can travel."""
    kinds = [CausewayError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return next((kind for kind in kinds if kind.code == code), CausewayError)
