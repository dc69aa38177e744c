"""The result for one invariant: it holds, it is broken (with every anomaly), or it is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Anomaly(NamedTuple):
    invariant: str
    name: str
    where: str  # coordinates: topic[partition]@offset of the source where there is one
    what: str

    def __str__(self) -> str:
        return f"{self.invariant} {self.name} {self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class InvariantResult:
    invariant: str
    status: Literal["holds", "broken", "unknown"]
    anomalies: tuple[Anomaly, ...] = ()
    doubts: tuple[str, ...] = ()  # why the history does not show it, or not completely


def decide(invariant: str, anomalies: Iterable[Anomaly], doubts: Iterable[str] = ()) -> InvariantResult:
    """Broken if there is an anomaly, whatever is unknown; with a doubt it never holds."""
    found, open_questions = tuple(anomalies), tuple(doubts)
    return InvariantResult(
        invariant, "broken" if found else "unknown" if open_questions else "holds", found, open_questions
    )


@dataclass(frozen=True, slots=True)
class Report:
    results: dict[str, InvariantResult]
    recoveries: tuple[tuple[str, int], ...] = ()  # fault, milliseconds from its end to zero lag

    @property
    def anomalies(self) -> list[Anomaly]:
        return [anomaly for result in self.results.values() for anomaly in result.anomalies]

    def require(self, *invariants: str) -> None:
        """Require that nothing is broken and that these hold. Raises AssertionError with the whole report."""
        short = [name for name in invariants if self.results[name].status != "holds"]
        assert not self.anomalies and not short, f"not shown to hold: {', '.join(short)}\n{self}"

    def __str__(self) -> str:
        lines = [f"{name}: {result.status}" for name, result in self.results.items()]
        for result in self.results.values():
            lines += _some([str(anomaly) for anomaly in result.anomalies])
            lines += _some([f"{result.invariant} unknown: {doubt}" for doubt in result.doubts])
        lines += [f"{fault}: zero lag {ms} ms after its end" for fault, ms in self.recoveries]
        return "\n".join(lines)


def _some(lines: Sequence[str], most: int = 20) -> list[str]:
    return [*lines[:most], f"… and {len(lines) - most} more"] if len(lines) > most else list(lines)
