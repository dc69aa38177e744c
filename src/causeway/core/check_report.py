"""What `check` found: remarks, grouped by the cluster or mirror they are about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from causeway.errors import AccessDenied, CausewayError, IntegrityError, PlanRefused, Unreachable

RemarkLevel = Literal["ok", "note", "warning", "problem"]
"""ok: correct · note: information · warning: works, but perhaps not as intended · problem: does not work."""
LEVELS: tuple[RemarkLevel, ...] = get_args(RemarkLevel)

_GRAVEST_FIRST = (AccessDenied, Unreachable, PlanRefused, IntegrityError)
"""Errors that hide other problems come first: without access, `check` cannot find any others."""


@dataclass(frozen=True, slots=True)
class Remark:
    level: RemarkLevel
    what: str
    todo: str = ""
    code: str = ""  # for a problem: code and exit code of the corresponding error
    exit_code: int = 0


def ok(what: str) -> Remark:
    return Remark("ok", what)


def note(what: str, todo: str = "") -> Remark:
    return Remark("note", what, todo)


def warning(what: str, todo: str = "") -> Remark:
    return Remark("warning", what, todo)


def problem(error: CausewayError) -> Remark:
    return Remark("problem", str(error), error.todo, error.code, error.exit_code)


@dataclass(frozen=True, slots=True)
class Section:
    kind: Literal["configuration", "cluster", "mirror"]
    name: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    sections: tuple[Section, ...]

    @property
    def remarks(self) -> list[Remark]:
        return [remark for section in self.sections for remark in section.remarks]

    @property
    def ok(self) -> bool:
        """Whether nothing prevents the mirrors from running; warnings may remain."""
        return not self.exit_code

    @property
    def exit_code(self) -> int:
        """Exit code of the gravest problem; 0 without problems."""
        codes = {remark.exit_code for remark in self.remarks if remark.level == "problem"}
        graded = [kind.exit_code for kind in _GRAVEST_FIRST if kind.exit_code in codes]
        return next(iter([*graded, *sorted(codes)]), 0)

    def counts(self) -> dict[RemarkLevel, int]:
        levels = [remark.level for remark in self.remarks]
        return {level: levels.count(level) for level in LEVELS}

    def to_json(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "counts": self.counts(),
            "sections": [
                {
                    "kind": section.kind,
                    "name": section.name,
                    "remarks": [asdict(remark) for remark in section.remarks],
                }
                for section in self.sections
            ],
        }
