"""Every kind of problem, with the exact line that names it."""

from __future__ import annotations

import pytest

from causeway.config.java_names import JAVA_ALONE, UNSUPPORTED
from causeway.config.properties import JVM_OPTIONS, REFUSED, SPARK_REFUSED

from .conftest import CLUSTERS, GOOD, MIRROR, Load, Problems

TOPICS = '["orders", "payments\\\\..*"]'

A_DURATION = 'must be a duration with its unit (ms, s, m, h, d), such as "30s"'
A_SIZE = 'must be a size with its unit (B, KiB, MiB, GiB, KB, MB, GB), such as "64MiB"'
A_START = 'must be "earliest", "latest" or a timestamp such as "2026-01-31T08:00:00Z"'
A_NAME = "must have 1 to 100 letters, digits, dots, hyphens and underscores"
A_SERVER = 'must be "host:port", or several separated by commas'
AN_AFFIX = "must have at most 200 letters, digits, dots, hyphens and underscores"
A_TOPIC_NAME = "must be a topic name: 1 to 249 letters, digits, dots, hyphens and underscores"
A_PLACE = "must be a partition, or a list of { src = …, dest = … }"
A_FILTER = 'must be "package.module:name", "path/to/file.py", "path/to/file.py:name" or a Go plugin\'s path'
A_TOPIC = "must be a topic name or a regular expression"
A_GROUP = "must have at most 249 characters, none of them a control character"
A_CODEC = 'must be one of "none", "gzip", "snappy", "lz4", "zstd"'
A_DELIVERY = 'must be one of "exactly-once", "at-least-once"'
SHORTER = "must be shorter than transaction_timeout"
NO_CLUSTER = "there is no cluster"
TWO_BRACKETS = "each mirror is written as [[mirrors]], with two brackets on each side"

IN_THE_MIRROR = [
    ("colour = 1", "colour: unknown key"),
    ("shard = 1", 'shard: unknown key, did you mean "shards"?'),
    ("slice = 30", f"slice: {A_DURATION}, not 30"),
    ('slice = "30"', f'slice: {A_DURATION}, not "30"'),
    ('slice = "1ms"', 'slice: must be between "1s" and "1d", not "1ms"'),
    ('transaction_timeout = "4s"', 'transaction_timeout: must be between "5s" and "15m", not "4s"'),
    ('transaction_timeout = "16m"', 'transaction_timeout: must be between "5s" and "15m", not "16m"'),
    ('max_transaction_time = "15s"', f'max_transaction_time: {SHORTER}, not "15s"'),
    ("queue_bytes = 1048576", f"queue_bytes: {A_SIZE}, not 1048576"),
    ('queue_bytes = "1KiB"', 'queue_bytes: must be between "1MiB" and "2047MiB", not "1KiB"'),
    ("shards = 0", "shards: must be at least 1, not 0"),
    ("shards = true", "shards: must be an integer, not true"),
    ("shards = 1.0", "shards: must be an integer, not 1.0"),
    ('shards = "4"', 'shards: must be "auto" or an integer, not "4"'),
    ("max_transaction_records = 0", "max_transaction_records: must be at least 1, not 0"),
    ('create_topics = "yes"', 'create_topics: must be true or false, not "yes"'),
    ("source_group = 1", "source_group: must be true or false, not 1"),
    (f'source_group_name = "{"g" * 250}"', f'source_group_name: {A_GROUP}, not "{"g" * 59}…'),
    (
        'carrier = "native"\ntimings = "headers"',
        'timings: must be "off" or "topic" with carrier = "native", not "headers"',
    ),
    ('compression = "lz5"', f'compression: {A_CODEC}, not "lz5", did you mean "lz4"?'),
    ("delivery = 1", f"delivery: {A_DELIVERY}, not 1"),
    ('start = "yesterday"', f'start: {A_START}, not "yesterday"'),
    ("start = 0", f"start: {A_START}, not 0"),
    ('start = "1969-12-31"', f'start: {A_START}, not "1969-12-31"'),
    ('start = "0001-01-01T00:00:00+23:00"', f'start: {A_START}, not "0001-01-01T00:00:00+23:00"'),
    ('start = "9999-12-31T23:59:59-23:00"', f'start: {A_START}, not "9999-12-31T23:59:59-23:00"'),
    ("start = 08:00:00", f'start: {A_START}, not "08:00:00"'),
    ('prefix = "a b"', f'prefix: {AN_AFFIX}, not "a b"'),
    ('exclude = ["["]', f'exclude[0]: {A_TOPIC}, not "[" (unterminated character set at position 0)'),
    ('exclude = ["[[a]"]', f'exclude[0]: {A_TOPIC}, not "[[a]" (Possible nested set at position 1)'),
    ('rename = { "a b" = "c" }', f'rename."a b": {A_TOPIC_NAME}'),
    ('rename.orders = ""', f"rename.orders: {A_TOPIC_NAME}"),
    ("partition_map.orders = -1", f"partition_map.orders: {A_PLACE}"),
    ("partition_map.orders = []", f"partition_map.orders: {A_PLACE}"),
    ('partition_map.orders = "x"', f"partition_map.orders: {A_PLACE}"),
    (
        "partition_map.orders = [{ src = 1, dest = 0 }, { src = 1, dest = 1 }]",
        "partition_map.orders: names source partition 1 twice",
    ),
    ("partition_map.orders = [{ src = 1 }]", f"partition_map.orders: {A_PLACE}"),
    ("max_records_per_second = -1", "max_records_per_second: must be at least 0, not -1"),
    ('filters = [{ filter = "nameless" }]', f'filters[0].filter: {A_FILTER}, not "nameless"'),
    ('filters = [{ filter = "sub/p:" }]', f'filters[0].filter: {A_FILTER}, not "sub/p:"'),
    ('filters = [{ filter = "a/b.py:no name" }]', f'filters[0].filter: {A_FILTER}, not "a/b.py:no name"'),
    ('filters = [{ filtr = "a:b" }]', 'filters[0].filtr: unknown key, did you mean "filter"?'),
    ('per_source.rome.prefix = "x"', "per_source.rome: is not a source of this mirror"),
    ('per_source.paris.prefx = "x"', 'per_source.paris.prefx: unknown key, did you mean "prefix"?'),
    (f'delivery = "{"x" * 80}"', f'delivery: {A_DELIVERY}, not "{"x" * 59}…'),
]


@pytest.mark.parametrize(("line", "problem"), IN_THE_MIRROR)
def test_a_wrong_key_of_a_mirror(problems: Problems, line: str, problem: str) -> None:
    assert problems(GOOD + line) == [f"mirror.toml: mirrors[0].{problem}"]


INSTEAD = [
    ('name = "paris-to-tokyo"', 'name = "a b"', f'name: {A_NAME}, not "a b"'),
    ('name = "paris-to-tokyo"', "name = 5", "name: must be a string, not 5"),
    ('name = "paris-to-tokyo"', "", 'name: missing, for example name = "paris-to-tokyo"'),
    ('source = "paris"', "", 'source: missing, for example source = "paris"'),
    ('source = "paris"', 'sorce = "paris"', 'sorce: unknown key, did you mean "source"?'),
    ('source = "paris"', "source = []", "source: must not be empty"),
    ('source = "paris"', "source = 5", "source: must be a string or a list of strings, not 5"),
    ('source = "paris"', 'source = ["paris", 5]', "source[1]: must be a string, not 5"),
    ('source = "paris"', 'source = "pariss"', 'source: there is no cluster "pariss", did you mean "paris"?'),
    ('source = "paris"', 'source = ["paris", "rome"]', 'source[1]: there is no cluster "rome"'),
    ('source = "paris"', 'source = ["paris", "paris"]', 'source[1]: cluster "paris" is named twice'),
    (
        'destination = "tokyo"',
        'destination = "Tokyo"',
        f'destination: {NO_CLUSTER} "Tokyo", did you mean "tokyo"?',
    ),
    ('destination = "tokyo"', 'destination = ["tokyo"]', "destination: must be a string, not a list"),
    (TOPICS, "[]", "topics: must not be empty"),
    (TOPICS, '["a", "b["]', f'topics[1]: {A_TOPIC}, not "b[" (unterminated character set at position 1)'),
    (TOPICS, '""', f'topics[0]: {A_TOPIC}, not ""'),
    (TOPICS, "[{}]", "topics[0]: must be a string, not a table"),
]


@pytest.mark.parametrize(("good", "bad", "problem"), INSTEAD)
def test_a_key_of_a_mirror_made_wrong(problems: Problems, good: str, bad: str, problem: str) -> None:
    text = CLUSTERS + MIRROR.replace(good, bad)

    assert text != GOOD
    assert problems(text) == [f"mirror.toml: mirrors[0].{problem}"]


ELSEWHERE = [
    ("", ["clusters: missing", "mirrors: missing"]),
    (CLUSTERS, ["mirrors: missing"]),
    (MIRROR, ["clusters: missing"]),
    (f"mirrors = []\n{CLUSTERS}", ["mirrors: must not be empty"]),
    (f"mirrors = 5\n{CLUSTERS}", [f"mirrors: {TWO_BRACKETS}"]),
    (CLUSTERS + MIRROR.replace("[[mirrors]]", "[mirrors]"), [f"mirrors: {TWO_BRACKETS}"]),
    (f"mirrors = [5]\n{CLUSTERS}", ["mirrors[0]: must be a table, not 5"]),
    (f"clusters = 5\n{MIRROR}", ["clusters: must be a table, not 5"]),
    (
        f"clusters = {{}}\nmirors = []\n{MIRROR}",
        [
            "clusters: must not be empty",
            'mirors: unknown key, did you mean "mirrors"?',
            'mirrors[0].source: there is no cluster "paris"',
            'mirrors[0].destination: there is no cluster "tokyo"',
        ],
    ),
    (GOOD + "[sparkk]", ['sparkk: unknown key, did you mean "spark"?']),
    (GOOD + "[spark]\nmaster = ''", ["spark.master: must not be empty"]),
    (
        GOOD + "[spark.properties]\nexecutor.memory = '1g'",
        ['spark.properties.executor.memory: Spark properties have names that begin with "spark."'],
    ),
    (
        GOOD + "[clusters.lyon]",
        [
            "clusters.lyon.bootstrap_servers: missing, for example "
            'bootstrap_servers = "paris-1:9092,paris-2:9092"'
        ],
    ),
    (
        GOOD + "[clusters.'a b']\nbootstrap_servers = 'x:1'",
        ['clusters."a b": an alias has 1 to 100 letters, digits, hyphens and underscores'],
    ),
    (
        GOOD + "[clusters.lyon]\nbootstrap_server = 'x:1'",
        ['clusters.lyon.bootstrap_server: unknown key, did you mean "bootstrap_servers"?'],
    ),
    (
        GOOD + "[clusters.lyon]\nbootstrap_servers = 'x:1'\nsasl.password = 'canary'",
        ["clusters.lyon.sasl: password needs a mechanism"],
    ),
    (
        GOOD + "[clusters.lyon]\nbootstrap_servers = 'x:1'\nssl.key.pem = 'canary'",
        [
            "clusters.lyon.ssl: unknown key; TLS is in [clusters.lyon.tls], client properties under "
            ".properties"
        ],
    ),
    (
        GOOD + "[clusters.tokyo.properties]\nssl.ca.pem = ['canary']",
        ["clusters.tokyo.properties.ssl.ca.pem: must be a string, a number or a boolean"],
    ),
    (
        GOOD + "[clusters.tokyo.properties]\n'a b' = 1",
        ['clusters.tokyo.properties."a b": this cannot be the name of a client property'],
    ),
    (
        GOOD + "[clusters.tokyo.properties]\nlinger.ms = 1\n'linger.ms' = 2",
        ["clusters.tokyo.properties.linger.ms: given twice, dotted and quoted"],
    ),
    (
        GOOD
        + "[clusters.tokyo.properties.consumer]\nlinger.ms = 1\n[clusters.tokyo.consumer]\nlinger.ms = 2",
        ["clusters.tokyo.properties.consumer: given twice, also as [clusters.tokyo.consumer]"],
    ),
    (
        GOOD + "[clusters.lyon]\nbootstrap_servers = 'x:1'\nproperties = 5",
        ["clusters.lyon.properties: must be a table"],
    ),
    (GOOD + MIRROR, ['mirrors[1].name: mirrors[0] already has the name "paris-to-tokyo"']),
    (
        GOOD.replace("paris-to-tokyo", "a.b") + MIRROR.replace("paris-to-tokyo", "a_b"),
        [
            'mirrors[1].name: mirrors[0] already has the name "a_b": "." and "_" are the same in '
            "Kafka's topic names"
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), ELSEWHERE)
def test_a_problem_elsewhere(problems: Problems, text: str, expected: list[str]) -> None:
    assert problems(text) == [f"mirror.toml: {problem}" for problem in expected]


@pytest.mark.parametrize("servers", ["", "x:y", ":1", "x:0", "x:65536", "x:1,", "x:1 y:2", "x:"])
def test_invalid_servers(problems: Problems, servers: str) -> None:
    assert problems(GOOD.replace("tokyo-1:9092", servers)) == [
        f'mirror.toml: clusters.tokyo.bootstrap_servers: {A_SERVER}, not "{servers}"'
    ]


@pytest.mark.parametrize("table", ["properties", "consumer", "producer"])
def test_properties_that_the_guarantee_rests_on_are_refused_with_a_reason(
    problems: Problems, table: str
) -> None:
    for name, reason in REFUSED.items():
        assert problems(GOOD + f"[clusters.tokyo.{table}]\n{name} = 'x'") == [
            f"mirror.toml: clusters.tokyo.{table}.{name}: Causeway sets this property itself: {reason}"
        ]


def test_java_names_without_a_counterpart_say_why(problems: Problems) -> None:
    reasons = dict(UNSUPPORTED) | {name: f"leave it out: {why}" for name, why in JAVA_ALONE.items()}
    for name, reason in reasons.items():
        assert problems(GOOD + f"[clusters.tokyo.properties]\n{name} = 'x'") == [
            f"mirror.toml: clusters.tokyo.properties.{name}: {reason}"
        ]


def test_refused_spark_properties(problems: Problems) -> None:
    for name, reason in SPARK_REFUSED.items():
        assert problems(GOOD + f"[spark.properties]\n{name} = 'x'") == [
            f"mirror.toml: spark.properties.{name}: Causeway sets this property itself: {reason}"
        ]


def test_a_reference_in_the_options_of_a_jvm_is_refused(problems: Problems, loaded: Load) -> None:
    """They are its command line, which every user of the machine can read."""
    for name in JVM_OPTIONS:
        listed = problems(GOOD + f"[spark.properties]\n{name} = '-Dp=${{env:P}}'", environ={"P": "cAnArY"})
        assert listed == [
            f"mirror.toml: spark.properties.{name}: a reference would put its secret on the JVM's command "
            "line, which every user of the machine can read: write the value itself, or pass a file in the "
            "option"
        ]
        assert loaded(GOOD + f"[spark.properties]\n{name} = '-Dp=1'")
