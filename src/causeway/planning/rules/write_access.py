"""Destination topics that the mirror's user may not write to: how that is known, and the finding.

A broker denies a write before anything is sent: the transaction fails, and no record reports why. The cluster
also reports a user's permissions for a topic, but not every broker does. So a partition stops only if a write
was denied, now or when it stopped last. The reported permissions let it go on, or name the topic if the
denial did not.
"""

from __future__ import annotations

from collections.abc import Collection

from causeway.rules.integrity import Finding


def is_denied(topic: str, writable: bool | None, denied: Collection[str], *, refused_before: bool) -> bool:
    """Whether a topic may not be written to; `denied` are the topics to which writes were denied.

    A denial that named no topic is in it as "".
    """
    if writable:
        return False  # the permission was granted since
    return topic in denied or (writable is False and (bool(denied) or refused_before))


def no_access(topic: str, alias: str, rights: str, offset: int) -> Finding:
    return Finding(
        "refused",
        f"topic {topic} on {alias} must not be written to: this user has no {rights} permission for it",
        f"grant it (kafka-acls.sh --add --allow-principal User:… --producer --topic {topic});"
        " the mirror goes on by itself, at the latest with the next slice",
        offset,
    )
