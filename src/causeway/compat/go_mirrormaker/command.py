"""Go MirrorMaker (elodina, stealthly): its flags as one mirror, with a source per consumer.config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from causeway.compat import expressions, properties_file
from causeway.compat.go_mirrormaker import files
from causeway.compat.go_mirrormaker.files import DEFAULT_GROUP
from causeway.compat.go_mirrormaker.flags import CommandFlag as Flag
from causeway.compat.go_mirrormaker.flags import GivenFlags, parse
from causeway.compat.go_mirrormaker.timings import timings
from causeway.compat.reading import fitting
from causeway.compat.translation import Translation, mirror_name
from causeway.config import fields
from causeway.config.input_limits import is_file
from causeway.errors import UsageError

TOOL = "Go MirrorMaker"
MOST_QUEUED = 10_000_000

FLAGS = (
    Flag("whitelist", "text", "none", "Topics to replicate: those in which this Go expression finds a "
    "match."),
    Flag("blacklist", "text", "none", "Topics to exclude, instead of --whitelist; all others are "
    "replicated."),
    Flag("consumer.config", "texts", "none", "A source cluster; may be repeated."),
    Flag("producer.config", "text", "none", "The destination cluster."),
    Flag("num.producers", "number", "1", "The greater of the two, if above 1, is the number of shards;"),
    Flag("num.streams", "number", "1", "otherwise there is one shard for each core."),
    Flag("preserve.partitions", "boolean", "false", "Records keep their partition and their key; otherwise "
    "the key selects the partition, by FNV-1a."),
    Flag("preserve.order", "boolean", "false", "Always on."),
    Flag("prefix", "text", "empty", "Prefix of topic names; not added to names that already have it."),
    Flag("queue.size", "number", "10000", "Maximum records in a shard's producer queue; Causeway's default "
    "is 50000."),
    Flag("max.procs", "number", "all cores", "Not needed: set the number of shards."),
    Flag("timings.producer.config", "text", "empty", "For each transaction and partition a record of times "
    "in JSON goes to timings_<prefix><topic>."),
    Flag("schema.registry.url", "text", "empty", "Not supported yet."),
    Flag("metrics.topic", "text", "empty", "Not supported yet."),
)  # fmt: skip
RUN_FLAGS = (
    Flag("stop-at-end", "boolean", "false", "Replicate up to the log ends at the start, then exit."),
    Flag("X", "texts", "none", "KEY=VALUE: set a key of Causeway's configuration; may be repeated."),
)

_UNSUPPORTED = {
    "schema.registry.url": "schema ids are not translated; without the flag records are replicated unchanged",
    "metrics.topic": "leave the flag out",
}


def read_flags(arguments: list[str], *, run: bool) -> GivenFlags:
    """Parse the flags; raises UsageError if the combination is invalid."""
    given = parse((*FLAGS, *RUN_FLAGS) if run else FLAGS, arguments)
    if given.help:
        return given
    if bool(given.text("whitelist")) == bool(given.text("blacklist")):
        raise UsageError("exactly one of --whitelist and --blacklist is needed")
    if not given.texts("consumer.config"):
        raise UsageError("--consumer.config is required at least once: a file with the source's brokers")
    if not given.text("producer.config"):
        raise UsageError("--producer.config is required: a file with the destination's brokers")
    for name, least in (("num.producers", 1), ("num.streams", 1), ("queue.size", 0)):
        number = given.number(name)
        if number is not None and number < least:
            raise UsageError(f"--{name} must be at least {least}, not {number}")
    return given


def help_text(command: str, *, run: bool) -> str:
    flags = (*FLAGS, *RUN_FLAGS) if run else FLAGS
    width = max(len(flag.name) for flag in flags) + 4
    lines = [
        f"Usage: causeway {command} --consumer.config FILE [--consumer.config FILE …]"
        " --producer.config FILE --whitelist REGEXP",
        "",
        "  Go MirrorMaker's flags and files, unchanged: -flag, --flag=value and --flag value.",
        "  Files need bootstrap.servers, as Causeway does not use ZooKeeper.",
        "",
        "Flags (with their defaults):",
    ]
    for flag in flags:
        dashes = "-" if len(flag.name) == 1 else "--"
        lines.append(f"  {(dashes + flag.name).ljust(width)}{flag.means} [{flag.default}]")
    lines.append(f"  {'--help'.ljust(width)}Show this and exit.")
    return "\n".join(lines)


def translate(given: GivenFlags) -> Translation:
    """One mirror, with notes on differences and problems for what cannot be honoured."""
    translation = Translation(TOOL, "the command line")
    for name in given.repeated:
        translation.note(f"--{name}", "given more than once; the last one is used")
    for name, why in _UNSUPPORTED.items():
        if given.text(name):
            translation.problem(f"--{name}", f"not supported yet: {why}")
    groups = _sources(given, translation)
    mirror: dict[str, Any] = {
        "name": _name(next(iter(groups.values())), given.text("prefix")),
        "source": next(iter(groups)) if len(groups) == 1 else list(groups),
        "destination": "target",
    }
    _topics(given, translation, mirror)
    _partitions(given, translation, mirror)
    _work(given, translation, mirror)
    mirror |= _destination(given, translation)
    elsewhere = _is_set(given, "clusters.target.bootstrap_servers")
    servers = "" if elsewhere else translation.clusters["target"].get("bootstrap_servers", "")
    mirror |= timings(given.text("timings.producer.config"), servers, translation)
    if len(groups) == 1:
        mirror["source_group_name"] = next(iter(groups.values()))
    else:
        mirror["per_source"] = {alias: {"source_group_name": group} for alias, group in groups.items()}
    translation.mirrors.append(mirror)
    return translation


def _name(group: str, prefix: str) -> str:
    """Two installations differ in the group or, in a ring of data centres, in the prefix.

    The order of the files after the first may change, and brokers may move: the ledger stays the same.
    """
    wanted = "-".join(part for part in ("mirrormaker", group, prefix) if part)
    return mirror_name(wanted)


def _sources(given: GivenFlags, translation: Translation) -> dict[str, str]:
    """Add a cluster for each consumer.config; returns the groups by alias."""
    paths = given.texts("consumer.config")
    groups: dict[str, str] = {}
    without_group = False
    for number, path in enumerate(paths, 1):
        alias = "source" if len(paths) == 1 else f"source{number}"
        file = properties_file.read(Path(path), "go", translation)
        readable = bool(file.entries) or is_file(Path(path))
        elsewhere = not readable or _is_set(given, f"clusters.{alias}.bootstrap_servers")
        cluster, groups[alias] = files.source(file, translation, alias, elsewhere)
        translation.clusters[alias] = cluster
        translation.keys[alias] = files.keys_of(file)
        without_group = without_group or not (
            file.entries["group.id"].value if "group.id" in file.entries else ""
        )
        if len(paths) > 1:
            translation.note("--consumer.config", f'{path} is the cluster "{alias}"')
    if without_group:
        translation.note(
            "group.id",
            f"missing, so it is {DEFAULT_GROUP}, and the mirror's name is derived from it: a second "
            f"MirrorMaker without a group and with the same prefix would replace this one",
        )
    return groups


def _destination(given: GivenFlags, translation: Translation) -> dict[str, Any]:
    path = Path(given.text("producer.config"))
    file = properties_file.read(path, "go", translation)
    elsewhere = not is_file(path) or _is_set(given, "clusters.target.bootstrap_servers")
    cluster, compression = files.destination(file, translation, elsewhere)
    translation.clusters["target"] = cluster
    translation.keys["target"] = files.keys_of(file)
    return {"compression": compression} if compression else {}


def _is_set(given: GivenFlags, key: str) -> bool:
    return any(option.partition("=")[0].strip() == key for option in given.texts("X"))


def _topics(given: GivenFlags, translation: Translation, mirror: dict[str, Any]) -> None:
    name = "whitelist" if given.text("whitelist") else "blacklist"
    text = given.text(name)
    try:
        expression = expressions.go(text)
    except ValueError as error:
        translation.problem(f"--{name}", str(error))
        return
    if "," in expressions.outside_braces(text):
        translation.note(
            f"--{name}", "a comma is part of the expression, and topic names have no commas; write a|b"
        )
    translation.note(f"--{name}", 'topics that begin with "__" never match, unlike in MirrorMaker')
    mirror["topics"] = [expression] if name == "whitelist" else [".*"]
    if name == "blacklist":
        mirror["exclude"] = [expression]
    if prefix := given.text("prefix"):
        mirror["prefix"] = fitting(translation, "--prefix", prefix, fields.Affix)
        translation.note("--prefix", "not added to names that already have it")
    if len(given.texts("consumer.config")) > 1:
        mirror["merge"] = True
        translation.note(
            "--consumer.config", "topics with the same name are merged into one topic, as before"
        )


def _partitions(given: GivenFlags, translation: Translation, mirror: dict[str, Any]) -> None:
    if given.boolean("preserve.partitions"):
        mirror["partitions"] = "preserve"
        translation.note(
            "--preserve.partitions",
            "keys are kept, which v0.4 overwrote; if the destination has fewer partitions the topic is "
            "refused, unless `-X mirrors.0.modulo=true` is set",
        )
    else:
        mirror["partitions"] = "by-key"
        mirror["partitioner"] = "fnv1a"
        translation.note(
            "--preserve.partitions",
            "is off: the key selects the partition by FNV-1a, where v0.4 used any; records without a key "
            "are spread in batches",
        )
    if "preserve.order" in given.values:
        translation.note("--preserve.order", "always on: records of a source partition stay in order")


def _work(given: GivenFlags, translation: Translation, mirror: dict[str, Any]) -> None:
    names = ("num.producers", "num.streams")
    asked = {name: number for name in names if (number := given.number(name)) is not None}
    if asked:
        most = max(asked.values())
        if most > 1:
            mirror["shards"] = most
        meaning = f"{most} parallel tasks (shards)" if most > 1 else "one shard for each core"
        translation.note(", ".join(f"--{name}" for name in asked), meaning)
    if "max.procs" in given.values:
        translation.note("--max.procs", "not needed: set the number of shards")
    size = given.number("queue.size")
    if size is not None and size > MOST_QUEUED:
        translation.problem("--queue.size", f"must be at most {MOST_QUEUED}, not {size}")
    elif size is not None:
        mirror["queue_records"] = max(size, 1)
        translation.note("--queue.size", "applies to each shard; queued records are not lost in a crash")
