"""Go MirrorMaker's `--timings.producer.config`, as the mirror's `timings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from causeway.compat import properties_file
from causeway.compat.go_mirrormaker.files import servers_of
from causeway.compat.translation import Translation

FLAG = "--timings.producer.config"


def timings(path: str, destination: str, translation: Translation) -> dict[str, Any]:
    """The mirror's keys; empty without the flag. `destination`: its brokers; empty where -X names them."""
    if not path:
        return {}
    file = properties_file.read(Path(path), "go", translation)
    where, servers = servers_of(file)
    if servers and destination and not _brokers(servers) & _brokers(destination):
        translation.problem(
            where,
            "timings are written in the transactions of their records, so to the brokers of"
            " --producer.config, and none of those is named here: name one, or leave the flag out",
        )
    for note in (
        'timings = "topic": for each transaction and partition one JSON record with times, offsets and counts'
        " goes to timings_<prefix><topic>, in the same transaction; MirrorMaker sent an Avro copy of each"
        " record there",
        "the records themselves do not change, and need be no Avro; MirrorMaker merged the fields of"
        " logline.avsc into their schemas, so that file is not read",
        "all times are milliseconds since the epoch; MirrorMaker's were seconds and nanoseconds",
        "a topic timings_… that MirrorMaker has written to gets JSON after its Avro: delete it before, or"
        " stop its readers",
        "other settings of its file have no effect: the records' producer writes timings, too",
    ):
        translation.note(FLAG, note)
    return {"timings": "topic"}


def _brokers(servers: str) -> set[str]:
    return {server.strip().lower() for server in servers.split(",")} - {""}
