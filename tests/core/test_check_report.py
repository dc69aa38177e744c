"""The gravest problem decides how a check ends."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from causeway.core.check_report import CheckReport, Remark, Section, note, ok, problem, warning
from causeway.errors import (
    AccessDenied,
    CausewayError,
    ConfigError,
    DeliveryFailed,
    IntegrityError,
    PlanRefused,
    Unreachable,
)

GRAVEST_FIRST = (AccessDenied, Unreachable, PlanRefused, IntegrityError, DeliveryFailed)


def checkup(*remarks: Remark) -> CheckReport:
    return CheckReport((Section("cluster", "paris", (ok("fine"),)), Section("mirror", "m", remarks)))


def test_without_a_problem_all_is_well() -> None:
    assert CheckReport(()).exit_code == 0
    assert checkup(ok("a"), note("b"), warning("c", "d")).exit_code == 0


@pytest.mark.parametrize(("graver", "lighter"), [*combinations(GRAVEST_FIRST, 2)])
def test_the_graver_problem_decides_wherever_it_stands(
    graver: type[CausewayError], lighter: type[CausewayError]
) -> None:
    for kinds in ((graver, lighter), (lighter, graver)):
        assert checkup(*(problem(kind("what")) for kind in kinds)).exit_code == graver.exit_code


def test_a_problem_of_any_other_kind_is_no_success() -> None:
    assert checkup(problem(DeliveryFailed("what"))).exit_code == DeliveryFailed.exit_code


def test_a_problem_keeps_what_the_error_knew() -> None:
    remark = problem(ConfigError("it is wrong", where="here", why="because", todo="right it"))
    assert remark == Remark("problem", "it is wrong · here · because", "right it", "config", 3)


def test_as_json() -> None:
    data = json.loads(json.dumps(checkup(problem(Unreachable("no answer", todo="wait"))).to_json()))
    assert data == {
        "exit_code": 5,
        "counts": {"ok": 1, "note": 0, "warning": 0, "problem": 1},
        "sections": [
            {
                "kind": "cluster",
                "name": "paris",
                "remarks": [{"level": "ok", "what": "fine", "todo": "", "code": "", "exit_code": 0}],
            },
            {
                "kind": "mirror",
                "name": "m",
                "remarks": [
                    {
                        "level": "problem",
                        "what": "no answer",
                        "todo": "wait",
                        "code": "unreachable",
                        "exit_code": 5,
                    }
                ],
            },
        ],
    }
