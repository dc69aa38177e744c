"""MirrorMaker 2's mm2.properties: flows, topics, policies, layers; notes and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.compat.concealing import concealed
from causeway.compat.mirrormaker2.config import translate
from causeway.compat.translation import Translation
from causeway.config import Settings, load
from causeway.errors import ConfigError
from causeway.planning.rules.naming import destination_name
from causeway.planning.rules.selection import select
from support.typed import causeway

TWO = "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\n"
ONE_WAY = f"{TWO}A->B.enabled = true\n"

SAMPLE = """\
# specify any number of cluster aliases
clusters = A, B

# connection information for each cluster
A.bootstrap.servers = A_host1:9092, A_host2:9092, A_host3:9092
B.bootstrap.servers = B_host1:9092, B_host2:9092, B_host3:9092

# enable and configure individual replication flows
A->B.enabled = true
A->B.topics = .*
B->A.enabled = true
B->A.topics = .*

replication.factor=1

checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1

# replication.policy.separator = _
# sync.topic.acls.enabled = false
# emit.heartbeats.interval.seconds = 5
"""
"""The sample that is shipped with Kafka."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def translated(text: str) -> Translation:
    path = Path("mm2.properties")
    path.write_text(text)
    return translate(path)


def settings(text: str) -> Settings:
    return translated(text).settings([], Path())


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(text)
    return list(caught.value.problems)


def notes(text: str) -> list[str]:
    translation = translated(text)
    translation.settings([], Path())
    return translation.notes


def replicated(text: str, topics: list[str], mirror: int = 0) -> dict[str, str]:
    """The topics that a mirror replicates, with their destination names."""
    mirror_settings = settings(text).mirrors[mirror]
    return {
        name: destination_name(name, mirror_settings.prefix, mirror_settings.suffix, mirror_settings.rename)
        for name in select(topics, mirror_settings.topics, mirror_settings.exclude)
    }


def test_the_sample_that_is_shipped_with_kafka() -> None:
    loaded = settings(SAMPLE)
    assert {alias: cluster.bootstrap_servers for alias, cluster in loaded.clusters.items()} == {
        "A": "A_host1:9092,A_host2:9092,A_host3:9092",
        "B": "B_host1:9092,B_host2:9092,B_host3:9092",
    }
    there, back = loaded.mirrors
    assert (there.name, there.source, there.destination, there.prefix) == ("A-to-B", ("A",), "B", "A.")
    assert (back.name, back.source, back.destination, back.prefix) == ("B-to-A", ("B",), "A", "B.")
    assert (there.replication_factor, there.delivery, there.partitions) == (1, "exactly-once", "preserve")
    assert len(notes(SAMPLE)) == 6


def test_topics_are_replicated_as_by_mirrormaker_2() -> None:
    topics = ["orders", "A.orders", "B.orders", "C.B.orders", "C.orders", "__consumer_offsets", "x.internal",
              "connect-internal", "mm2-offset-syncs.B.internal", "orders.replica", "heartbeats"]  # fmt: skip
    assert replicated(SAMPLE, topics) == {
        "orders": "A.orders",
        "A.orders": "A.orders",  # not A.A.orders
        "C.orders": "A.C.orders",
        "heartbeats": "A.heartbeats",
    }
    assert set(replicated(SAMPLE, topics, 1)) == {
        "orders",
        "B.orders",
        "C.orders",
        "heartbeats",
        "C.B.orders",
    }


def test_a_separator_and_aliases_with_dots_and_hyphens() -> None:
    text = (
        "clusters=us-west, eu.central\nus-west.bootstrap.servers=w:1\neu.central.bootstrap.servers=e:1\n"
        "us-west->eu.central.enabled=TRUE\neu.central->us-west.enabled=true\nreplication.policy.separator=_\n"
    )
    loaded = settings(text)
    assert [mirror.name for mirror in loaded.mirrors] == ["us-west-to-eu-central", "eu-central-to-us-west"]
    assert set(loaded.clusters) == {"us-west", "eu-central"}
    assert notes(text)[0] == (
        'clusters: "eu.central" has the alias "eu-central" here; topic names do not change'
    )
    assert replicated(text, ["a", "eu.central_a", "x_eu.central_a", "eu.central.a"]) == {
        "a": "us-west_a", "eu.central.a": "us-west_eu.central.a",
    }  # fmt: skip
    assert replicated(text, ["a", "us-west_a"], 1) == {"a": "eu.central_a"}


@pytest.mark.parametrize(
    "policy",
    [
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy",
    ],
)
def test_the_identity_policy_keeps_names(policy: str) -> None:
    text = f"{ONE_WAY}replication.policy.class={policy}\n"
    assert replicated(text, ["a", "B.a"]) == {"a": "a", "B.a": "B.a"}
    assert notes(text) == []
    both = f"{text}B->A.enabled=true\n"
    assert notes(both) == [
        f"{flow}: topics keep their names in both directions: a topic that is replicated both ways is "
        "refused, because its "
        'records would loop, unless both mirrors have provenance = true and on_existing_records = "append"'
        for flow in ("A->B", "B->A")
    ]  # fmt: skip


def test_two_flows_that_keep_names_may_meet_in_one_topic() -> None:
    text = (
        f"{TWO.replace('A, B', 'A, B, C')}C.bootstrap.servers=c:1\nA->B.enabled=true\nC->B.enabled=true\n"
        "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    )
    assert notes(text) == [
        f"{flow}: another flow writes to topics with the same names; if they share one, the mirror "
        'that starts second needs on_existing_records = "append"'
        for flow in ("A->B", "C->B")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        ("topics=foo\n", ["foo"]),
        ("topics=foo.*, bar\n", ["foo", "foobar", "bar"]),
        ("topics=foo\nA->B.topics=bar\n", ["bar"]),
        ("topics=f.o\n", ["foo", "f.o"]),
        ("topics=f\\\\.o\n", ["f.o"]),
        ("topics=f\\.o\n", ["foo", "f.o"]),  # Java drops the one backslash
        ("topics.exclude=foo\n", ["foobar", "bar", "f.o", "a.replica"]),
        ("topics.blacklist=f.*\n", ["bar", "a.replica"]),
        ("topics.blacklist=bar\ntopics.exclude=foo.*\n", ["bar", "f.o", "a.replica"]),
        ("topics.exclude=\n", ["foo", "foobar", "bar", "f.o", "a.replica"]),
        ("", ["foo", "foobar", "bar", "f.o"]),
    ],
)
def test_which_topics(lines: str, chosen: list[str]) -> None:
    topics = ["foo", "foobar", "bar", "f.o", "__internal", "a.replica", "b-internal"]
    assert set(replicated(ONE_WAY + lines, topics)) == set(chosen)


def test_internal_topics_are_not_replicated_even_by_name() -> None:
    assert replicated(f"{ONE_WAY}topics=__a,b.internal,c\n", ["__a", "b.internal", "c"]) == {"c": "A.c"}


def test_numbers() -> None:
    loaded = settings(
        f"{ONE_WAY}tasks.max=4\nreplication.factor=3\nrefresh.topics.interval.seconds=30\n"
    ).mirrors[0]
    assert (loaded.shards, loaded.replication_factor, loaded.refresh) == (4, 3, 30.0)
    own = settings(f"{ONE_WAY}tasks.max=4\nA->B.tasks.max=1\nreplication.factor=-1\n").mirrors[0]
    assert (own.shards, own.replication_factor) == (None, None)
    assert settings(f"{ONE_WAY}refresh.topics.interval.seconds=7200\n").mirrors[0].refresh == 3600


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("tasks.max=4", "tasks.max: 4 parallel tasks (shards)"),
        ("tasks.max=1", "tasks.max: one shard for each core"),
        ("replication.factor=-1", "replication.factor: new topics get the replication factor of the source "
        "topic"),
        ("refresh.topics.interval.seconds=7200",
         "refresh.topics.interval.seconds: topics are discovered at least every 3600 seconds"),
        ("refresh.topics.enabled=false", "refresh.topics.enabled: new topics and partitions are always "
        "discovered"),
        ("exactly.once.source.support=enabled",
         "exactly.once.source.support: not needed: delivery is exactly-once"),
        ("A->B.emit.checkpoints.enabled=true",
         "A->B.emit.checkpoints.enabled: offsets of consumer groups are not translated yet; the offset map "
         "has the destination offset of each record"),
        ("A->B.emit.heartbeats.enabled=false",
         "A->B.emit.heartbeats.enabled: heartbeats topics are neither written nor replicated; heartbeats "
         "are in the ledger"),
        ("sync.topic.configs.enabled=false",
         "sync.topic.configs.enabled: a topic's configuration is copied when it is created; later changes "
         "are not"),
        ("sync.topic.acls.enabled=true", "sync.topic.acls.enabled: ACLs are not copied"),
        ("offset-syncs.topic.location=target",
         "offset-syncs.topic.location: not needed: the offset map is exact for every record"),
        ("A.offset.storage.topic=mine", "A.offset.storage.topic: not needed: there are no Connect workers"),
        ("key.converter=org.apache.kafka.connect.converters.ByteArrayConverter",
         "key.converter: not needed: records are replicated unchanged"),
        ("config.providers=env", "config.providers: not needed: ${env:NAME} and ${file:/path} work in "
         "every value"),
        ("consumer.fetch.min.bytes=1", "consumer.fetch.min.bytes: has no effect here in MirrorMaker 2 "
         "either"),
        ("A.topics=x", "A.topics: has no effect here in MirrorMaker 2 either"),
        ("A->B.security.protocol=SSL", "A->B.security.protocol: has no effect here in MirrorMaker 2 either"),
        ("B->A.topics=x", "B->A: is not enabled"),
        ("B->A.enabled=false", "B->A: is not enabled"),
        ("errors.tolerance=all", "errors.tolerance: a record that cannot be replicated stops its partition; "
        "no record is skipped"),
    ],
)  # fmt: skip
def test_keys_that_causeway_handles_differently(line: str, note: str) -> None:
    place = "" if note.startswith("B->A: ") else "mm2.properties:5: "
    assert notes(f"{ONE_WAY}{line}\n") == [f"{place}{note}"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tasks.max=many", 'tasks.max: must be an integer of at least 1, not "many"'),
        ("replication.factor=0", 'replication.factor: must be an integer between 1 and 32767, not "0"'),
        ("topics=(", "topics: Python cannot compile it, or reads it differently: missing ), unterminated "
        "subpattern at "
         "position 0"),
        ("topics.exclude=a{1,2}",
         'topics.exclude: "{1|2}" is not a repetition; a comma separates entries, also between braces'),
        ("replication.policy.class=com.example.Mine",
         "replication.policy.class: Java code cannot be run: remove the key, and set prefix, suffix or "
         "rename in the TOML"),
        ("topic.filter.class=com.example.Mine",
         "topic.filter.class: Java code cannot be run; only "
         "org.apache.kafka.connect.mirror.DefaultTopicFilter is supported"),
        ("value.converter=org.apache.kafka.connect.json.JsonConverter",
         "value.converter: Java code cannot be run; only "
         "org.apache.kafka.connect.converters.ByteArrayConverter is supported"),
        ("A->B.transforms=drop",
         "A->B.transforms: records are replicated bit for bit; to drop some, write a filter in Python"),
        ("A->B.enable=true", 'A->B.enable: unknown key, did you mean "enabled"?'),
        ("topic=a", 'topic: unknown key, did you mean "topics"?'),
        ("A.bootstrap.server=a", 'A.bootstrap.server: unknown key, did you mean "bootstrap.servers"?'),
        ("enabled=true", "enabled: enable flows one by one, with A->B.enabled"),
        ("A->BB.enabled=true", 'A->BB.enabled: clusters has no "BB", did you mean "B"?'),
        ("C->B.enabled=true", 'C->B.enabled: clusters has no "C"'),
        ("A->A.enabled=true", "A->A.enabled: the source and the target are the same cluster"),
        ("A.sasl.username=${file:/etc/secrets.properties:user}",
         "A.sasl.username: ${file:…} needs a Java config provider; use ${env:NAME}, or ${file:/path} with a "
         "file that has only the value"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured(line: str, problem: str) -> None:
    assert f"mm2.properties:5: {problem}" in problems(f"{ONE_WAY}{line}\n")


def test_no_flow_no_clusters_no_brokers_no_topics() -> None:
    assert problems(TWO) == ["clusters: no flow is enabled; enable one with A->B.enabled = true"]
    assert problems("A->B.enabled=true\n") == [
        "clusters: missing: the aliases of the clusters, separated by commas"
    ]
    assert problems("clusters=A,B\nA->B.enabled=true\nA.bootstrap.servers=a:1\n") == [
        "B.bootstrap.servers: missing: bootstrap brokers, as host:port"
    ]
    assert problems(f"{ONE_WAY}topics=\n") == ["A->B.topics: is empty, so no topic would be replicated"]
    with pytest.raises(ConfigError) as caught:
        translate(Path("gone.properties")).settings([], Path())
    assert caught.value.problems == ("gone.properties: No such file or directory",)


def test_a_cluster_in_no_flow_is_left_out() -> None:
    text = f"{ONE_WAY.replace('A, B', 'A, B, C')}C.bootstrap.servers=c:1\nC.nonsense=1\n"
    assert set(settings(text).clusters) == {"A", "B"}
    assert notes(text) == ['clusters: "C" is in no enabled flow']


def test_a_comment_after_the_clusters_is_detected() -> None:
    assert problems(ONE_WAY.replace("A, B", "A, B  # ours")) == [
        'mm2.properties:1: clusters: "B  # ours" is not an alias; a comment needs its own line'
    ]


# --- the command ---------------------------------------------------------------------------------


def test_what_is_converted_loads_to_the_same_settings(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f'{SAMPLE}A.sasl.jaas.config=a.b.PlainLoginModule required username="u" password="p\\\\"q";\n'
        "A->B.consumer.client.id=x\nB.producer.compression.type=zstd\ntopics.exclude=a\\\\.b\n"
    )
    translation = concealed(translated(text))
    ended = causeway("convert", "mm2", "mm2.properties")
    assert ended.returncode == 0, ended.stderr
    for name in ("A_SASL_PASSWORD", "A_TO_B_SOURCE_SASL_PASSWORD"):
        monkeypatch.setenv(name, "s")
    assert ended.stderr.splitlines() == [f"note: {note}" for note in translation.notes]
    (here / "mirror.toml").write_text(ended.stdout)
    assert load(here / "mirror.toml") == translation.settings([], here)


def test_problems_are_lines_and_the_exit_code_is_3() -> None:
    Path("mm2.properties").write_text(f"{ONE_WAY}topic=a\nA->B.transforms=drop\n")
    ended = causeway("convert", "mm2", "mm2.properties")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.splitlines() == [
        "error: 2 settings of MirrorMaker 2 cannot be honoured",
        '  - mm2.properties:5: topic: unknown key, did you mean "topics"?',
        "  - mm2.properties:6: A->B.transforms: records are replicated bit for bit; to drop some, write a "
        "filter in Python",
        "where: mm2.properties",
    ]
    assert causeway("convert", "mm2").returncode == 2
