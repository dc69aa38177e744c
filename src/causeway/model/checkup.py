"""What `check` found: remarks, grouped by the cluster or mirror they are about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from causeway.errors import AccessDenied, CausewayError, IntegrityError, PlanRefused, Unreachable

Level = Literal["ok", "note", "warning", "problem"]
"""ok: as it should be · note: good to know · warning: works, but perhaps not as meant · problem: does not."""
LEVELS: tuple[Level, ...] = get_args(Level)

_GRAVEST_FIRST = (AccessDenied, Unreachable, PlanRefused, IntegrityError)
"""What hides other problems comes first: behind a closed door nothing else can be seen."""


@dataclass(frozen=True, slots=True)
class Remark:
    level: Level
    what: str
    todo: str = ""
    code: str = ""  # of a problem: the code and exit code of the error that it would be
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
    kind: Literal["cluster", "mirror"]
    name: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Checkup:
    sections: tuple[Section, ...]

    @property
    def remarks(self) -> list[Remark]:
        return [remark for section in self.sections for remark in section.remarks]

    @property
    def exit_code(self) -> int:
        """The gravest problem's; 0 where there is none."""
        codes = {remark.exit_code for remark in self.remarks if remark.level == "problem"}
        graded = [kind.exit_code for kind in _GRAVEST_FIRST if kind.exit_code in codes]
        return next(iter([*graded, *sorted(codes)]), 0)

    def counts(self) -> dict[Level, int]:
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
