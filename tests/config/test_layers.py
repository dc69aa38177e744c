"""Problems of variables, options and files, and how all problems are shown together."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from causeway.config import load
from causeway.config.properties import REFUSED
from causeway.errors import ConfigError

from .conftest import GOOD, MIRROR, Load, Problems

A_DURATION = 'must be a duration with its unit (ms, s, m, h, d), such as "30s"'
TWO_BRACKETS = "each mirror is written as [[mirrors]], with two brackets on each side"
A_PROPERTY = "names a table; a property must follow"
UNKNOWN = "unknown key"

LAYERED = [
    (
        "CAUSEWAY__MIRRORS__0__SHARD",
        "mirrors.0.shard",
        f'mirrors[0].shard: {UNKNOWN}, did you mean "shards"?',
    ),
    ("CAUSEWAY__MIRRORS__0__SLICE", "mirrors.0.slice", f"mirrors[0].slice: {A_DURATION}, not 5"),
    ("CAUSEWAY__MIRRORS__0", "mirrors.0", "mirrors[0]: names a table; a key must follow"),
    ("CAUSEWAY__MIRRORS", "mirrors", "mirrors: names a table; a key must follow"),
    ("CAUSEWAY__SPARK", "spark", "spark: names a table; a key must follow"),
    (
        "CAUSEWAY__CLUSTERS__PARIS__PRODUCER",
        "clusters.paris.producer",
        f"clusters.paris.producer: {A_PROPERTY}",
    ),
    ("CAUSEWAY__MIRRORS__9__SHARDS", "mirrors.9.shards", "mirrors.9: there is no such mirror"),
    ("CAUSEWAY__CLUSTER__X", "cluster.x", f'cluster: {UNKNOWN}, did you mean "clusters"?'),
    ("CAUSEWAY__WEBB__PORT", "webb.port", 'webb: unknown key, did you mean "web"?'),
    (
        "CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__ACKS",
        "clusters.paris.properties.acks",
        f"clusters.paris.properties.acks: Causeway sets this property itself: {REFUSED['acks']}",
    ),
]


@pytest.mark.parametrize(("variable", "option", "problem"), LAYERED)
def test_a_problem_names_the_variable_or_the_option(
    problems: Problems, variable: str, option: str, problem: str
) -> None:
    assert problems(GOOD, environ={variable: "5"}) == [f"{variable}: {problem}"]
    assert problems(GOOD, f"{option}=5") == [f"-X {option}: {problem}"]


def test_names_that_are_nearly_right_are_suggested(problems: Problems) -> None:
    variable = "CAUSEWAY__MIRRORS__PARIS_TO_TOKIO__SHARDS"

    assert problems(GOOD, "clusters.pariss.shards=5", environ={variable: "4"}) == [
        f'{variable}: mirrors.PARIS_TO_TOKIO: there is no such mirror, did you mean "paris-to-tokyo"?',
        '-X clusters.pariss.shards: clusters.pariss: there is no such cluster, did you mean "paris"?',
    ]


def test_a_variable_that_may_mean_two_mirrors(problems: Problems) -> None:
    text = GOOD.replace("paris-to-tokyo", "a-b") + MIRROR.replace("paris-to-tokyo", "a_b")
    variable = "CAUSEWAY__MIRRORS__A_B__SHARDS"

    assert problems(text, environ={variable: "4"}) == [
        f'{variable}: mirrors.A_B: is ambiguous: "a-b" or "a_b"'
    ]


def test_an_option_without_a_key_or_a_value_is_not_repeated(problems: Problems) -> None:
    assert problems(GOOD, "mirrors.0.shards=4", "canary", "=canary") == [
        "-X (number 2): must be path.to.key=value",
        "-X (number 3): must be path.to.key=value",
    ]


def test_overrides_of_tables_with_the_wrong_type_add_no_noise(problems: Problems) -> None:
    overrides = (
        "mirrors.0.shards=4",
        "clusters.paris.properties.a=b",
        "spark.properties.spark.a=b",
        "spark.master=x",
    )

    assert problems("mirrors = 1\nclusters = 2\nspark = 3", *overrides) == [
        "mirror.toml: clusters: must be a table, not 2",
        f"mirror.toml: mirrors: {TWO_BRACKETS}",
        "mirror.toml: spark: must be a table, not 3",
    ]


def test_all_problems_come_at_once_from_every_layer(problems: Problems) -> None:
    text = GOOD.replace("tokyo-1:9092", "${env:NOPE}") + "sise = 1\n[clusters.paris.properties]\nacks = 0"

    listed = problems(text, "mirrors.0.destination=rome", environ={"CAUSEWAY__MIRRORS__0__SHARDS": "0"})

    assert listed == [
        "mirror.toml: clusters.tokyo.bootstrap_servers: ${env:NOPE}: the environment variable is not set",
        "CAUSEWAY__MIRRORS__0__SHARDS: mirrors[0].shards: must be at least 1, not 0",
        'mirror.toml: mirrors[0].sise: unknown key, did you mean "slice"?',
        '-X mirrors.0.destination: mirrors[0].destination: there is no cluster "rome"',
        f"mirror.toml: clusters.paris.properties.acks: Causeway sets this property itself: {REFUSED['acks']}",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a = 1\nb = = 2", "line 2, column 5: not TOML: invalid value"),
        (b"[clusters", "end of document: not TOML: expected ']' at the end of a table declaration"),
        (b"a = '\xff'", "byte 5: not UTF-8"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 5_000, "not TOML: a value cannot be read"),
    ],
)
def test_a_file_that_is_not_toml(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "mirror.toml"
    path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        load(path, environ={})

    assert caught.value.problems == (f"{path}: {problem}",)


@pytest.mark.parametrize(
    ("name", "why"), [("nope.toml", "No such file or directory"), ("", "Is a directory")]
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, why: str) -> None:
    path = tmp_path / name

    with pytest.raises(ConfigError) as caught:
        load(path, environ={})

    assert caught.value.exit_code == 3
    assert caught.value.lines() == ["error: the configuration cannot be read", f"  - {path}: {why}"]


def test_what_the_user_sees(loaded: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(GOOD + "sharts = 5\nslise = 5")

    assert caught.value.lines() == [
        "error: the configuration has 2 problems",
        '  - mirror.toml: mirrors[0].sharts: unknown key, did you mean "shards"?',
        '  - mirror.toml: mirrors[0].slise: unknown key, did you mean "slice"?',
        "do: `causeway config reference` describes every key",
    ]
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_keys_and_values_that_are_no_text_stay_on_their_line(problems: Problems) -> None:
    listed = problems(
        GOOD + '"a\\nb" = 1', "spark.\x1b[31m=1", environ={"CAUSEWAY__MIRRORS__0__DELIVERY": "\udcff"}
    )

    assert listed == [
        'CAUSEWAY__MIRRORS__0__DELIVERY: mirrors[0].delivery: must be valid UTF-8 text, not "\\udcff"',
        'mirror.toml: mirrors[0]."a\\nb": unknown key',
        '-X spark.\\x1b[31m: spark."\\u001b[31m": unknown key',
    ]
