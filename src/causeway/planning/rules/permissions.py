"""The least permissions that a mirror needs on its clusters, from its settings alone.

A topic that is named needs a permission on this name. For a regular expression it is the text that every
match begins with: topics that appear later must be found too. READ, WRITE and ALTER imply DESCRIBE.

What a mirror cannot do without is required. The others cost a feature, which `without` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from causeway.config import MirrorSettings
from causeway.core.permission import Operation, Permission, RequiredPermission, on_cluster, on_topic
from causeway.core.task_order import ledger_topic, offset_map_topic, quarantine_topic
from causeway.planning.rules.naming import destination_name
from causeway.planning.rules.selection import is_name, select
from causeway.rules.timings import TOPIC_PREFIX

LEDGERS = Permission("topic", "__causeway.", "READ", prefix=True)
TRANSACTION_STATE = "__transaction_state"
NOT_CREATED = "topics that the destination lacks are not created"
_STATE_LOG: tuple[Operation, ...] = ("DESCRIBE", "DESCRIBE_CONFIGS")
_OWN: Mapping[Operation, str] = {
    "CREATE": "it is not created where it is missing",
    "READ": "",
    "WRITE": "",
    "ALTER": "a larger number of shards cannot be set: the start fails",
    "DESCRIBE_CONFIGS": "",
}
"""What a mirror needs on its own topics, and what is lost without it."""

_OTHERS = "read the ledgers of other mirrors, to find routes that conflict with theirs"
_UNCOMPARED = (
    "mirrors in other processes that have the same routes, or form a loop with this one, are not found"
)
_WATCHING = "watch the replicas of the transaction log"
_UNWATCHED = "too few in-sync replicas of that topic are not named as the reason why nothing is committed"
_UNCHECKED = "a transaction timeout that the brokers reject is found only when the first transaction begins"
_NOT_GROWN = "partitions that the source topic gets later are not replicated: their place is missing"
_NO_SETTINGS = (
    "compacted topics are not known: records that a source lost are taken for compacted ones; verify fails"
)
_NO_LIMIT = "the largest batch that these topics accept is not known"
_NO_GROUP = "the consumer group on the source does not advance: tools that show its lag show a wrong one"

Name = tuple[str, bool]
"""A name, and whether it is the beginning of names."""


def source_permissions(mirror: MirrorSettings, alias: str) -> list[RequiredPermission]:
    """What the principal of a source needs; each node of a pool needs the same."""
    settings = mirror.for_source(alias)
    names = selected_names(settings.topics)
    configs = "read the settings of the source topics: for new topics, and compaction"
    needed = [
        *_on(names, "READ", "read the records of the source topics"),
        *_on(names, "DESCRIBE_CONFIGS", configs, "" if mirror.create_topics else _NO_SETTINGS),
    ]
    if mirror.source_group:
        group = Permission("group", settings.source_group_name, "READ")
        purpose = "commit offsets for lag monitoring (source_group = true)"
        needed.append(RequiredPermission(group, purpose, _NO_GROUP))
    needed.append(RequiredPermission(LEDGERS, _OTHERS, _UNCOMPARED))
    return needed


def destination_permissions(mirror: MirrorSettings) -> list[RequiredPermission]:
    """What the principal of the destination needs."""
    names = destination_names(mirror)
    needed = [
        *_on(names, "WRITE", "write the records"),
        *_on(names, "READ", "read back what was written: after failures, and for verify"),
        *_on(names, "DESCRIBE_CONFIGS", "read the settings of the destination topics"),
    ]
    if mirror.create_topics:
        needed += _on(names, "CREATE", "create missing topics (create_topics = true)", NOT_CREATED)
        growing = "add partitions when the source topic gets more (create_topics = true)"
        needed += _on(names, "ALTER", growing, _NOT_GROWN)
    if mirror.timings == "topic":
        needed += _timings_topics(mirror, names)
    needed += _own_topics(mirror)
    if mirror.delivery == "exactly-once":
        ids = Permission("transactional-id", f"causeway.{mirror.name}.", "WRITE", prefix=True)
        needed.append(RequiredPermission(ids, "write in transactions, one id for each shard"))
        for operation in _STATE_LOG:
            watched = on_topic(TRANSACTION_STATE, operation)
            needed.append(
                RequiredPermission(watched, "watch the replicas of the transaction log", _UNWATCHED)
            )
    brokers = "compare timeouts and sizes with the brokers' settings"
    needed.append(RequiredPermission(on_cluster("DESCRIBE_CONFIGS"), brokers, _UNCHECKED))
    needed.append(RequiredPermission(LEDGERS, _OTHERS, _UNCOMPARED))
    return needed


def _timings_topics(mirror: MirrorSettings, names: Sequence[Name]) -> Iterator[RequiredPermission]:
    """There is one for each destination topic."""
    topics = [(TOPIC_PREFIX + name, prefix) for name, prefix in names]
    yield from _on(topics, "WRITE", 'write timings (timings = "topic")')
    yield from _on(topics, "DESCRIBE_CONFIGS", "read the settings of the topics for timings", _NO_LIMIT)
    if mirror.create_topics:
        purpose = "create missing topics for timings (create_topics = true)"
        yield from _on(topics, "CREATE", purpose, NOT_CREATED)


def _own_topics(mirror: MirrorSettings) -> Iterator[RequiredPermission]:
    own = {
        ledger_topic(mirror.name): "the mirror's ledger: its positions",
        offset_map_topic(mirror.name): "the mirror's offset map",
    }
    for topic, purpose in own.items():
        for operation in _OWN:
            yield RequiredPermission(on_topic(topic, operation), purpose, _OWN[operation])
    if mirror.on_poison == "quarantine":
        for operation in ("CREATE", "READ", "WRITE"):
            quarantined = on_topic(quarantine_topic(mirror.name), operation)
            yield RequiredPermission(quarantined, "the mirror's quarantine", _OWN[operation])


def least(required: Iterable[RequiredPermission]) -> list[list[RequiredPermission]]:
    """Without those that others cover; grouped by what one line grants, required ones apart from optional."""
    wanted: dict[Permission, RequiredPermission] = {}
    for one in required:
        known = wanted.get(one.permission)
        if known is None or (known.without and not one.without):
            wanted[one.permission] = one
    groups: dict[object, list[RequiredPermission]] = {}
    for one in wanted.values():
        if not any(_makes_superfluous(other, one) for other in wanted.values() if other is not one):
            groups.setdefault((one.permission.pattern, bool(one.without)), []).append(one)
    return list(groups.values())


def _makes_superfluous(other: RequiredPermission, one: RequiredPermission) -> bool:
    """Whoever leaves out what is optional still needs what it covers."""
    return other.permission.covers(one.permission) and (not other.without or bool(one.without))


def selected_names(entries: Iterable[str]) -> list[Name]:
    """The names and beginnings of names that these entries of `topics` can select."""
    found: set[Name] = set()
    for entry in entries:
        found |= {(entry, False)} if is_name(entry) else literal_prefixes(entry)
    return _least(found)


def destination_names(mirror: MirrorSettings) -> list[Name]:
    """The same for the topics that the mirror writes to."""
    found: set[Name] = set()
    for alias in mirror.source:
        own = mirror.for_source(alias)
        renamed = select(own.rename, own.topics, own.exclude)
        found |= {(own.rename[name], False) for name in renamed}
        for name, prefix in selected_names(own.topics):
            if not prefix:
                found.add((destination_name(name, own.prefix, own.suffix, own.rename), False))
            elif name.startswith(own.prefix) or own.prefix.startswith(name):
                # A name that has the prefix already does not get it again.
                found.add((max(name, own.prefix, key=len), True))
            else:
                found.add((own.prefix + name, True))
    return _least(found)


def literal_prefixes(pattern: str) -> set[Name]:
    """What each match of a regular expression begins with, for each alternative; "" for anything."""
    alternatives = _alternatives(pattern)
    if len(alternatives) == 1:
        inner = _inner(pattern)
        if inner is None:
            return {_beginning(pattern)}
        alternatives = [inner]
    return set().union(*map(literal_prefixes, alternatives))


def _beginning(pattern: str) -> Name:
    """The literal characters at the beginning, and whether more may follow."""
    pattern = pattern.removeprefix("^")
    read = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and pattern[at + 1 : at + 2] in (".", "-", "_"):
            read, at = read + pattern[at + 1], at + 2
        elif re.fullmatch(r"[A-Za-z0-9_-]", char):
            read, at = read + char, at + 1
        else:
            optional = char in "*?{" and read
            return (read[:-1] if optional else read), True
    return read, False


def _alternatives(pattern: str) -> list[str]:
    """Split at each | that is in no group."""
    parts, depth, begin = [], 0, 0
    for at, char in _outside_classes(pattern):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            parts.append(pattern[begin:at])
            begin = at + 1
    return [*parts, pattern[begin:]]


def _inner(pattern: str) -> str | None:
    """The pattern in a group that is the whole pattern; None if there is none."""
    opening = re.match(r"\((\?:|(?!\?))", pattern)
    if opening is None:
        return None
    depth = 0
    for at, char in _outside_classes(pattern):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return pattern[opening.end() : at] if at == len(pattern) - 1 else None
    return None


def _outside_classes(pattern: str) -> Iterator[tuple[int, str]]:
    """The characters that are neither escaped nor in a character class, with their places."""
    opened = -1
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 2
            continue
        if opened < 0 and char == "[":
            opened = at + 1 + pattern.startswith("^", at + 1)
        elif opened >= 0:
            opened = -1 if char == "]" and at > opened else opened
        else:
            yield at, char
        at += 1


def _least(names: Iterable[Name]) -> list[Name]:
    """Leave out what another one covers."""
    wanted = set(names)
    prefixes = [name for name, prefix in wanted if prefix]
    return sorted(
        (name, prefix)
        for name, prefix in wanted
        if not any(name.startswith(other) and not (prefix and name == other) for other in prefixes)
    )


def _on(
    names: Sequence[Name], operation: Operation, purpose: str, without: str = ""
) -> Iterator[RequiredPermission]:
    for name, prefix in names:
        everything = prefix and not name
        permission = Permission("topic", name or "*", operation, prefix=prefix and not everything)
        yield RequiredPermission(permission, purpose, without)
