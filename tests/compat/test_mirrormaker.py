"""Go MirrorMaker's flags, one by one: defaults, what is given, what is refused; and the commands."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from causeway.compat.concealing import concealed
from causeway.compat.go_mirrormaker.command import FLAGS, RUN_FLAGS, help_text, read_flags, translate
from causeway.compat.go_mirrormaker.files import CONSUMER, PRODUCER
from causeway.config import MirrorSettings, load
from support.go_mirrormaker import FILES, mirror, problems, refused, settings, translated, write, write_files
from support.typed import causeway

INTERNAL = 'topics that begin with "__" never match, unlike in MirrorMaker'
BY_KEY = (
    "--preserve.partitions: is off: the key selects the partition by FNV-1a, where v0.4 used any; records "
    "without a key are spread in batches"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_files()
    return tmp_path


def test_the_minimal_configuration() -> None:
    loaded = settings()
    (mirror,) = loaded.mirrors
    assert (mirror.name, mirror.source, mirror.destination) == ("mirrormaker-mm", ("source",), "target")
    assert loaded.clusters["source"].bootstrap_servers == "paris:9092"
    assert loaded.clusters["target"].bootstrap_servers == "tokyo-1:9092,tokyo-2:9092"
    assert mirror.topics == (".*",)
    assert mirror.source_group_name == "mm"
    assert (mirror.partitions, mirror.partitioner) == ("by-key", "fnv1a")
    assert (mirror.start, mirror.delivery) == ("earliest", "exactly-once")
    defaults = MirrorSettings(name="x", source=("a",), destination="b", topics=("t",))
    for key in (
        "exclude",
        "prefix",
        "merge",
        "shards",
        "queue_records",
        "compression",
        "per_source",
        "modulo",
    ):
        assert getattr(mirror, key) == getattr(defaults, key), key
    assert translated().notes == [f"--whitelist: {INTERNAL}", BY_KEY]


def test_the_run_line_of_its_page() -> None:
    write("sourceCluster1Consumer.config", "bootstrap.servers=a:9092\ngroup.id=one\n")
    write("sourceCluster2Consumer.config", "bootstrap.servers=b:9092\ngroup.id=two\n")
    line = (
        "--consumer.config sourceCluster1Consumer.config --consumer.config sourceCluster2Consumer.config "
        "--num.streams 2 --producer.config p.config --whitelist=.*"
    )
    translation = translate(read_flags(line.split(), run=True))
    loaded = translation.settings([], Path())
    (mirror,) = loaded.mirrors
    assert mirror.name == "mirrormaker-one"
    assert mirror.source == ("source1", "source2")
    assert [loaded.clusters[alias].bootstrap_servers for alias in mirror.source] == ["a:9092", "b:9092"]
    assert [mirror.for_source(alias).source_group_name for alias in mirror.source] == ["one", "two"]
    assert mirror.merge
    assert mirror.shards == 2
    assert translation.notes == [
        '--consumer.config: sourceCluster1Consumer.config is the cluster "source1"',
        '--consumer.config: sourceCluster2Consumer.config is the cluster "source2"',
        f"--whitelist: {INTERNAL}",
        "--consumer.config: topics with the same name are merged into one topic, as before",
        BY_KEY,
        "--num.streams: 2 parallel tasks (shards)",
    ]


# --- flags ---------------------------------------------------------------------------------------


def test_a_whitelist_includes_and_a_blacklist_excludes() -> None:
    assert mirror(topics="--whitelist=^foo|bar$").topics == (".*(?:^foo|bar$).*",)
    black = mirror(topics="--blacklist=foo")
    assert (black.topics, black.exclude) == ((".*",), (".*(?:foo).*",))
    assert f"--blacklist: {INTERNAL}" in translated(topics="--blacklist=foo").notes


def test_a_comma_is_part_of_the_expression() -> None:
    note = "--whitelist: a comma is part of the expression, and topic names have no commas; write a|b"
    assert note in translated(topics="--whitelist=foo,bar").notes
    assert note not in translated(topics="--whitelist=fo{1,2}").notes


def test_an_expression_with_another_meaning_is_refused() -> None:
    assert problems(topics="--whitelist=[[:alpha:]]+") == [
        "--whitelist: [:alpha:] is not a set in Python; write its characters, such as [a-z0-9]"
    ]
    assert problems(topics="--blacklist=*") == [
        "--blacklist: Python cannot compile it, or reads it differently: nothing to repeat at position 0"
    ]


def test_exactly_one_of_whitelist_and_blacklist() -> None:
    needed = "exactly one of --whitelist and --blacklist is needed"
    assert refused(*FILES) == needed
    assert refused(*FILES, "--whitelist=a", "--blacklist=b") == needed
    assert refused(*FILES, "--whitelist=") == needed


def test_both_kinds_of_files_are_needed() -> None:
    assert refused("--whitelist=a", FILES[0]) == (
        "--producer.config is required: a file with the destination's brokers"
    )
    assert refused("--whitelist=a", FILES[1]) == (
        "--consumer.config is required at least once: a file with the source's brokers"
    )


@pytest.mark.parametrize(
    ("arguments", "shards", "note"),
    [
        (["--num.producers=3"], 3, "--num.producers: 3 parallel tasks (shards)"),
        (["--num.streams", "4", "--num.producers", "2"], 4,
         "--num.producers, --num.streams: 4 parallel tasks (shards)"),
        (["--num.streams=1"], None, "--num.streams: one shard for each core"),
    ],
)  # fmt: skip
def test_producers_and_streams_become_shards(arguments: list[str], shards: int | None, note: str) -> None:
    assert mirror(*arguments).shards == shards
    assert note in translated(*arguments).notes


@pytest.mark.parametrize(
    ("flag", "what"),
    [
        ("--num.producers=0", "--num.producers must be at least 1, not 0"),
        ("--num.streams=-1", "--num.streams must be at least 1, not -1"),
        ("--queue.size=-1", "--queue.size must be at least 0, not -1"),
        ("--max.procs=all", '--max.procs must be an integer, not "all"'),
        ("--num.streams", "--num.streams needs a value"),
        ("--preserve.ordr", 'unknown flag --preserve.ordr, did you mean "--preserve.order"?'),
    ],
)
def test_invalid_flags(flag: str, what: str) -> None:
    assert refused(*FILES, "--whitelist=.*", flag) == what


@pytest.mark.parametrize("flag", ["--preserve.partitions", "-preserve.partitions=t"])
def test_partitions_are_preserved(flag: str) -> None:
    assert mirror(flag).partitions == "preserve"
    assert translated(flag).notes[-1] == (
        "--preserve.partitions: keys are kept, which v0.4 overwrote; if the destination has fewer "
        "partitions the topic is refused, unless `-X mirrors.0.modulo=true` is set"
    )
    assert translated(flag).settings(["mirrors.0.modulo=true"], Path()).mirrors[0].modulo


def test_partitions_are_not_preserved() -> None:
    assert mirror("--preserve.partitions=false").partitions == "by-key"


@pytest.mark.parametrize("flag", ["--preserve.order", "--preserve.order=false"])
def test_order_is_always_kept(flag: str) -> None:
    note = "--preserve.order: always on: records of a source partition stay in order"
    assert note in translated(flag).notes
    assert note not in translated().notes


def test_a_prefix() -> None:
    mirror_settings = mirror("--prefix", "dc1_")
    assert (mirror_settings.prefix, mirror_settings.name) == ("dc1_", "mirrormaker-mm-dc1_")
    assert "--prefix: not added to names that already have it" in translated("--prefix=dc1_").notes
    assert problems("--prefix=a/b") == [
        "--prefix: must have at most 200 letters, digits, dots, hyphens and underscores, not \"a/b\""
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "records"), [("0", 1), ("1", 1), ("500", 500), ("10000000", 10_000_000)])
def test_the_queue(size: str, records: int) -> None:
    assert mirror("--queue.size", size).queue_records == records
    note = "--queue.size: applies to each shard; queued records are not lost in a crash"
    assert note in translated("--queue.size", size).notes


def test_a_queue_that_is_too_long() -> None:
    assert problems("--queue.size=10000001") == ["--queue.size: must be at most 10000000, not 10000001"]


def test_processors_do_not_matter() -> None:
    note = "--max.procs: not needed: set the number of shards"
    assert note in translated("--max.procs=8").notes


def test_unsupported_flags_are_refused_with_what_to_do() -> None:
    flags = ["--schema.registry.url=http://r", "--metrics.topic=m"]
    assert problems(*flags) == [
        "--schema.registry.url: not supported yet: schema ids are not translated; without the flag records "
        "are replicated unchanged",
        "--metrics.topic: not supported yet: leave the flag out",
    ]
    assert mirror("--schema.registry.url=", "--metrics.topic=").name == "mirrormaker-mm"


TIMINGS = "bootstrap.servers=tokyo-2:9092,tokyo-9:9092\nacks=1\n"


def test_timings_go_to_topics_of_the_destination_and_each_difference_is_noted() -> None:
    write("timings.config", TIMINGS)
    assert mirror("--timings.producer.config=timings.config").timings == "topic"
    notes = [
        note.removeprefix("--timings.producer.config: ")
        for note in translated("--timings.producer.config", "timings.config").notes
        if note.startswith("--timings.producer.config: ")
    ]
    assert [note.partition(" ")[0] for note in notes] == ["timings", "the", "all", "a", "other"]
    assert 'timings = "topic": for each transaction and partition one JSON record' in notes[0]
    assert mirror("--timings.producer.config=").timings == mirror().timings == "off"


@pytest.mark.parametrize(
    ("text", "refused_at"),
    [
        ("metadata.broker.list=lima:9092\n", "timings.config:1: metadata.broker.list"),
        ("\nbootstrap.servers=lima:9092,rome:9092\n", "timings.config:2: bootstrap.servers"),
    ],
)
def test_timings_cannot_go_to_another_cluster(text: str, refused_at: str) -> None:
    """They are in the transactions of the records."""
    write("timings.config", text)
    (problem,) = problems("--timings.producer.config=timings.config")
    assert problem.startswith(f"{refused_at}: timings are written in the transactions of their records")
    option = "-X=clusters.target.bootstrap_servers=lima:9092"
    assert translated("--timings.producer.config=timings.config", option).problems == []


def test_a_file_for_timings_needs_no_brokers() -> None:
    write("timings.config", "acks=1\n")
    assert mirror("--timings.producer.config=timings.config").timings == "topic"


def test_a_file_for_timings_that_is_not_there_is_a_problem() -> None:
    (problem,) = problems("--timings.producer.config=nowhere.config")
    assert "nowhere.config" in problem


def test_a_flag_that_is_given_twice() -> None:
    assert (
        "--prefix: given more than once; the last one is used" in translated("--prefix=a", "--prefix=b").notes
    )
    assert mirror("--prefix=a", "--prefix=b").prefix == "b"


def test_help_lists_every_flag_with_its_default() -> None:
    shown = help_text("mirrormaker", run=True)
    for flag in (*FLAGS, *RUN_FLAGS):
        dashes = "-" if flag.name == "X" else "--"
        (line,) = [line for line in shown.splitlines() if line.split()[:1] == [dashes + flag.name]]
        assert line.endswith(f"[{flag.default}]"), line
    assert "--stop-at-end" not in help_text("convert mirrormaker", run=False)


# --- names ---------------------------------------------------------------------------------------


def test_the_mirrors_name_is_stable_and_its_own() -> None:
    long = "g" * 200
    names = {}
    for group, prefix in (("mm", ""), ("mm2", ""), ("mm", "dc1_"), ("mm", "dc1."), ("mm", "dc1"), (long, "")):
        write("c.config", f"bootstrap.servers=a:1\ngroup.id={group}\n")
        names[group, prefix] = mirror(f"--prefix={prefix}").name
    assert names["mm", "dc1_"] == "mirrormaker-mm-dc1_"
    assert names["mm", "dc1."] == "mirrormaker-mm-dc1."
    assert len(set(names.values())) == len(names)
    write("c.config", "bootstrap.servers=somewhere.else:1\ngroup.id=mm\nclient.id=x\n")
    assert mirror("--num.streams=7", topics="--blacklist=z").name == names["mm", ""]


def test_a_missing_group_has_a_note() -> None:
    write("c.config", "bootstrap.servers=a:1\n")
    mirror_settings = mirror()
    assert (mirror_settings.name, mirror_settings.source_group_name) == (
        "mirrormaker-go-consumer-group",
        "go-consumer-group",
    )
    assert translated().notes[0] == (
        "group.id: missing, so it is go-consumer-group, and the mirror's name is derived from it: a second "
        "MirrorMaker without a group and with the same prefix would replace this one"
    )


def test_a_configured_group_has_no_such_note_whatever_its_name() -> None:
    write("c.config", "bootstrap.servers=a:1\ngroup.id=go-consumer-group\n")
    assert mirror().name == "mirrormaker-go-consumer-group"
    assert not [note for note in translated().notes if note.startswith("group.id: missing")]
    write("c.config", "bootstrap.servers=a:1\ngroup.id=\n")  # empty: the default, as in Go
    assert [note for note in translated().notes if note.startswith("group.id: missing")]


def test_a_group_that_kafka_would_reject() -> None:
    write("c.config", f"bootstrap.servers=a:1\ngroup.id={'g' * 250}\n")
    assert problems() == [
        "c.config:2: group.id: must have at most 249 characters, none of them a control character, "
        f'not "{"g" * 59}…'
    ]


# --- the commands --------------------------------------------------------------------------------


def test_what_is_converted_loads_to_the_same_settings(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        "c.config", "bootstrap.servers=a:1\ngroup.id=one\nnum.workers=3\nsasl.username=x\nfetch.min.bytes=5\n"
    )
    write("d.config", 'bootstrap.servers=b:1\ngroup.id=two\nsasl.password="quoted" \\ back\n')
    flags = [*FILES, "--consumer.config=d.config", "--whitelist=^a\\.b", "--prefix", "p.", "-queue.size=5"]
    ended = causeway("convert", "mirrormaker", *flags)
    assert ended.returncode == 0, ended.stderr
    translation = concealed(translate(read_flags(flags, run=False)))
    assert ended.stderr.splitlines() == [f"note: {note}" for note in translation.notes]
    for note in translation.notes:
        assert f"# {note}\n" in ended.stdout
    write("mirror.toml", ended.stdout)
    monkeypatch.setenv("SOURCE2_SASL_PASSWORD", "s")
    assert load(here / "mirror.toml") == translation.settings([], here)


def test_help_and_exit_codes_of_the_command() -> None:
    shown = causeway("mirrormaker", "-help")
    assert (shown.returncode, shown.stdout) == (0, help_text("mirrormaker", run=True) + "\n")
    usage = causeway("mirrormaker", "-whitelist=.*", "-blacklist", "a")
    assert (usage.returncode, usage.stdout) == (2, "")
    assert usage.stderr == "error: exactly one of --whitelist and --blacklist is needed\n"
    unknown = causeway("convert", "mirrormaker", "--stop-at-end")
    assert unknown.returncode == 2
    assert unknown.stderr.splitlines() == [
        "error: unknown flag --stop-at-end",
        "do: `--help` lists every flag",
    ]
    write("c.config", "zookeeper.connect=zk:2181\nnum.workers=many\n")
    wrong = causeway("mirrormaker", *FILES, "--whitelist=.*", "--metrics.topic=m")
    assert wrong.returncode == 3
    assert wrong.stderr.splitlines() == [
        "error: 3 settings of Go MirrorMaker cannot be honoured",
        "  - --metrics.topic: not supported yet: leave the flag out",
        '  - c.config:2: num.workers: must be an integer, not "many"',
        "  - c.config:1: zookeeper.connect: bootstrap.servers is needed instead: Causeway does not use "
        "ZooKeeper; add it to the file (MirrorMaker ignores it), or set -X "
        "clusters.source.bootstrap_servers=…",
        "where: the command line",
    ]
    assert wrong.stdout == ""


def test_the_page_names_every_flag_and_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "from-mirrormaker.md").read_text()
    named = re.findall(r"`(?:--)?([a-z.…]+)(?:=\w+)?`", page)
    for name in (*(flag.name for flag in FLAGS), *CONSUMER, *PRODUCER):
        assert any(fnmatch(name, each.replace("…", "*")) for each in named), name
