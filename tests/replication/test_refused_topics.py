"""A topic that the destination does not create: it is refused, and the others continue."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import NewTopic

from causeway.core.cluster import Cluster
from causeway.core.plan import Refusal
from causeway.core.route import Route
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied, CausewayError, PlanRefused, Unreachable
from causeway.kafka.failures import as_user_error
from causeway.planning.plan import plan_of, prepare
from causeway.planning.rules.topics import Create, Grow
from causeway.planning.survey import Survey
from causeway.replication.start_checks import refuse_at_start
from support.world import World


def test_a_topic_that_cannot_be_created_does_not_prevent_others(world: World) -> None:
    """Kafka rejects x.y beside x_y. While the mirror runs; and at a start, which is refused."""
    first = world.topic("a")
    world.produce(first, world.numbers(10))
    taken = NewTopic(world.name("x_y"), 1, 1)
    world.admin("destination").create_topics([taken])[taken.topic].result()
    config = world.config(create_topics=True)
    run = world.run(config)
    run.until(lambda: world.carried() == 10, "the first topic is mirrored")
    refused = world.topic("x.y")
    world.produce(refused, world.numbers(10))
    run.until(lambda: "the cluster rejects it" in run.output, "the refusal is logged")
    later = world.topic("z")  # its name comes after the refused one
    world.produce(later, world.numbers(20))
    world.produce(first, world.numbers(10, 1, 10))

    run.until(lambda: world.carried() == 40, "the topics that came later are mirrored")

    assert run.stop() == 0, run.output
    world.assert_mirrored(first, later)
    again = world.run(config)
    assert again.wait() == 3, again.output
    assert f"src:{refused}: creating topic {refused}: the cluster rejects it" in again.output
    assert "check the network" not in again.output
    assert "rename" in again.output


class There:
    """A destination that refuses some topics."""

    def __init__(self, *refused: str, error: CausewayError) -> None:
        self.refused = refused
        self.error = error

    def create_topic(self, name: str, *_how: Any) -> bool:
        if name in self.refused:
            raise self.error
        return True

    def grow_topic(self, name: str, _partitions: int) -> None:
        self.create_topic(name)

    def describe(self, names: list[str], **_how: Any) -> dict[str, TopicFacts]:
        return {name: TopicFacts(name, f"id-{name}", 3, 1) for name in names}


class Here:
    def cluster_id(self) -> str:
        return "here"


REFUSED = PlanRefused("creating topic b: the cluster rejects it", why="a policy", todo="change it")


def survey_with(**actions: Create | Grow) -> Survey:
    """Topics of three partitions; the destination has two of each that has to grow."""
    survey = Survey(actions=dict(actions))
    for name, action in actions.items():
        survey.routes["src", name] = Route("src", TopicFacts(name, f"src-{name}", 3, 1), name)
        if isinstance(action, Grow):
            survey.destinations[name] = TopicFacts(name, f"id-{name}", 2, 1)
    return survey


def create() -> Create:
    return Create(3, 1, {"max.message.bytes": "1000"})


def partitions(survey: Survey) -> dict[str, int]:
    here: Any = {"src": Here()}
    lanes = plan_of(survey, here).lanes
    return {name: sum(lane.place.topic == name for lane in lanes) for name in "abc"}


def test_the_topics_after_a_refused_one_are_created() -> None:
    survey, there = survey_with(a=create(), b=create(), c=create()), There("b", error=REFUSED)
    view: Any = there
    assert [facts.name for facts in prepare(survey, view)] == ["a", "c"]
    assert survey.refusals == [
        Refusal("src", "b", "creating topic b: the cluster rejects it: a policy", "change it")
    ]
    assert partitions(survey) == {"a": 3, "b": 0, "c": 3}


def test_a_topic_that_cannot_grow_keeps_the_places_it_has() -> None:
    survey = survey_with(a=Grow(3), b=Grow(3), c=create())
    view: Any = There("b", error=AccessDenied("adding partitions to topic b: access denied"))
    assert [facts.name for facts in prepare(survey, view)] == ["c"]
    assert partitions(survey) == {"a": 3, "b": 2, "c": 3}
    (refusal,) = survey.refusals
    assert refusal.denied
    with pytest.raises(AccessDenied, match="adding partitions to topic b"):
        refuse_at_start("m", survey.refusals)


def test_topics_that_were_created_before_an_outage_are_known() -> None:
    view: Any = There("b", error=Unreachable("no response"))
    made: list[TopicFacts] = []
    with pytest.raises(Unreachable):
        made.extend(prepare(survey_with(a=create(), b=create(), c=create()), view))
    assert [facts.name for facts in made] == ["a"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.TOPIC_EXCEPTION, PlanRefused),
        (KafkaError.POLICY_VIOLATION, PlanRefused),
        (KafkaError.INVALID_REPLICATION_FACTOR, PlanRefused),
        (KafkaError.INVALID_CONFIG, PlanRefused),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AccessDenied),
        (KafkaError.THROTTLING_QUOTA_EXCEEDED, Unreachable),
        (KafkaError._TIMED_OUT, Unreachable),
    ],
)
def test_a_cluster_that_rejects_a_request_is_not_unreachable(code: int, kind: type[CausewayError]) -> None:
    error = as_user_error(
        KafkaError(code, "the broker's message"),
        Cluster("dst", {"bootstrap.servers": "tokyo:9092"}),
        "creating topic t",
    )
    assert type(error) is kind
    assert error.why == "the broker's message"
    assert ("no response" in error.what) == (code == KafkaError._TIMED_OUT)
    assert ("network" in error.todo) == (code == KafkaError._TIMED_OUT)
