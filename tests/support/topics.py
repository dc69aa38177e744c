"""Topics that a test deletes."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient

from support.process import eventually


def delete_topic(admin: AdminClient, name: str) -> None:
    """Delete it and wait until its cluster does not know it any more: the response comes before that."""
    admin.delete_topics([name])[name].result()
    eventually(lambda: name not in admin.list_topics(timeout=10).topics, f"{name} is gone")
