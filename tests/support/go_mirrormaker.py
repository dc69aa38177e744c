"""Go MirrorMaker's flags and the two files that its page needs, in the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.compat.go_mirrormaker.command import read_flags, translate
from causeway.compat.translation import Translation
from causeway.config import MirrorSettings, Settings
from causeway.errors import ConfigError, UsageError

FILES = ("--consumer.config=c.config", "--producer.config=p.config")


def write_files() -> None:
    write("c.config", "bootstrap.servers=paris:9092\ngroup.id=mm\n")
    write("p.config", "metadata.broker.list=tokyo-1:9092,tokyo-2:9092\n")


def write(name: str, text: str) -> None:
    Path(name).write_text(text)


def translated(*arguments: str, topics: str = "--whitelist=.*") -> Translation:
    flags = ["--consumer.config", "c.config", "--producer.config", "p.config", topics, *arguments]
    return translate(read_flags(flags, run=True))


def settings(*arguments: str, topics: str = "--whitelist=.*") -> Settings:
    return translated(*arguments, topics=topics).settings([], Path())


def mirror(*arguments: str, topics: str = "--whitelist=.*") -> MirrorSettings:
    (settings_of_mirror,) = settings(*arguments, topics=topics).mirrors
    return settings_of_mirror


def problems(*arguments: str, topics: str = "--whitelist=.*") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(*arguments, topics=topics)
    assert caught.value.exit_code == 3
    return list(caught.value.problems)


def refused(*arguments: str) -> str:
    with pytest.raises(UsageError) as caught:
        read_flags(list(arguments), run=True)
    return caught.value.what
