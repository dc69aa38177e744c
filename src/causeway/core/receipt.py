"""What a shard reports at the end of a slice. Sent to the driver as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from causeway.errors import CausewayError, ConfigError, kind_of

Outcome = Literal["done", "cut", "fenced", "superseded", "broken", "unready"]
"""done: the order is complete · cut: ended by a Cut · fenced: another attempt fenced this one ·
superseded: a newer lease or slice exists, or the executor is dead · broken: it cannot continue, `error` says
why · unready: something it needs to start, such as a secret, is missing."""


@dataclass(frozen=True, slots=True)
class TaskError:
    """An error as values: the class of an exception does not travel as JSON, its code does."""

    code: str
    what: str
    where: str = ""
    why: str = ""
    todo: str = ""
    cluster: str = ""
    problems: tuple[str, ...] = ()

    @staticmethod
    def of(error: CausewayError) -> TaskError:
        problems = error.problems if isinstance(error, ConfigError) else ()
        return TaskError(
            error.code, error.what, error.where, error.why, error.todo, error.cluster, tuple(problems)
        )

    def as_exception(self) -> CausewayError:
        error = kind_of(self.code)(
            self.what, where=self.where, why=self.why, todo=self.todo, cluster=self.cluster
        )
        if isinstance(error, ConfigError):
            error.problems = self.problems
        return error


@dataclass(frozen=True, slots=True)
class Receipt:
    shard: int
    outcome: Outcome
    records: int = 0
    bytes: int = 0
    transactions: int = 0
    restarts: int = 0  # attempts that were restarted inside the task
    stopped: int = 0  # partitions that a verdict stopped
    why: str | None = None  # why it ended, if it is fenced, superseded or unready
    error: TaskError | None = None  # if it is broken

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Receipt:
        data = json.loads(text)
        if data["error"] is not None:
            parts = data["error"]
            data["error"] = TaskError(**parts | {"problems": tuple(parts["problems"])})
        return Receipt(**data)
