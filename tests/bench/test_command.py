"""What the command line asks for; nothing is measured here."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.command import _parser, chosen, main, variant
from bench.samples import Run, Sample, write
from bench.scale import FULL, QUICK, WHOLE
from bench.shapes import CENTRE


def test_a_scale_is_chosen() -> None:
    assert chosen(_parser().parse_args([])) == WHOLE
    assert chosen(_parser().parse_args(["--quick"])) == QUICK
    assert chosen(_parser().parse_args(["--full"])) == FULL


def test_options_change_what_they_name_and_nothing_else() -> None:
    asked = ["--only", "latency", "--only", "growth", "--rate", "50", "--rounds", "1", "--shapes", "centre"]
    scale = chosen(_parser().parse_args(asked))
    assert scale.measures == ("latency", "growth")
    assert scale.rates == (50,)
    assert (scale.rounds, scale.latency_rounds) == (1, 1)
    assert scale.shapes == (CENTRE,)
    assert (scale.records, scale.growth) == (WHOLE.records, WHOLE.growth)


def test_a_variant_is_causeway_with_other_settings() -> None:
    found = variant("thin:mirrors.0.shards=1,mirrors.0.queue_bytes=8MiB", ["mirrors.0.slice=10s"])
    assert found.name == "causeway-thin"
    assert found.overrides == ("mirrors.0.slice=10s", "mirrors.0.shards=1", "mirrors.0.queue_bytes=8MiB")
    with pytest.raises(ValueError, match="is not NAME"):
        variant("thin", [])


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ([], WHOLE.latency_systems),
        (["--variant", "thin:a=1"], (*WHOLE.latency_systems, "causeway-thin")),
        (["--system", "copy-loop", "--variant", "thin:a=1"], ("copy-loop",)),
    ],
)
def test_latency_is_measured_of_whoever_was_asked_for(asked: list[str], measured: tuple[str, ...]) -> None:
    assert chosen(_parser().parse_args(asked)).latency_systems == measured


def run(void: str = "") -> Run:
    figures = {"records_per_second": 1000.0, "megabytes_per_second": 0.2}
    sample = Sample("throughput", CENTRE.name, "causeway", 0, figures, void)
    return Run("2030-01-01T00:00:00+00:00", "python -m bench", samples=[sample])


@pytest.mark.parametrize(("void", "code"), [("", 0), ("partition 1 differs", 1)])
def test_a_page_is_made_again_from_what_was_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], void: str, code: int
) -> None:
    write(run(void), tmp_path / "run.json")
    assert main(["--from", str(tmp_path / "run.json"), "--docs", str(tmp_path / "docs")]) == code
    assert (void or "1,000") in capsys.readouterr().out
    assert (tmp_path / "docs" / "benchmarks.md").read_text().startswith("# Benchmarks")


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text("{}")
    assert main(["--from", str(tmp_path / "run.json")]) == 2
    assert main(["--from", str(tmp_path / "nothing.json")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("bench: ") for line in lines)
