"""The ids of schemas in consumed records: known ones are replaced, a record with another one must wait.

The ledger has the map from ids to ids. The driver writes what it lacks, after it has asked the registries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from causeway.core.position import SourcePartition
from causeway.core.schema import Part, SchemaId, SchemaUse
from causeway.core.task_order import SchemaPolicy
from causeway.kafka.partition_state import PartitionState, PartitionStates
from causeway.rules.ledger_state import LedgerState
from causeway.rules.schema_ids import NamedSchema, Parts, named_schemas, rewritten, unknown_schema

UNCHANGED, REFUSED = 0, -1
"""In the place of an id: the record keeps what it has, or must not be produced."""


class SchemaIds:
    def __init__(self, policy: SchemaPolicy, lease: int) -> None:
        self._policy = policy
        self._lease = lease
        self.changes = -1  # of the ledger, when it was read last
        self.known: dict[SchemaUse, int] = {}

    def learn(self, ledger: LedgerState) -> bool:
        """Take over what the ledger maps; returns whether that has changed."""
        if ledger.schema_changes == self.changes:
            return False
        self.changes = ledger.schema_changes
        unknown = UNCHANGED if self._policy.unknown == "pass" else REFUSED
        self.known = {
            use: unknown
            if to_id is None
            else UNCHANGED
            if to_id == use.id or isinstance(use.id, str)
            else to_id
            for use, to_id in ledger.schemas_known(self._lease).items()
        }
        return True

    def knows(self, uses: Iterable[SchemaUse]) -> bool:
        return all(use in self.known for use in uses)

    def parts_of(self, source: SourcePartition) -> tuple[Part, ...]:
        """The parts of this topic's records that name schemas."""
        return self._policy.parts_of(source.topic)

    def may_pass(self, state: PartitionState, message: Any) -> bool:
        """Whether everything that a record names is known. If not, the partition gets a barrier at it."""
        source, offset = state.lane.source, message.offset()
        named = self._named(source, message)
        missing = []
        for schema in named:
            use = _use(source, schema.part, schema.id)
            target = self.known.get(use)
            if target is None:
                missing.append(use)
            elif target == REFUSED:
                state.add_poison(offset, unknown_schema(source, offset, schema))
                return False
        if missing:
            state.need_schemas(offset, tuple(missing))
        return not missing

    def rewrite(self, messages: Sequence[Any], states: PartitionStates) -> None:
        """Replace ids in the records that will be produced. Those in quarantine keep theirs."""
        for message in messages:
            state = states.get((message.topic(), message.partition()))
            offset = message.offset()
            if (
                state is None
                or state.finding is not None
                or not state.next <= offset < state.schemas_needed_at
                or offset in state.poison
                or not self.may_pass(state, message)
            ):
                continue
            for schema in self._named(state.lane.source, message):
                to = self.known[_use(state.lane.source, schema.part, schema.id)]
                if to != UNCHANGED:
                    parts = Parts(message.key(), message.value(), message.headers())
                    message.replace(*rewritten(parts, schema, to))

    def _named(self, source: SourcePartition, message: Any) -> list[NamedSchema]:
        parts = self._policy.parts_of(source.topic)
        if not parts or message.unreadable:  # without its headers no record is replicated
            return []
        return named_schemas(Parts(message.key(), message.value(), message.headers()), parts)


def _use(source: SourcePartition, part: Part, schema_id: SchemaId) -> SchemaUse:
    return SchemaUse(source.cluster, source.topic, part, schema_id)
