"""Claims of routes, step by step: when the other ledgers count as compared, and which of them are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.ledger_record import CONTROL, RouteClaim, encode
from causeway.core.route import ClusterTopic, Placement, Route
from causeway.core.task_order import ledger_topic
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied, Unreachable
from causeway.kafka import clients
from causeway.kafka.ledgers import OtherLedger, other_ledgers
from causeway.planning import route_conflicts
from causeway.planning.route_conflicts import refuse_claimed
from causeway.planning.routing import Neighbours
from causeway.planning.survey import Survey
from causeway.planning.topology import UNKNOWN
from causeway.replication import replanning
from causeway.replication.event_log import EventLog
from causeway.replication.replanning import Planner
from causeway.rules.ledger_state import LedgerState

Read = Callable[[Any, str, Collection[str], Collection[ClusterTopic]], list[OtherLedger]]
PARIS, ROME = (SimpleNamespace(cluster_id=lambda name=name: name) for name in ("paris", "rome"))
CLAIM = RouteClaim("paris", "orders", "orders", "id", provenance=False, settled=True, at=1)


class Mirror:
    """A mirror of one topic from paris to rome, with its ledger."""

    def __init__(self, name: str = "new") -> None:
        seen = SimpleNamespace(topics=["orders"], exclude=[], prefix="", suffix="", rename={})
        self.settings: Any = SimpleNamespace(name=name, provenance=False, for_source=lambda _alias: seen)
        self.name = name
        self.state = LedgerState()
        self.commits: list[list[RouteClaim]] = []
        self.warnings: list[str] = []
        self.on_write: Callable[[], None] = lambda: None
        self.on_wait: Callable[[], None] = lambda: None

    @property
    def claim(self) -> tuple[str, bool]:
        claim = self.state.claims[CLAIM.source]
        return claim.to_topic, claim.settled

    def write(self, claims: Sequence[RouteClaim]) -> None:
        self.commits.append(list(claims))
        for claim in claims:
            self.state.apply(CONTROL, claim)
        self.on_write()

    def survey(
        self, names: Collection[tuple[str, str]] = (), *, starting: bool = True, later: bool = False
    ) -> tuple[list[str], bool]:
        """Return the reasons for a refusal, and whether claims are left to compare."""
        result = Survey()
        topic = TopicFacts("orders", "there", 1, 1)
        result.routes = {("src", "orders"): Route("src", topic, "orders", Placement())}
        result.destinations = {"orders": TopicFacts("orders", "id", 1, 1)}
        views: Any = {"src": PARIS}
        rome: Any = ROME
        left = refuse_claimed(
            self.settings,
            result,
            views,
            rome,
            self.state,
            Neighbours(frozenset(names)),
            starting=starting,
            later=later,
            write=self.write,
            wait=lambda: self.on_wait(),
            warn=self.warnings.append,
        )
        return [refusal.why for refusal in result.refusals], left


def reads(monkeypatch: pytest.MonkeyPatch, read: Read) -> None:
    monkeypatch.setattr(route_conflicts, "other_ledgers", read)


def theirs(
    view: Any, _group: str, leave_out: Collection[str], _topics: Collection[ClusterTopic]
) -> list[OtherLedger]:
    """The ledger of mirror "old" on rome, which has the same route."""
    there = view is ROME and "old" not in leave_out
    return [OtherLedger("old", {CLAIM.source: CLAIM})] if there else []


def down(*_asked: Any) -> list[OtherLedger]:
    raise Unreachable("the ledgers of other mirrors cannot be read")


def unled(view: Any, *_asked: Any) -> list[OtherLedger]:
    return [OtherLedger("old", unread=True)] if view is ROME else []


@pytest.mark.parametrize("starting", [True, False])
@pytest.mark.parametrize("unread", [down, unled])
def test_ledgers_that_could_not_be_read_are_compared_later(
    monkeypatch: pytest.MonkeyPatch, unread: Read, starting: bool
) -> None:
    """At the next start, or under the running mirror: a claim is settled once every ledger was read."""
    mirror = Mirror()
    reads(monkeypatch, unread)

    assert mirror.survey() == ([], True)
    assert mirror.claim == ("orders", False)
    assert mirror.warnings
    assert mirror.survey(starting=False) == ([], True)
    assert len(mirror.commits) == 1, "a claim that the ledger has is not written again"

    reads(monkeypatch, theirs)
    (why,), left = mirror.survey(starting=starting)
    assert 'mirror "old" also replicates it to topic orders' in why
    assert (mirror.claim, left) == (("", False), False)


def test_a_claim_keeps_whether_its_topic_appeared_later(monkeypatch: pytest.MonkeyPatch) -> None:
    early, late, refused = Mirror(), Mirror(), Mirror()
    reads(monkeypatch, down)
    early.survey()
    early.survey(starting=False, later=True)
    assert not early.state.claims[CLAIM.source].later, "it has a first position"
    late.survey(starting=False, later=True)
    assert late.state.claims[CLAIM.source].later
    late.survey()
    assert late.state.claims[CLAIM.source].later, "a restart comes before the first position"
    reads(monkeypatch, theirs)
    refused.survey()
    refused.survey(starting=False, later=True)
    assert not refused.state.claims[CLAIM.source].later, "it existed at the start"
    reads(monkeypatch, lambda *_asked: [])
    refused.survey(starting=False, later=True)
    assert refused.state.claims[CLAIM.source].later, "it begins while the mirror runs"


@pytest.mark.parametrize("uncompared", [True, False])
def test_a_running_mirror_compares_again(monkeypatch: pytest.MonkeyPatch, uncompared: bool) -> None:
    """If no topic changed, and nothing is refused."""
    monkeypatch.setattr(replanning, "read_topology", lambda *_asked: UNKNOWN)
    plans: list[bool] = []
    setup: Any = SimpleNamespace(mirror=None, sources={}, destination=None, stop_at_end=False)
    planner: Any = Planner(setup, EventLog("m", lambda _mirror, _event: None))
    planner._uncompared = uncompared
    planner.make_plan = lambda _ledger, *, starting: plans.append(starting)
    assert not planner.changed(None, starting=False)
    assert plans == ([False] if uncompared else [])


def test_a_claim_that_was_compared_with_all_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = Mirror()
    reads(monkeypatch, lambda *_asked: [])
    assert mirror.survey() == ([], False)
    assert mirror.claim == ("orders", True)
    reads(monkeypatch, down)
    assert mirror.survey(starting=False) == ([], False), "nothing new: nothing is read"
    assert mirror.claim == ("orders", True)


def test_a_mirror_of_this_process_hides_no_ledger_on_another_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same name, and another destination."""
    reads(monkeypatch, theirs)
    (why,), _ = Mirror().survey({("tokyo", "old")})
    assert 'mirror "old"' in why
    assert Mirror().survey({("rome", "old")}) == ([], False), "its settings were compared"


@given(st.integers(0, 4), st.booleans())
def test_a_commit_may_be_visible_after_it_returned(when: int, early: bool) -> None:
    """Readers see a transaction once its markers are written, and a commit returns before that.

    Mirror B does everything at one moment of A's: at most one of the two may continue.
    """
    ledger: dict[str, dict[ClusterTopic, RouteClaim]] = {"A": {}, "B": {}}  # what readers see
    a, b = Mirror("A"), Mirror("B")
    continued: list[str] = []

    def show(mirror: Mirror) -> None:
        ledger[mirror.name] = dict(mirror.state.claims)

    def b_at(moment: int) -> None:
        if moment == when:
            why, _ = b.survey()
            continued.extend([] if why else ["B"])

    def read(view: Any, group: str, *_asked: Any) -> list[OtherLedger]:
        if view is not ROME:
            return []
        if "A" in group:
            b_at(2)
        return [OtherLedger(name, dict(ledger[name])) for name in "AB" if name not in group.split(".")]

    def a_waits() -> None:
        b_at(1)
        show(a)

    a.on_write = lambda: b_at(0) if len(a.commits) == 1 else show(a)
    a.on_wait = a_waits
    b.on_write = lambda: show(b) if early else None
    b.on_wait = lambda: show(b)
    with pytest.MonkeyPatch.context() as patch:
        reads(patch, read)
        b_at(3)
        why, _ = a.survey()
        continued.extend([] if why else ["A"])
        b_at(4)
    assert len(continued) <= 1, continued


class Message:
    def __init__(self, topic: str, value: tuple[bytes, bytes] | None, code: int = 0) -> None:
        self._topic, self._value = topic, value
        self._error = KafkaError(code) if code else None

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return CONTROL

    def offset(self) -> int:
        return 0

    def error(self) -> KafkaError | None:
        return self._error

    def key(self) -> bytes | None:
        return self._value[0] if self._value else None

    def value(self) -> bytes | None:
        return self._value[1] if self._value else None


class Guarded:
    """A cluster where the ledger of "secret" may be seen, and not be read."""

    def __init__(self, *, described: bool) -> None:
        self.described = described
        self.cluster = SimpleNamespace(alias="dst", bootstrap_servers="rome:9092")
        denied = Message(ledger_topic("secret"), None, KafkaError.TOPIC_AUTHORIZATION_FAILED)
        self.waiting = [*([denied, denied] if described else []), Message(ledger_topic("old"), encode(CLAIM))]

    def topic_names(self) -> list[str]:
        return [ledger_topic("old"), ledger_topic("secret")]

    def offsets(self, partitions: Collection[tuple[str, int]], _at: str) -> dict[tuple[str, int], int]:
        if not self.described and any(topic == ledger_topic("secret") for topic, _ in partitions):
            raise AccessDenied("asking for the stable offset: access denied", where="dst", why="no")
        return dict.fromkeys(partitions, 1)

    def describe(self, _names: Collection[str], **_how: Any) -> dict[str, TopicFacts]:
        return {}

    def poll(self, _seconds: float) -> Message | None:
        return self.waiting.pop(0) if self.waiting else None

    def consume(self, _most: int, _seconds: float) -> list[Message]:
        return []

    def list_topics(self, timeout: float) -> None: ...

    def assign(self, partitions: Collection[Any]) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("described", [True, False])
def test_a_ledger_that_may_not_be_read_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, described: bool
) -> None:
    view: Any = Guarded(described=described)
    monkeypatch.setattr(clients, "consumer", lambda *_asked, **_more: view)
    ledgers = {ledger.mirror: ledger for ledger in other_ledgers(view, "group", (), ())}
    assert ledgers["old"].claims == {CLAIM.source: CLAIM}
    assert (ledgers["old"].unread, ledgers["secret"].unread) == (False, True)
