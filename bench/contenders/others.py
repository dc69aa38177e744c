"""Other programs that replicate topics, described in a file:

    [[contenders]]
    name = "my-relay"
    title = "My relay, at least once"                 # the name, if left out
    command = ["my-relay", "--config", "{directory}/relay.toml"]
    topic = "{topic}"                                 # the destination topic; this is the default
    keeps_all = false                                 # timestamps or headers change: they are not compared
    [contenders.files]                                # written before the start; optional
    "relay.toml" = '''
    from = "{source}"
    to = "{destination}"
    topic = "{topic}"
    '''

{source} and {destination} are servers; {topic}, {partitions}, {compression}, {directory} and {name} (unique
for each run: for groups and the like) are available too. A program runs until SIGTERM, and its records must
arrive in the partitions of the source: a run whose content differs is void. kaf-relay.toml is such a file.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.child import Child, Failed
from bench.contenders.job import Job

_KEYS = {"name", "title", "command", "topic", "keeps_all", "files"}


@dataclass(frozen=True)
class Other:
    name: str
    command: tuple[str, ...]
    title: str = ""
    topic: str = "{topic}"
    keeps_all: bool = True
    files: Mapping[str, str] = field(default_factory=dict)

    def settings(self, job: Job) -> dict[str, str]:
        compared = {} if self.keeps_all else {"compared": "keys and values, not timestamps and headers"}
        files = {name: text.strip() for name, text in self.files.items()}
        return {"command": " ".join(self.command), **compared, **files}

    def start(self, job: Job) -> Child:
        if len(job.topics) != 1:
            raise Failed(f"{self.name} replicates only one topic")
        places = placeholders(job)
        job.directory.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (job.directory / name).write_text(filled(text, places))
        return Child([filled(word, places) for word in self.command], job.directory)

    def arrives_in(self, topic: str) -> str:
        return filled(self.topic, {"topic": topic})

    def workers(self, child: Child) -> Sequence[int]:
        return []


def read(path: Path) -> list[Other]:
    """Read the file. Raises ValueError if it is invalid."""
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return [_other(path, table) for table in document.get("contenders", [])]


def installed(other: Other) -> bool:
    return shutil.which(other.command[0]) is not None


def placeholders(job: Job) -> dict[str, str]:
    return {
        "source": job.source, "destination": job.destination, "topic": job.topics[0],
        "partitions": str(job.partitions), "compression": job.compression,
        "directory": str(job.directory), "name": job.name,
    }  # fmt: skip


def filled(text: str, places: Mapping[str, str]) -> str:
    """Replace known names in braces; other braces belong to the program."""
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _other(path: Path, table: dict[str, Any]) -> Other:
    unknown, missing = sorted(table.keys() - _KEYS), sorted({"name", "command"} - table.keys())
    if unknown or missing:
        wrong = [f"unknown: {', '.join(unknown)}"] if unknown else []
        wrong += [f"missing: {', '.join(missing)}"] if missing else []
        raise ValueError(f"{path}: a contender's keys are wrong; {'; '.join(wrong)}")
    return Other(
        name=table["name"],
        command=tuple(table["command"]),
        title=table.get("title", table["name"]),
        topic=table.get("topic", "{topic}"),
        keeps_all=table.get("keeps_all", True),
        files=table.get("files", {}),
    )
