"""What a mirror reports about partitions: in its ledger, in its quarantine, and by its exit code."""

from __future__ import annotations

from faults.content import Content
from faults.events import Exited, Seen, Verdict
from faults.history import Journal
from faults.mirrors import CausewayMirror
from faults.reader import drain
from faults.scenario import Scenario
from faults.verdicts import Verdicts

Named = tuple[str, int, int, int]
"""Verdict, expected, found, gone: why a partition is stopped."""


class MirrorReports:
    def __init__(self, scenario: Scenario, mirror: CausewayMirror) -> None:
        self.scenario, self.mirror = scenario, mirror
        self.verdicts = Verdicts(scenario.servers["destination"], mirror.name)
        self.quarantined: dict[tuple[int, int], Content] = {}  # what is in the quarantine

    def reported(self, verdict: str, suffix: str, partition: int) -> list[Verdict]:
        """The ledger's distinct verdicts about a partition."""
        self.verdicts.note(self.scenario.journal)
        found = {
            (one.action, one.expected, one.found): one
            for one in self.scenario.journal.history().of(Verdict)
            if (one.verdict, one.topic, one.partition) == (verdict, self.scenario.topic(suffix), partition)
        }
        return list(found.values())

    def resumed(self, suffix: str, partition: int) -> bool:
        """Whether a partition's last verdict is that it resumed: each run tries, and may stop again."""
        self.verdicts.note(self.scenario.journal)
        topic = self.scenario.topic(suffix)
        words = [
            one.verdict
            for one in self.scenario.journal.history().of(Verdict)
            if (one.topic, one.partition) == (topic, partition)
        ]
        return words[-1:] == ["resumed"]

    def reported_for_all(self, suffix: str, policy: str, partitions: int = 0) -> bool:
        """Whether each partition has a verdict, with the action that the policy asks for."""
        self.verdicts.note(self.scenario.journal)
        topic, action = self.scenario.topic(suffix), "stop" if policy == "stop" else "continue"
        said = {
            one.partition
            for one in self.scenario.journal.history().of(Verdict)
            if (one.topic, one.action) == (topic, action)
        }
        return said >= set(range(partitions or self.scenario.topics[topic]))

    def until_set_aside(self, wanted: set[tuple[int, int]], suffix: str = "u") -> None:
        """Wait until these (partition, offset) of a topic are in the quarantine, and nothing else is."""

        def there() -> bool:
            for verdict, original in self.verdicts.note_quarantine(self.scenario.journal):
                key = (verdict.partition, verdict.expected)
                assert key not in self.quarantined, f"{key} is twice in the quarantine"
                self.quarantined[key] = original
            return self.quarantined.keys() >= wanted

        self.scenario.until(there, f"{sorted(wanted)} are in the quarantine")
        assert self.quarantined.keys() == wanted

    def gaps(self) -> set[tuple[str, int, str, int, int]]:
        """All gaps in the ledger: suffix, partition, verdict, begin, end."""
        return {
            (one.topic.rpartition(".")[2], one.partition, one.verdict, one.begin, one.end)
            for one in self.mirror.ledger().gaps.values()
        }

    def run_to_end(self, code: int) -> dict[tuple[str, int], Named]:
        """Run with --stop-at-end, expect this exit code, and return why each stopped partition is stopped."""
        run = self.mirror.start("--stop-at-end")
        found = run.wait()
        self.scenario.journal.add(Exited(self.scenario.journal.now(), "run --stop-at-end", found))
        assert found == code, run.output
        self.verdicts.note(self.scenario.journal)
        return {
            (source.topic.rpartition(".")[2], source.partition): (
                one.verdict, one.expected, one.found, one.gone,
            )
            for source, one in self.mirror.ledger().stopped.items()
        }  # fmt: skip

    def stop_then_run_to_end(self, code: int) -> dict[tuple[str, int], Named]:
        """A stop by signal exits with 0, also with stopped partitions; --stop-at-end does not."""
        self.scenario.quiet()
        assert self.mirror.stop() == 0, self.mirror.output
        return self.run_to_end(code)

    def nothing_arrived_since(self) -> bool:
        """Whether the destination holds exactly what it held when everything was replicated."""
        seen = [one for one in self.scenario.journal.history().of(Seen) if one.side == "destination"]
        before = {(one.topic, one.partition, one.offset): one.token for one in seen}
        journal = Journal(self.scenario.directory / "afterwards.jsonl")
        with journal:
            for topic in self.scenario.topics:
                name = self.mirror.named(topic)
                drain(self.scenario.servers["destination"], name, "destination", journal)
            after = {(one.topic, one.partition, one.offset): one.token for one in journal.history().of(Seen)}
        return after == before
