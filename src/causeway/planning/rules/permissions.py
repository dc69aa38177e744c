"""The least permissions that a mirror needs on its clusters, from its settings alone.

A topic that is named needs a permission on this name. For a regular expression it is the text that every
match begins with: topics that appear later must be found too. READ, WRITE and ALTER imply DESCRIBE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from causeway.config import MirrorSettings
from causeway.core.permission import Operation, Permission, RequiredPermission, on_cluster, on_topic
from causeway.core.task_order import ledger_topic, offset_map_topic, quarantine_topic
from causeway.planning.rules.naming import destination_name
from causeway.planning.rules.selection import is_name, select
from causeway.rules.timings import TOPIC_PREFIX

LEDGERS = Permission("topic", "__causeway.", "READ", prefix=True)
TRANSACTION_STATE = "__transaction_state"

_OTHERS = "read the ledgers of other mirrors, to find routes that conflict with theirs"
_UNCOMPARED = (
    "mirrors in other processes that have the same routes, or form a loop with this one, are not found"
)
_UNWATCHED = "too few in-sync replicas of that topic are not named as the reason why nothing is committed"
_UNLIMITED = "the largest batch that these topics accept is not known"

Name = tuple[str, bool]
"""A name, and whether it is the beginning of names."""


def source_permissions(mirror: MirrorSettings, alias: str) -> list[RequiredPermission]:
    """What the principal of a source needs; each node of a pool needs the same."""
    settings = mirror.for_source(alias)
    names = selected_names(settings.topics)
    needed = [
        *_on(names, "READ", "read the records of the source topics"),
        *_on(
            names,
            "DESCRIBE_CONFIGS",
            "read the settings of the source topics: for new topics, and compaction",
        ),
    ]
    if mirror.source_group:
        group = Permission("group", settings.source_group_name, "READ")
        needed.append(RequiredPermission(group, "commit offsets for lag monitoring (source_group = true)"))
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
        needed += _on(names, "CREATE", "create missing topics (create_topics = true)")
        needed += _on(names, "ALTER", "add partitions when the source topic gets more (create_topics = true)")
    if mirror.timings == "topic":
        needed += _timings_permissions(mirror, names)
    own = [ledger_topic(mirror.name), offset_map_topic(mirror.name)]
    own += [quarantine_topic(mirror.name)] if mirror.on_poison == "quarantine" else []
    operations: tuple[Operation, ...] = ("CREATE", "READ", "WRITE", "ALTER", "DESCRIBE_CONFIGS")
    for topic in own:
        purpose = f"the mirror's own topic: {topic.rpartition('.')[2]}"
        needed += [RequiredPermission(on_topic(topic, operation), purpose) for operation in operations]
    if mirror.delivery == "exactly-once":
        ids = Permission("transactional-id", f"causeway.{mirror.name}.", "WRITE", prefix=True)
        needed.append(RequiredPermission(ids, "write in transactions, one id for each shard"))
        state = on_topic(TRANSACTION_STATE, "DESCRIBE_CONFIGS"), on_topic(TRANSACTION_STATE, "DESCRIBE")
        needed += [
            RequiredPermission(one, "watch the replicas of the transaction log", _UNWATCHED) for one in state
        ]
    needed.append(
        RequiredPermission(
            on_cluster("DESCRIBE_CONFIGS"),
            "compare timeouts and sizes with the brokers' settings",
            "a transaction timeout that the brokers reject is found only when the first transaction begins",
        )
    )
    needed.append(RequiredPermission(LEDGERS, _OTHERS, _UNCOMPARED))
    return needed


def _timings_permissions(mirror: MirrorSettings, names: Sequence[Name]) -> list[RequiredPermission]:
    """There is a topic for timings for each destination topic."""
    topics = [(TOPIC_PREFIX + name, prefix) for name, prefix in names]
    needed = [
        *_on(topics, "WRITE", 'write timings (timings = "topic")'),
        *_on(topics, "DESCRIBE_CONFIGS", "read the settings of the topics for timings", _UNLIMITED),
    ]
    if mirror.create_topics:
        needed += _on(topics, "CREATE", "create missing topics for timings (create_topics = true)")
    return needed


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
    read = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern) and not pattern[at + 1].isalnum():
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
) -> list[RequiredPermission]:
    return [
        RequiredPermission(
            Permission("topic", name, operation, prefix=True) if prefix and name
            else on_topic(name if name else "*", operation),
            purpose,
            without,
        )
        for name, prefix in names
    ]  # fmt: skip
