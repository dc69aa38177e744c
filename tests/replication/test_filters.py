"""Filters: what they drop is counted, resume is exact, and one that raises drops nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.process import without_spark
from support.records import Rec
from support.world import World, now_ms

PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text()
EUROPE, SAMPLED = re.findall(r"```python\n(.*?)```", PAGE, re.S)
(TABLE,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)


def travellers(count: int, start: int = 0) -> list[tuple[int, Rec]]:
    at = now_ms()
    countries = [b"fr", b"us", b"de", b"jp", None]
    return [
        (n % 2, Rec(f"{n}".encode(), f"v{n}".encode(), (("country", countries[n % 5]),), at))
        for n in range(start, start + count)
    ]


def in_europe(rec: Rec) -> bool:
    return dict(rec.headers)["country"] in (b"fr", b"de")


@pytest.mark.spark
def test_the_example_drops_counts_and_resumes_exactly(world: World, tmp_path: Path) -> None:
    """The documentation's example, killed during a transaction, and resumed."""
    topic = world.topic("t", 2)
    world.produce(topic, travellers(6_000))
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters" / "europe.py").write_text(EUROPE)
    config = world.config([topic], prefix="eu.", max_transaction_records=300)
    config.write_text(config.read_text() + TABLE)
    flag = tmp_path / "flag"
    with without_spark():
        first = world.run(config, env={"CAUSEWAY_FAILPOINT": f"after-ledger:4:driver:{flag}"})
    assert first.wait() == -9, first.output
    world.produce(topic, travellers(1_000, start=6_000))
    world.carry_all(config)

    here = world.read(topic, "source")
    assert world.read(f"eu.{topic}") == {
        number: [rec for rec in recs if in_europe(rec)] for number, recs in here.items()
    }
    positions = world.ledger().positions.values()
    assert sum(position.tally.filtered for position in positions) == 7_000 * 3 // 5
    for position in positions:
        assert position.offset - position.start == position.tally.offsets
        assert position.tally.holes == 0


def test_a_record_passes_only_if_all_filters_keep_it_and_a_filter_may_get_batches(
    world: World, tmp_path: Path
) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, travellers(2_000))
    (tmp_path / "both.py").write_text(f"{EUROPE}\n{SAMPLED}")
    filters = [
        {"filter": "both.py:Europe", "config": {"countries": ["fr", "de"]}},
        {"filter": "both.py:Sampled", "config": {"percent": 50.0}},
    ]
    world.carry_all(world.config([topic], prefix="eu.", filters=filters))

    arrived = world.read(f"eu.{topic}")
    namespace: dict[str, type] = {}
    exec(SAMPLED, namespace)
    sampled = namespace["Sampled"]({"percent": 50.0})
    kept = {
        number: [rec for rec in recs if in_europe(rec) and sampled.keep_all([rec])[0]]
        for number, recs in world.read(topic, "source").items()
    }
    assert arrived == kept
    assert 100 < sum(map(len, kept.values())) < 700


RAISES = """\
class Filter:
    def __init__(self, config):
        self.bad = config["bad"].encode()

    def keep(self, record):
        if record.value == self.bad:
            raise ValueError("no such traveller")
        return record.value[-1:] != b"0"
"""


def test_a_filter_that_raises_stops_keeps_or_drops(world: World, tmp_path: Path) -> None:
    """Stop is the default: it names the record and the line; once corrected, nothing is missing."""
    topics = [world.topic(suffix, 2) for suffix in ("stop", "keep", "drop")]
    for topic in topics:
        world.produce(topic, travellers(200))
    file = tmp_path / "raises.py"
    file.write_text(RAISES)
    table = {"filter": "raises.py", "config": {"bad": "v101"}}
    stop, keep, drop = (
        {"topics": [topic], "prefix": "eu.", "filters": [table | policy]}
        for topic, policy in zip(topics, ({}, {"on_error": "keep"}, {"on_error": "drop"}), strict=True)
    )
    config = world.mirrors(stop, keep, drop)

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 6, run.output
    assert f"{topics[0]}[1] offset 50: ValueError: no such traveller ({file}:7 in keep)" in run.output
    wanted = {
        topic: [
            [rec for rec in recs if rec.value is not None and rec.value[-1:] != b"0"]
            for _, recs in sorted(world.read(topic, "source").items())
        ]
        for topic in topics
    }
    bad = next(rec for rec in wanted[topics[0]][1] if rec.value == b"v101")
    arrived = [[recs for _, recs in sorted(world.read(f"eu.{topic}").items())] for topic in topics]
    before = wanted[topics[0]][1].index(bad)
    assert arrived[0] == [wanted[topics[0]][0], wanted[topics[0]][1][:before]]
    assert arrived[1] == wanted[topics[1]]
    assert arrived[2] == [wanted[topics[2]][0], [rec for rec in wanted[topics[2]][1] if rec.value != b"v101"]]

    file.write_text(RAISES.replace("raise ValueError", "print"))
    world.carry_all(config, "--mirror", world.mirror)
    assert [recs for _, recs in sorted(world.read(f"eu.{topics[0]}").items())] == wanted[topics[0]]
    assert not world.ledger().stopped


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("class Other: pass", "AttributeError: module 'causeway_filter' has no attribute 'Filter'"),
        ("def Filter(config): return 5", "has neither keep(record) nor keep_all(records)"),
        ("def Filter(config): return config['x']", "KeyError: 'x'"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_filter_that_cannot_be_created_is_reported_before_anything_starts(
    world: World, tmp_path: Path, code: str, why: str
) -> None:
    (tmp_path / "broken.py").write_text(code)
    run = world.run(world.config(filters=[{"filter": "broken.py"}]))

    assert run.wait() == 3, run.output
    assert why in run.output
    assert "broken.py" in run.output
    assert "Traceback" not in run.output
