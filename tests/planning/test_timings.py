"""Topics for timings: which exist, are created, left out or refused. The clusters are fakes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from causeway.config import MirrorSettings
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.planning.plan import plan_of, prepare
from causeway.planning.routing import routes
from causeway.planning.survey import Survey, survey
from causeway.planning.topology import read_topology
from causeway.rules.ledger_state import LedgerState
from causeway.rules.positions import first

WEEK_MS = "604800000"


class View:
    """A cluster with these topics. Creating a topic of `rejected` fails; `denied` may not be described."""

    def __init__(
        self,
        cluster_id: str,
        *topics: str,
        brokers: int = 1,
        denied: Iterable[str] = (),
        **rejected: Exception,
    ) -> None:
        self._id = cluster_id
        self.topics = {name: TopicFacts(name, f"id-{name}", 2, 1) for name in topics}
        self.created: dict[str, tuple[int, int, dict[str, str]]] = {}
        self._brokers = brokers
        self._denied = set(denied)
        self._rejected = rejected
        self.cluster = cast(Any, type("C", (), {"alias": cluster_id}))

    def cluster_id(self) -> str:
        return self._id

    def topic_names(self) -> list[str]:
        return sorted(self.topics)

    def describe(
        self, names: Iterable[str], *, denied: set[str] | None = None, **_how: Any
    ) -> dict[str, TopicFacts]:
        if denied is not None:
            denied |= self._denied & set(names)
        return {name: self.topics[name] for name in names if name in self.topics}

    def configs(self, names: Iterable[str], **_how: Any) -> dict[str, dict[str, str]]:
        return {name: {"max.message.bytes": "70000"} for name in names if name in self.topics}

    def topic_settings(self) -> frozenset[str]:
        return frozenset()

    def brokers(self) -> int:
        return self._brokers

    def all_offsets(self, spots: Iterable[Any], _at: str) -> dict[Any, int]:
        return dict.fromkeys(spots, 0)

    def create_topic(self, name: str, partitions: int, replication: int, config: Any) -> bool:
        if name in self._rejected:
            raise self._rejected[name]
        self.created[name] = (partitions, replication, dict(config))
        self.topics[name] = TopicFacts(name, f"id-{name}", partitions, replication)
        return True


def mirror(**more: Any) -> MirrorSettings:
    given = {"name": "m", "source": "src", "destination": "dst", "topics": [".*"], "timings": "topic"}
    return MirrorSettings.model_validate(given | more)


def surveyed(there: View, here: View | None = None, image: LedgerState | None = None, **more: Any) -> Survey:
    source = cast(Any, here or View("s", "orders"))
    return survey(mirror(**more), {"src": source}, cast(Any, there), image or LedgerState())


def prepared(there: View, **more: Any) -> tuple[Survey, list[str]]:
    result = surveyed(there, **more)
    return result, [facts.name for facts in prepare(result, cast(ClusterView, there))]


def test_a_missing_topic_for_timings_is_created_with_the_destination_topic() -> None:
    there = View("d", brokers=3)
    result, created = prepared(there)
    assert created == ["orders", "timings_orders"]
    assert there.created["timings_orders"] == (
        1, 3, {
            "cleanup.policy": "delete", "retention.ms": WEEK_MS,
            "message.timestamp.type": "CreateTime", "min.insync.replicas": "2",
        },
    )  # fmt: skip
    plan = plan_of(result, {"src": cast(Any, View("s", "orders"))})
    assert plan.timings == {"timings_orders"}


def test_an_existing_one_is_used_as_it_is_and_limits_the_batches() -> None:
    there = View("d", "orders", "timings_orders")
    result, created = prepared(there)
    assert (created, result.refusals) == ([], [])
    assert result.batch_limits["timings_orders"] == 70_000


def test_without_timings_nothing_is_surveyed() -> None:
    result, created = prepared(View("d"), timings="off")
    assert (created, result.timings.topics) == (["orders"], set())


def begun(name: str = "orders") -> LedgerState:
    """A ledger with the position of a topic's first partition."""
    image = LedgerState()
    source, there = cast(Any, View("s", name)), View("d", name)
    (lane, _) = plan_of(surveyed(there, timings="off"), {"src": source}).lanes
    image.apply(1, replace(first(lane, 0, 0, 1, 1, 0), offset=5))
    return image


def test_where_it_cannot_be_used_new_topics_are_refused_and_others_go_on_without_timings() -> None:
    refused = PlanRefused("a policy forbids it")
    cases: list[tuple[View, dict[str, Any], str]] = [
        (View("d", "orders", timings_orders=refused), {}, "a policy forbids it"),
        (View("d", "orders", timings_orders=AccessDenied("no CREATE")), {}, "no CREATE"),
        (View("d", "orders"), {"create_topics": False}, "create_topics is false"),
        (View("d", "orders", denied=["timings_orders"]), {}, "no DESCRIBE permission"),
    ]
    for there, more, why in cases:
        result, _ = prepared(there, **more)
        (refusal,) = result.refusals
        assert why in refusal.why, why
        assert refusal.topic == "orders"
        assert refusal.denied == (why.startswith("no "))
        assert not result.routes
        result, _ = prepared(there, image=begun(), **more)
        assert (list(result.routes), result.refusals) == ([("src", "orders")], [])
        (warning,) = result.warnings
        assert "src:orders is replicated without timings" in warning
        assert why in warning


def test_a_route_to_a_topic_for_timings_is_refused() -> None:
    result = surveyed(View("d"), View("s", "orders", "timings_orders"))
    (refusal,) = result.refusals
    assert refusal.topic == "timings_orders"
    assert "the one for the timings of topic orders" in refusal.why
    assert list(result.routes) == [("src", "orders")]
    assert not surveyed(View("d"), View("s", "orders", "timings_orders"), timings="off").refusals


def test_inside_one_cluster_a_pattern_does_not_select_the_mirrors_own_timings() -> None:
    """Otherwise each record of timings would be replicated, and cause another one."""
    one = View("c", "orders", "copy-orders", "timings_copy-orders", "timings_other")
    views = {"src": cast(ClusterView, one)}

    def selected(**more: Any) -> set[str]:
        return {name for _, name in routes(mirror(prefix="copy-", **more), views, cast(ClusterView, one))}

    assert selected() == {"orders", "timings_other"}
    assert selected(timings="off") == {"orders", "timings_copy-orders", "timings_other"}
    assert selected(topics=["orders", "timings_copy-orders"]) == {"orders", "timings_copy-orders"}


def test_a_topic_for_timings_that_was_deleted_is_noticed() -> None:
    there = View("d", "orders", "timings_orders")
    views = {"src": cast(ClusterView, View("s", "orders"))}
    for timestamps in ("preserve", "broker"):
        before = read_topology(mirror(timestamps=timestamps), views, cast(ClusterView, there))
        facts = there.topics.pop("timings_orders")
        after = read_topology(mirror(timestamps=timestamps), views, cast(ClusterView, there), before)
        assert before != after
        there.topics["timings_orders"] = facts
        assert read_topology(mirror(timestamps=timestamps), views, cast(ClusterView, there), after) == before
