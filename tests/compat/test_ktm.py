"""Kafka Topic Mirror's environment, variable by variable: defaults, valid values, refused values."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.compat import dotenv
from causeway.compat.kafka_topic_mirror import DEFAULTS, NAMES, REQUIRED, translate
from causeway.compat.translation import Translation
from causeway.config import Settings, load
from causeway.errors import ConfigError
from support import typed

TOPICS = {"INPUT_TOPIC": "orders", "OUTPUT_TOPIC": "orders-copy"}

SHIPPED = """\
export CLIENT_ID=
export CONSUMER_GROUP=
export INPUT_TOPIC=ktm_demo
export INPUT_BROKERS=localhost:9092
export NEWEST_OFFSET=true
export OUTPUT_TOPIC=ktm_demo_copy
export OUTPUT_BROKERS=localhost:9092
export MAX_PUBLISH=1000
export PROM_SERVER_ADDR=127.0.0.1:9095
"""
"""The file of variables that is shipped with the tool, unchanged."""


def translated(environ: Mapping[str, str], file: str | None = None) -> Translation:
    read = dotenv.parse(file) if file is not None else None
    return translate(environ, hostname="host-1", dotenv=read, file=".env")


def settings(environ: Mapping[str, str], file: str | None = None) -> Settings:
    return translated(environ, file).settings([], Path())


def problems(environ: Mapping[str, str], file: str | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(environ, file)
    assert caught.value.exit_code == 3
    return list(caught.value.problems)


def picture(loaded: Settings) -> dict[str, Any]:
    """The settings that each variable becomes."""
    (mirror,) = loaded.mirrors
    return {
        "CLIENT_ID": [loaded.clusters[alias].properties["client.id"] for alias in ("input", "output")],
        "CONSUMER_GROUP": (mirror.name, mirror.source_group_name, mirror.source_group),
        "INPUT_TOPIC": mirror.topics,
        "INPUT_BROKERS": loaded.clusters["input"].bootstrap_servers,
        "NEWEST_OFFSET": mirror.start,
        "OUTPUT_TOPIC": mirror.rename,
        "OUTPUT_BROKERS": loaded.clusters["output"].bootstrap_servers,
        "MAX_PUBLISH": mirror.queue_records,
    }


DEFAULT: dict[str, Any] = {
    "CLIENT_ID": ["kafka_topic_mirror_host-1"] * 2,
    "CONSUMER_GROUP": ("orders_ktm", "orders_ktm", True),
    "INPUT_TOPIC": ("orders",),
    "INPUT_BROKERS": "localhost:9092",
    "NEWEST_OFFSET": "latest",
    "OUTPUT_TOPIC": {"orders": "orders-copy"},
    "OUTPUT_BROKERS": "localhost:9092",
    "MAX_PUBLISH": 2000,
}


def test_defaults() -> None:
    loaded = settings(TOPICS)

    assert picture(loaded) == DEFAULT
    (mirror,) = loaded.mirrors
    assert (mirror.source, mirror.destination) == (("input",), "output")
    assert (mirror.partitions, mirror.partitioner) == ("by-key", "fnv1a")
    assert mirror.compression == "snappy"
    assert mirror.delivery == "exactly-once"
    assert mirror.create_topics


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("CLIENT_ID", "mirror-7", {"CLIENT_ID": ["mirror-7"] * 2}),
        ("CLIENT_ID", "", {}),
        ("CONSUMER_GROUP", "team.a", {"CONSUMER_GROUP": ("team.a", "team.a", True)}),
        ("CONSUMER_GROUP", "", {}),
        (
            "INPUT_TOPIC",
            "a.b",
            {
                "INPUT_TOPIC": ("a.b",),
                "OUTPUT_TOPIC": {"a.b": "orders-copy"},
                "CONSUMER_GROUP": ("a.b_ktm", "a.b_ktm", True),
            },
        ),
        ("INPUT_BROKERS", "one:9092,two:9093", {"INPUT_BROKERS": "one:9092,two:9093"}),
        ("INPUT_BROKERS", " one:9092, two:9093,", {"INPUT_BROKERS": "one:9092,two:9093"}),
        ("OUTPUT_TOPIC", "copy", {"OUTPUT_TOPIC": {"orders": "copy"}}),
        ("OUTPUT_BROKERS", "three:9092", {"OUTPUT_BROKERS": "three:9092"}),
        ("MAX_PUBLISH", "5000", {"MAX_PUBLISH": 10_000}),
        ("MAX_PUBLISH", "1", {"MAX_PUBLISH": 1000}),
        ("MAX_PUBLISH", "9000000", {"MAX_PUBLISH": 10_000_000}),
        ("MAX_PUBLISH", "0", {"MAX_PUBLISH": 1000}),  # the tool then sends record by record
        ("MAX_PUBLISH", "", {"MAX_PUBLISH": 1000}),  # Go's zero value
        ("NEWEST_OFFSET", "", {"NEWEST_OFFSET": "earliest"}),  # Go's zero value
        *(
            ("NEWEST_OFFSET", text, {"NEWEST_OFFSET": "latest"})
            for text in ("1", "t", "T", "TRUE", "true", "True")
        ),
        *(
            ("NEWEST_OFFSET", text, {"NEWEST_OFFSET": "earliest"})
            for text in ("0", "f", "F", "FALSE", "false", "False")
        ),
        ("PROM_SERVER_ADDR", "127.0.0.1:9095", {}),
        ("PROM_SERVER_ADDR", "", {}),
    ],
)
def test_a_variable_that_is_given(name: str, text: str, expected: dict[str, Any]) -> None:
    assert name in NAMES
    given = {**TOPICS, name: text}
    in_file = "".join(f"{key}={value}\n" for key, value in given.items())
    assert picture(settings(given)) == {**DEFAULT, **expected}
    assert picture(settings({}, in_file)) == {**DEFAULT, **expected}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("INPUT_TOPIC", "", "INPUT_TOPIC: missing; Kafka Topic Mirror requires it"),
        ("OUTPUT_TOPIC", "", "OUTPUT_TOPIC: missing; Kafka Topic Mirror requires it"),
        (
            "INPUT_TOPIC",
            "orders.*",
            "INPUT_TOPIC: must be a topic name: 1 to 249 letters, digits, dots, hyphens and underscores, "
            'not "orders.*"',
        ),
        (
            "OUTPUT_TOPIC",
            "..",
            "OUTPUT_TOPIC: must be a topic name: 1 to 249 letters, digits, dots, hyphens and underscores, "
            'not ".."',
        ),
        (
            "CONSUMER_GROUP",
            "g" * 250,
            "CONSUMER_GROUP: must have at most 249 characters, none of them a control character, "
            f'not "{"g" * 59}…',
        ),
        ("INPUT_BROKERS", "", 'INPUT_BROKERS: must name a broker, for example "localhost:9092"'),
        ("OUTPUT_BROKERS", " , ", 'OUTPUT_BROKERS: must name a broker, for example "localhost:9092"'),
        (
            "INPUT_BROKERS",
            "one:port",
            'INPUT_BROKERS: must be "host:port", or several separated by commas, not "one:port"',
        ),
        ("NEWEST_OFFSET", "yes", 'NEWEST_OFFSET: must be true or false, not "yes"'),
        ("NEWEST_OFFSET", "tRUE", 'NEWEST_OFFSET: must be true or false, not "tRUE"'),
        ("MAX_PUBLISH", "many", 'MAX_PUBLISH: must be an integer of at least 0, not "many"'),
        ("MAX_PUBLISH", "-1", 'MAX_PUBLISH: must be an integer of at least 0, not "-1"'),
        ("MAX_PUBLISH", "1.5", 'MAX_PUBLISH: must be an integer of at least 0, not "1.5"'),
    ],
)
def test_a_variable_that_is_refused(name: str, text: str, problem: str) -> None:
    assert problems({**TOPICS, name: text}) == [problem]


def test_all_problems_are_named_at_once() -> None:
    assert problems({"NEWEST_OFFSET": "si", "MAX_PUBLISH": "x"}) == [
        "INPUT_TOPIC: missing; Kafka Topic Mirror requires it",
        "OUTPUT_TOPIC: missing; Kafka Topic Mirror requires it",
        'NEWEST_OFFSET: must be true or false, not "si"',
        'MAX_PUBLISH: must be an integer of at least 0, not "x"',
    ]


def test_a_cycle_is_refused_as_the_tool_does() -> None:
    same = {"INPUT_TOPIC": "t", "OUTPUT_TOPIC": "t"}

    assert problems({**same, "INPUT_BROKERS": "a:1,b:2", "OUTPUT_BROKERS": "c:3,b:2"}) == [
        'OUTPUT_TOPIC: is INPUT_TOPIC, and "b:2" is on both sides: records would be replicated in a loop'
    ]
    (mirror,) = settings({**same, "INPUT_BROKERS": "a:1", "OUTPUT_BROKERS": "b:2"}).mirrors
    assert mirror.rename == {}  # the same name on another cluster


def test_the_file_that_the_tool_comes_with() -> None:
    loaded = settings({}, SHIPPED)

    assert picture(loaded) == {
        **DEFAULT,
        "CONSUMER_GROUP": ("ktm_demo_ktm", "ktm_demo_ktm", True),
        "INPUT_TOPIC": ("ktm_demo",),
        "OUTPUT_TOPIC": {"ktm_demo": "ktm_demo_copy"},
    }


def test_the_environment_wins_over_the_file() -> None:
    loaded = settings({"INPUT_TOPIC": "mine", "NEWEST_OFFSET": ""}, SHIPPED)

    assert loaded.mirrors[0].topics == ("mine",)
    assert loaded.mirrors[0].start == "earliest"  # set to nothing is set
    assert loaded.mirrors[0].rename == {"mine": "ktm_demo_copy"}


def test_unknown_names_are_refused_in_the_file_and_ignored_in_the_environment() -> None:
    assert settings({**TOPICS, "INPUT_TOPICS": "x", "HOME": "/"})
    assert problems({}, SHIPPED + "INPUT_TOPICS=a\nDATABASE=b\n") == [
        '.env: line 10: INPUT_TOPICS: Kafka Topic Mirror has no such variable, did you mean "INPUT_TOPIC"?',
        ".env: line 11: DATABASE: Kafka Topic Mirror has no such variable",
    ]


def test_the_syntax_of_a_file() -> None:
    read = dotenv.parse(
        "\n# a comment\n"
        "A=1\n  export B = two words  # said\nC='# $x' # quoted\nD=\"q\"\nE=a#b\nF=\nG=# nothing\nA=3\n"
    )

    assert read.values == {
        "A": "3", "B": "two words", "C": "# $x", "D": "q", "E": "a#b", "F": "", "G": "",
    }  # fmt: skip
    assert read.problems == {}
    assert read.remarks == {10: "A is given twice; this line is used"}


def test_lines_that_are_refused() -> None:
    assert problems(
        TOPICS, "CLIENT_ID\nMAX_PUBLISH='1\nCLIENT_ID='a'b\nINPUT_BROKERS=$HOST:9092\n1A=2\n"
    ) == [
        ".env: line 1: must be NAME=VALUE",
        ".env: line 2: MAX_PUBLISH: a quote is not closed, or something follows it",
        ".env: line 3: CLIENT_ID: a quote is not closed, or something follows it",
        '.env: line 4: INPUT_BROKERS: "$" is not expanded here; write the value itself',
        ".env: line 5: must be NAME=VALUE",
    ]


def test_differences_have_a_note_by_variable() -> None:
    notes = translated({**TOPICS, "PROM_SERVER_ADDR": ":9095"}).notes
    assert [note.split(":")[0] for note in notes] == [
        "NEWEST_OFFSET", "MAX_PUBLISH", "CONSUMER_GROUP", "OUTPUT_TOPIC", "PROM_SERVER_ADDR",
    ]  # fmt: skip
    assert "NEWEST_OFFSET=false replicates them" in notes[0]
    assert "true by default" in notes[0]
    assert "2000 records" in notes[1]
    quiet = translated({**TOPICS, "NEWEST_OFFSET": "f"}).notes
    assert [note.split(":")[0] for note in quiet] == ["MAX_PUBLISH", "CONSUMER_GROUP", "OUTPUT_TOPIC"]
    assert "NEWEST_OFFSET: is empty, which Kafka Topic Mirror reads as false" in (
        translated({**TOPICS, "NEWEST_OFFSET": ""}).notes
    )
    assert ".env: line 2: CLIENT_ID is given twice; this line is used" in (
        translated(TOPICS, "CLIENT_ID=a\nCLIENT_ID=b\n").notes
    )


def test_the_page_names_every_variable_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs/from-ktm.md").read_text().partition("## Every variable")[2]
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \| ", page, re.MULTILINE)
    computed = {"CLIENT_ID": "`kafka_topic_mirror_<hostname>`", "CONSUMER_GROUP": "`<INPUT_TOPIC>_ktm`"}
    assert dict(rows) == (
        dict.fromkeys(REQUIRED, "required")
        | {name: f"`{text}`" if text else "none" for name, text in DEFAULTS.items()}
        | computed
    )


def causeway(
    *arguments: str, environ: Mapping[str, str], directory: Path
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
    return typed.causeway(*arguments, environ={**inherited, **environ}, directory=directory)


@pytest.mark.parametrize("command", [("ktm",), ("convert", "ktm")])
def test_a_bad_environment_ends_with_exit_code_3(tmp_path: Path, command: tuple[str, ...]) -> None:
    ended = causeway(*command, environ={"INPUT_TOPIC": "t", "NEWEST_OFFSET": "maybe"}, directory=tmp_path)

    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "error: 2 settings of Kafka Topic Mirror cannot be honoured",
        "  - OUTPUT_TOPIC: missing; Kafka Topic Mirror requires it",
        '  - NEWEST_OFFSET: must be true or false, not "maybe"',
        "where: the environment",
    ]


def test_a_bad_override_ends_with_exit_code_3(tmp_path: Path) -> None:
    ended = causeway("ktm", "-X", "mirrors.0.shard=2", environ=TOPICS, directory=tmp_path)

    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [
        "error: the configuration has a problem",
        '  - -X mirrors.0.shard: mirrors[0].shard: unknown key, did you mean "shards"?',
        "do: `causeway config reference` describes every key",
    ]


def test_a_file_of_variables_that_does_not_exist(tmp_path: Path) -> None:
    ended = causeway("ktm", "--env-file", "prod.env", environ=TOPICS, directory=tmp_path)

    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [
        "error: the configuration cannot be read",
        "  - prod.env: No such file or directory",
    ]


def test_a_converted_configuration_loads_to_the_same_settings(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(SHIPPED)
    environ = {"INPUT_TOPIC": "with.dots", "CLIENT_ID": 'a "quoted" client', "OUTPUT_BROKERS": "b:1,c:2"}

    ended = causeway("convert", "ktm", environ=environ, directory=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert (
        "note: PROM_SERVER_ADDR: serves /metrics, with Kafka Topic Mirror's metric names in addition to "
        "Causeway's own\n" in ended.stderr
    )
    config = tmp_path / "ktm.toml"
    config.write_text(ended.stdout)
    assert load(config) == settings(environ, SHIPPED)


def test_another_file_of_variables(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("UNKNOWN=1\n")
    (tmp_path / "prod.env").write_text(SHIPPED)

    ended = causeway("convert", "ktm", "--env-file", "prod.env", environ={}, directory=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert "# Translated from Kafka Topic Mirror (the environment and prod.env)" in ended.stdout


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [(":9095", "0.0.0.0", 9095), ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:9095", "::1", 9095)],
)
def test_metrics_are_served_where_the_tool_served_them(address: str, host: str, port: int) -> None:
    made = translated({**TOPICS, "PROM_SERVER_ADDR": address}).settings([], Path())
    assert (made.web.host, made.web.port, made.metrics.compat) == (host, port, ("ktm",))
    # Where other machines are served, Prometheus still needs no token, and everything else does.
    assert (made.metrics.public, made.web.reads_with_token) == (host == "0.0.0.0", host == "0.0.0.0")


@pytest.mark.parametrize("address", ["9095", "here:99999", "a b:1", "http://here:9095"])
def test_an_invalid_address_is_refused(address: str) -> None:
    assert translated({**TOPICS, "PROM_SERVER_ADDR": address}).problems == [
        f'PROM_SERVER_ADDR: must be "host:port" or ":port", not "{address}"'
    ]
