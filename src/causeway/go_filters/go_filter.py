"""A Go plugin as a filter: asks its process, and starts it again when it dies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from causeway.errors import ConfigError
from causeway.go_filters.host_process import LOADED, NO_FILTER, NOT_MADE, HostDied, HostProcess
from causeway.go_filters.plugin_file import plugin_and_host
from causeway.go_filters.toolchain import PAGE_COMMAND, cannot_load

STARTS = 3
"""A process that is killed while it loads the plugin is started again, so many times in all."""

BATCH_BYTES = 8 * 1024 * 1024
"""Of values in one request: both sides hold them."""


class GoFilter:
    """Raises ConfigError if the plugin cannot be loaded, or refuses its configuration."""

    def __init__(self, path: str, plugin_id: str, digest: str, config: Mapping[str, Any]) -> None:
        self._path = path
        self._id = plugin_id
        self._config = json.dumps(config, ensure_ascii=False).encode()
        self._plugin, self._host = plugin_and_host(path, digest)
        self._process = self._started()

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.close()

    def judge(self, values: Sequence[bytes | None]) -> list[bool | str]:
        """For each value whether the plugin allows it or, as text, why it gave no answer.

        A process that dies is started again and asked again, so a kill from outside changes nothing. If it
        dies again, each value is asked for alone: a value at which it dies twice gets the text.
        """
        verdicts: list[bool | str] = []
        for batch in _batches(values):
            try:
                verdicts += self._asked(batch)
            except HostDied:
                verdicts += [self._judge_one(value) for value in batch]
        return verdicts

    def _judge_one(self, value: bytes | None) -> bool | str:
        try:
            return self._asked([value])[0]
        except HostDied as error:
            return str(error)

    def _asked(self, values: Sequence[bytes | None]) -> list[bool | str]:
        try:
            return self._process.ask(values)
        except HostDied:
            self._start_again()
        try:
            return self._process.ask(values)
        except HostDied:
            self._start_again()
            raise

    def _start_again(self) -> None:
        self._process.close()
        self._process = self._started()

    def _started(self) -> HostProcess:
        process = self._load()
        if process.status == LOADED and process.text == self._id:
            return process
        process.close()
        raise self._refused(process)

    def _load(self) -> HostProcess:
        for remaining in reversed(range(STARTS)):
            try:
                return HostProcess(self._host, self._plugin, self._config)
            except HostDied as error:
                if not remaining:
                    raise cannot_load(self._path, str(error), "correct the plugin") from None
            except OSError as error:
                raise cannot_load(
                    self._path,
                    f"{self._host} cannot be started: {error.strerror or error}",
                    "set CAUSEWAY_CACHE to a directory whose files can be executed",
                ) from None
        raise AssertionError("unreachable")

    def _refused(self, process: HostProcess) -> ConfigError:
        if process.status == LOADED:
            return cannot_load(
                self._path,
                f'its ID is "{process.text}", not "{self._id}"',
                f"the file's name is the ID: rename the file, or write {self._path}:{process.text}",
            )
        if process.status == NOT_MADE:
            return cannot_load(
                self._path,
                f"New: {process.text}",
                "it gets the JSON of the filter's config table, on the driver and where the shards run",
            )
        if process.status == NO_FILTER:
            return cannot_load(self._path, process.text, "see the page on filters")
        return cannot_load(
            self._path,
            process.text,
            f"build it again with the `go` that is on the PATH here: {PAGE_COMMAND}",
        )


def _batches(values: Sequence[bytes | None]) -> Iterator[Sequence[bytes | None]]:
    begin = size = 0
    for at, value in enumerate(values):
        length = len(value or b"")
        if size and size + length > BATCH_BYTES:
            yield values[begin:at]
            begin, size = at, 0
        size += length
    if begin < len(values):
        yield values[begin:]
