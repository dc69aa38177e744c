"""What is kept of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.samples import Run, Sample, from_json, merged, to_json, write


def sample(system: str, pace: float, number: int = 0, *, case: str = "c", void: str = "") -> Sample:
    return Sample("throughput", case, system, number, {"records_per_second": pace}, void)


def run(*samples: Sample, began: str = "2030-01-01T00:00:00+00:00") -> Run:
    return Run(began, "python -m bench", titles={"b": "B", "a": "A"}, samples=list(samples))


def test_json_gives_back_what_was_measured() -> None:
    before = run(sample("a", 1.5), sample("b", 2.5, void="differs"))
    assert from_json(to_json(before)) == before


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 0}', '{"format": 1, "samples": [{}]}', "nothing"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    write(run(sample("a", 1)), tmp_path / "deep" / "r.json")
    assert from_json((tmp_path / "deep" / "r.json").read_text()).median(*key("a")) == 1
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["r.json"]


def test_a_median_is_over_rounds_that_are_not_void() -> None:
    found = run(sample("a", 10, 0), sample("a", 30, 1), sample("a", 99, 2, void="differs"), sample("b", 5))
    spread = found.spread(*key("a"))
    assert spread is not None
    assert (spread.median, spread.low, spread.high, spread.rounds) == (20, 10, 30, 2)
    assert found.median(*key("nobody")) is None
    assert [one.figures["records_per_second"] for one in found.void()] == [99]


def test_systems_come_in_the_order_of_their_titles() -> None:
    assert run(sample("a", 1), sample("z", 1), sample("b", 1)).systems("throughput") == ["b", "a", "z"]


def test_what_is_set_against_each_other_comes_from_one_run() -> None:
    old = run(sample("a", 1), sample("b", 2), sample("a", 3, case="other"))
    new = run(sample("a", 9), began="2030-02-01T00:00:00+00:00")
    both = merged([old, new])
    assert both.median(*key("a")) == 9
    assert both.median(*key("b")) is None, "b was not measured beside this a"
    assert both.median("throughput", "other", "a", "records_per_second") == 3
    assert both.began == new.began


def key(system: str) -> tuple[str, str, str, str]:
    return "throughput", "c", system, "records_per_second"
