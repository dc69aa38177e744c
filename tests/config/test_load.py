from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.config import ClusterSettings, MirrorSettings, Settings, SparkSettings
from causeway.config.registries import SchemaSettings

from .conftest import CLUSTERS, GOOD, MIRROR, Load


def mirror(settings: Settings) -> MirrorSettings:
    return settings.mirrors[0]


def test_the_shape_of_the_readme_loads_with_every_default(loaded: Load) -> None:
    settings = loaded(GOOD)

    assert settings.clusters == {
        "paris": ClusterSettings(bootstrap_servers="paris-1:9092,paris-2:9092"),
        "tokyo": ClusterSettings(bootstrap_servers="tokyo-1:9092"),
    }
    assert settings.spark == SparkSettings(master="local", properties={}, log_dir="")
    assert mirror(settings).__dict__ == {
        "name": "paris-to-tokyo",
        "source": ("paris",),
        "destination": "tokyo",
        "topics": ("orders", "payments\\..*"),
        "exclude": (),
        "prefix": "",
        "suffix": "",
        "rename": {},
        "merge": False,
        "partitions": "preserve",
        "partitioner": "murmur2",
        "partition_map": {},
        "modulo": False,
        "provenance": False,
        "filters": (),
        "per_source": {},
        "schemas": SchemaSettings(),
        "start": "earliest",
        "delivery": "exactly-once",
        "shards": None,
        "compression": "lz4",
        "timestamps": "preserve",
        "on_existing_records": "refuse",
        "on_gap": "stop",
        "on_recreate": "stop",
        "on_poison": "stop",
        "create_topics": True,
        "replication_factor": None,
        "source_group": True,
        "source_group_name": "causeway.paris-to-tokyo",
        "slice": 300.0,
        "refresh": 5.0,
        "heartbeat": 3.0,
        "transaction_timeout": 15.0,
        "max_transaction_records": 100_000,
        "max_transaction_bytes": 32 * 2**20,
        "max_transaction_time": 1.0,
        "queue_bytes": 32 * 2**20,
        "queue_records": 50_000,
        "carrier": "auto",
        "timings": "off",
        "max_records_per_second": 0,
        "max_bytes_per_second": 0,
    }


def test_every_key_can_be_set_in_the_file(loaded: Load) -> None:
    text = (
        CLUSTERS
        + '[clusters.lyon]\nbootstrap_servers = "lyon, [::1]:9092"\n'
        + MIRROR.replace('"paris"', '["paris", "lyon"]')
        + 'delivery = "at-least-once"\nshards = 4\ncompression = "zstd"\ntimestamps = "broker"\n'
        'on_existing_records = "append"\ncreate_topics = false\nreplication_factor = 3\n'
        'source_group = false\nsource_group_name = "g"\nslice = "1m"\nqueue_bytes = "2MB"\n'
        '[spark]\nmaster = "yarn"\nlog_dir = "/var/log"\n'
    )

    settings = loaded(text)

    assert mirror(settings).source == ("paris", "lyon")
    assert (mirror(settings).shards, mirror(settings).replication_factor) == (4, 3)
    assert mirror(settings).source_group_name == "g"
    assert (mirror(settings).slice, mirror(settings).queue_bytes) == (60.0, 2_000_000)
    assert settings.clusters["lyon"].bootstrap_servers == "lyon,[::1]:9092"
    assert settings.spark.master == "yarn"


@pytest.mark.parametrize(
    ("written", "start", "at"),
    [
        ('"earliest"', "earliest", "earliest"),
        ('"latest"', "latest", "latest"),
        ('"2026-01-31T08:00:00Z"', "2026-01-31T08:00:00Z", 1_769_846_400_000),
        ('"2026-01-31 08:00:00.1239"', "2026-01-31T08:00:00.123Z", 1_769_846_400_123),
        ('"2026-01-31T10:00:00+02:00"', "2026-01-31T08:00:00Z", 1_769_846_400_000),
        ("2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z", 1_769_846_400_000),
        ("2026-01-31", "2026-01-31T00:00:00Z", 1_769_817_600_000),
        ('"1970-01-01"', "1970-01-01T00:00:00Z", 0),
    ],
)
def test_start(loaded: Load, written: str, start: str, at: object) -> None:
    settings = loaded(GOOD + f"start = {written}")

    assert (mirror(settings).start, mirror(settings).start_at) == (start, at)


@given(st.integers(0, 253_402_300_799_999_999))
def test_a_start_keeps_its_millisecond(microseconds: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)

    first = MirrorSettings(name="m", source=("a",), destination="b", topics=("t",), start=str(moment))

    assert first.start_at == microseconds // 1_000
    assert MirrorSettings(**first.model_dump()) == first


def test_properties_may_be_dotted_quoted_or_nested(loaded: Load) -> None:
    text = (
        CLUSTERS
        + """
[clusters.tokyo.properties]
sasl.mechanism = "PLAIN"
"sasl.username" = "me"
socket.keepalive.enable = true
socket.timeout.ms = 5000
[clusters.tokyo.consumer]
fetch.wait.max.ms = 20
[clusters.paris.properties.consumer]
"fetch.wait.max.ms" = 10
[clusters.paris.properties.producer]
linger.ms = 0.5
[spark.properties]
spark.executor.memory = "2g"
"""
        + MIRROR
    )

    settings = loaded(text)

    assert settings.clusters["tokyo"].properties == {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "socket.keepalive.enable": "true",
        "socket.timeout.ms": "5000",
    }
    assert settings.clusters["tokyo"].consumer == {"fetch.wait.max.ms": "20"}
    assert settings.clusters["paris"].properties == {}
    assert settings.clusters["paris"].consumer == {"fetch.wait.max.ms": "10"}
    assert settings.clusters["paris"].producer == {"linger.ms": "0.5"}
    assert settings.spark.properties == {"spark.executor.memory": "2g"}


def test_variables_go_over_the_file_and_options_over_variables(loaded: Load) -> None:
    variable = {"CAUSEWAY__MIRRORS__PARIS_TO_TOKYO__SHARDS": "3"}
    option = "mirrors.paris-to-tokyo.shards=4"

    assert mirror(loaded(GOOD + "shards = 2")).shards == 2
    assert mirror(loaded(GOOD + "shards = 2", environ=variable)).shards == 3
    assert mirror(loaded(GOOD + "shards = 2", option, environ=variable)).shards == 4
    assert mirror(loaded(GOOD, option, "mirrors.0.shards=5", environ=variable)).shards == 5


@pytest.mark.parametrize("written", ["paris-to-tokyo", "0", "a.b__c"])
def test_variables_and_options_find_mirrors_by_name_and_index(loaded: Load, written: str) -> None:
    text = GOOD if written == "0" else GOOD.replace("paris-to-tokyo", written)
    folded = written.replace("-", "_").replace(".", "_").upper()

    assert mirror(loaded(text, f"mirrors.{written}.shards=4")).shards == 4
    assert mirror(loaded(text, environ={f"CAUSEWAY__MIRRORS__{folded}__SHARDS": "4"})).shards == 4


def test_the_longest_name_that_fits_is_meant(loaded: Load) -> None:
    text = GOOD.replace("paris-to-tokyo", "a") + MIRROR.replace("paris-to-tokyo", "a.b")

    settings = loaded(text, "mirrors.a.b.shards=4", "mirrors[0].shards=3")

    assert [each.shards for each in settings.mirrors] == [3, 4]


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("topics", '["a", "b"]', ("a", "b")),
        ("topics", "a", ("a",)),
        ("destination", "tokyo", "tokyo"),
        ("destination", '"tokyo"', "tokyo"),
        ("source_group_name", "5", "5"),
        ("source_group_name", "true", "true"),
        ("create_topics", "false", False),
        ("slice", "1m", 60.0),
        ("slice", '"1m"', 60.0),
        ("shards", "auto", None),
        ("max_transaction_records", "5", 5),
        ("queue_bytes", "1MiB", 2**20),
        ("start", "2026-01-31", "2026-01-31T00:00:00Z"),
        ("start", "${env:START}", "latest"),
    ],
)
def test_text_becomes_what_the_setting_wants(loaded: Load, key: str, text: str, value: object) -> None:
    variable = {f"CAUSEWAY__MIRRORS__0__{key.upper()}": text, "START": "latest"}

    assert getattr(mirror(loaded(GOOD, environ=variable)), key) == value
    assert getattr(mirror(loaded(GOOD, f"mirrors.0.{key}={text}", environ=variable)), key) == value


def test_properties_from_variables_and_options_are_taken_as_they_are(loaded: Load) -> None:
    environ = {
        "CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__SASL_PASSWORD": '"1e3"',
        "CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__LOG_LEVEL": "7",
        "CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__CONSUMER__FETCH_WAIT_MAX_MS": "10",
        "CAUSEWAY__CLUSTERS__PARIS__PRODUCER__LINGER_MS": "5",
        "CAUSEWAY__SPARK__PROPERTIES__spark_executor_memoryOverhead": "1g",
        "CAUSEWAY__SPARK__PROPERTIES__SPARK_EXECUTOR_PYSPARK_MEMORY": "2g",
    }

    settings = loaded(
        GOOD + "[spark.properties]\nspark.executor.pyspark.Memory = '1g'",
        "clusters.tokyo.properties.sasl.password=a=b",
        "clusters.tokyo.properties.producer.linger.ms=1",
        "spark.properties.spark.executor.memory=3g",
        environ=environ,
    )

    assert settings.clusters["paris"].properties == {"sasl.password": '"1e3"', "log_level": "7"}
    assert settings.clusters["paris"].consumer == {"fetch.wait.max.ms": "10"}
    assert settings.clusters["paris"].producer == {"linger.ms": "5"}
    assert settings.clusters["tokyo"].properties == {"sasl.password": "a=b"}
    assert settings.clusters["tokyo"].producer == {"linger.ms": "1"}
    assert settings.spark.properties == {
        "spark.executor.pyspark.Memory": "2g",
        "spark.executor.memoryOverhead": "1g",
        "spark.executor.memory": "3g",
    }


def test_a_cluster_that_mirrors_mention_may_come_from_variables_alone(loaded: Load) -> None:
    environ = {
        "CAUSEWAY__CLUSTERS__PARIS__BOOTSTRAP_SERVERS": "p:1",
        "CAUSEWAY__CLUSTERS__TOKYO__BOOTSTRAP_SERVERS": "t:1",
    }

    settings = loaded(MIRROR, environ=environ)

    assert {alias: each.bootstrap_servers for alias, each in settings.clusters.items()} == {
        "paris": "p:1",
        "tokyo": "t:1",
    }


def test_variables_with_one_underscore_are_no_settings(loaded: Load) -> None:
    assert loaded(GOOD, environ={"CAUSEWAY_CACHE": "x"}) == loaded(GOOD)


def test_references_stay_in_properties_and_are_resolved_elsewhere(loaded: Load) -> None:
    text = (
        GOOD.replace("tokyo-1:9092", "${env:HOST}:9092")
        + 'shards = "${env:SHARDS}"\n'
        + '[clusters.tokyo.properties]\nsasl.password = "${env:SECRET}"\n'
        + '[spark.properties]\nspark.executor.memory = "${env:SHARDS}g"'
    )

    settings = loaded(text, environ={"HOST": "h", "SHARDS": "4", "SECRET": "s"})

    assert settings.clusters["tokyo"].bootstrap_servers == "h:9092"
    assert settings.clusters["tokyo"].properties == {"sasl.password": "${env:SECRET}"}
    assert mirror(settings).shards == 4
    assert settings.spark.properties == {"spark.executor.memory": "${env:SHARDS}g"}


def test_settings_survive_pickle_and_json(loaded: Load) -> None:
    settings = loaded(GOOD + 'slice = "90s"\nstart = "2026-01-31"\nqueue_bytes = "2MB"')

    assert pickle.loads(pickle.dumps(settings)) == settings
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
    assert Settings.model_validate(json.loads(json.dumps(settings.model_dump(mode="json")))) == settings
    assert MirrorSettings(**mirror(settings).model_dump()) == mirror(settings)


def test_settings_cannot_be_changed(loaded: Load) -> None:
    with pytest.raises(ValueError, match="frozen"):
        mirror(loaded(GOOD)).shards = 5  # type: ignore[misc]


def test_filters_that_are_files_are_found_beside_the_configuration(loaded: Load, tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    lines = [f'[[mirrors.filters]]\nfilter = "{name}"\n' for name in ("a.py", "a.py:Named", "my.pypi:Packed")]

    filters = mirror(loaded(GOOD + "".join(lines))).filters

    assert [chosen.filter for chosen in filters] == [
        f"{tmp_path}/a.py:Filter",
        f"{tmp_path}/a.py:Named",
        "my.pypi:Packed",
    ]


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("p.filter", "p.filter:p"),
        ("./p.filter:id", "p.filter:id"),
        ("sub/p.v2.so", "sub/p.v2.so:p.v2"),
        ("sub/q", "sub/q:q"),
        ("sub/q:an id", "sub/q:an id"),
    ],
)
def test_a_go_plugin_is_a_file_that_is_not_python(
    loaded: Load, tmp_path: Path, written: str, means: str
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("p.filter", "sub/p.v2.so", "sub/q"):
        (tmp_path / name).touch()
    (chosen,) = mirror(loaded(f'{GOOD}[[mirrors.filters]]\nfilter = "{written}"\n')).filters
    assert chosen.filter == f"{tmp_path}/{means}"


def test_what_differs_for_a_source_goes_over_the_mirrors_own(loaded: Load) -> None:
    text = (
        GOOD
        + 'prefix = "eu."\nexclude = "test"\n[mirrors.per_source.paris]\nprefix = ""\nrename."a.b" = "c"\n'
    )

    settings = mirror(loaded(text))

    assert (settings.prefix, settings.rename, settings.exclude) == ("eu.", {}, ("test",))
    seen = settings.for_source("paris")
    assert (seen.prefix, seen.rename, seen.exclude) == ("", {"a.b": "c"}, ("test",))
    assert settings.for_source("elsewhere") == settings


def test_topics_in_tables_keep_their_dots(loaded: Load) -> None:
    text = GOOD + "rename.a.b = 'c.d'\npartition_map.a.b = 3\npartition_map.c = [{ src = 0, dest = 1 }]\n"

    settings = mirror(loaded(text, "mirrors.0.partition_map.d.e=4"))

    assert settings.rename == {"a.b": "c.d"}
    assert settings.partition_map == {"a.b": 3, "c": ((0, 1),), "d.e": 4}


def test_a_filters_config_keeps_its_references_and_dates_become_text(loaded: Load, tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    text = (
        GOOD + '[[mirrors.filters]]\nfilter = "a.py"\nconfig = { key = "${env:KEY}", since = 2026-01-31 }\n'
    )

    (chosen,) = mirror(loaded(text, environ={"KEY": "secret"})).filters

    assert chosen.config == {"key": "${env:KEY}", "since": "2026-01-31"}
