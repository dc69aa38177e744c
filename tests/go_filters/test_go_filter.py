"""A Go plugin as a filter: what it is asked, and what its panics, exits and kills become."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from causeway.core.choices import OnError
from causeway.core.filtering import FilterRecord, FilterSpec
from causeway.errors import ConfigError
from causeway.go_filters import go_filter
from causeway.go_filters.plugin_file import digest_of
from causeway.planning.filters import MadeFilter, make
from causeway.replication.worker.record_filter import RecordFilter
from support.go_plugins import PAGE, SHOPS, build, filter_of
from support.process import eventually


def made(plugin: Path, config: dict[str, object], on_error: OnError = "stop") -> MadeFilter:
    name = f"{plugin}:{plugin.stem}"
    return make(FilterSpec(name, config, on_error, digest=digest_of(plugin.read_bytes())))


def record(value: bytes | None) -> FilterRecord:
    return FilterRecord("t", 0, 0, 0, b"key", value, ())


def test_the_pages_sample_built_with_the_pages_command_drops_everything(sample: Path) -> None:
    plugin = made(sample, {})
    assert plugin.judge([record(value) for value in (b"a", b"", None)]) == [False] * 3
    plugin.close()


def test_the_configuration_arrives_as_json(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "Zürich")
    config: dict[str, object] = {"a": [1, 2.5, True], "b": {"c": "${env:WHERE}", "d": "$${x}"}}
    plugin = made(probe, config)
    resolved = json.dumps({"a": [1, 2.5, True], "b": {"c": "Zürich", "d": "${x}"}}, ensure_ascii=False)
    values = [f"configuration:{resolved}".encode(), b"configuration:{}"]
    assert plugin.judge([record(value) for value in values]) == [True, False]
    plugin.close()


@pytest.mark.parametrize("config", [{}, {"null": 1}, {"empty": 1}])
def test_null_is_nil_and_empty_is_not(probe: Path, config: dict[str, object]) -> None:
    plugin = filter_of(probe, config)
    assert plugin.judge([None, b"", b"x"]) == ["null" in config, "empty" in config, True]
    assert plugin.judge([None]) == ["null" in config]
    assert plugin.judge([]) == []
    plugin.close()


def test_large_values_and_large_batches(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = filter_of(probe)
    large = [(b"drop:" if n % 3 else b"keep:").ljust(1_000_000, b"x") for n in range(20)]
    assert plugin.judge(large) == [n % 3 == 0 for n in range(20)]
    many = [b"drop" if n % 7 == 0 else None if n % 5 == 0 else b"%d" % n for n in range(100_000)]
    wanted = [n % 7 != 0 and n % 5 != 0 for n in range(100_000)]
    assert plugin.judge(many) == wanted
    monkeypatch.setattr(go_filter, "BATCH_BYTES", 10)
    assert plugin.judge(many[:100]) == wanted[:100]
    plugin.close()


def test_a_plugin_may_keep_values(probe: Path) -> None:
    plugin = filter_of(probe)
    assert plugin.judge([b"kept for later"]) == [True]
    assert plugin.judge([b"as before"]) == [True]
    plugin.close()


def test_a_plugin_that_appends_to_a_value_does_not_write_into_the_next(probe: Path) -> None:
    plugin = filter_of(probe)
    assert plugin.judge([b"append", b"drop", b"drop"]) == [True, False, False]
    plugin.close()


def test_what_it_prints_disturbs_nothing(probe: Path) -> None:
    plugin = filter_of(probe)
    assert plugin.judge([b"drop", b"print", b"print", b"drop"]) == [False, True, True, False]
    plugin.close()


def test_a_panic_concerns_its_record_alone(probe: Path) -> None:
    """The text names the reason and the line of the plugin's source."""
    plugin = filter_of(probe)
    process = plugin.pid
    kept, dropped, panicked, index, last = plugin.judge([b"a", b"drop", b"panic", b"index", b"drop"])
    assert (kept, dropped, last) == (True, False, False)
    line = next(n for n, text in enumerate(Path(probe).with_suffix(".go").read_text().splitlines(), 1)
                if "not this one" in text)  # fmt: skip
    assert panicked == f"panic: not this one ({probe.parent}/probe.go:{line})"
    assert str(index).startswith("panic: runtime error: index out of range [7] with length 5 (")
    assert plugin.pid == process, "the process goes on"
    plugin.close()


def test_an_exit_concerns_its_record_alone(probe: Path) -> None:
    plugin = filter_of(probe)
    values = [b"a", b"drop", b"exit", b"b", b"overflow", b"drop"]
    kept, dropped, exited, other, overflow, last = plugin.judge(values)
    assert (kept, dropped, other, last) == (True, False, True, False)
    assert exited == "its process ended with exit status 3: giving up"
    assert overflow == "its process ended with exit status 2: fatal error: stack overflow"
    assert plugin.judge([b"a"]) == [True]
    plugin.close()


def test_verdicts_are_printable(probe: Path) -> None:
    """A panic's text is the plugin's, and may hold what the record holds."""
    plugin = made(probe, {})
    good, bad = plugin.judge([record(b"a"), record("panic with a colour:\x9b".encode())])
    assert good is True
    assert str(bad).startswith("panic: \\x1b[31mred \\x9b (")
    plugin.close()


def test_a_process_that_is_killed_between_batches_is_started_again(probe: Path) -> None:
    plugin = filter_of(probe)
    for _ in range(3):
        os.kill(plugin.pid, signal.SIGKILL)
        assert plugin.judge([b"a", b"drop"]) == [True, False]
    plugin.close()


def test_a_batch_in_flight_is_asked_again_when_the_process_is_killed(probe: Path, tmp_path: Path) -> None:
    plugin = filter_of(probe)
    reached = tmp_path / "reached"
    verdicts: list[bool | str] = []
    values = [b"drop", b"a", f"hang once:{reached}".encode(), b"drop"]
    asking = threading.Thread(target=lambda: verdicts.extend(plugin.judge(values)))
    asking.start()
    eventually(reached.exists, "the plugin has the batch")
    os.kill(plugin.pid, signal.SIGKILL)
    asking.join(30)
    assert verdicts == [False, True, True, False]
    plugin.close()


def test_one_exit_is_no_verdict(probe: Path, tmp_path: Path) -> None:
    plugin = filter_of(probe)
    assert plugin.judge([b"drop", f"exit once:{tmp_path / 'a'}".encode()]) == [False, True]
    one_each = [f"exit once:{tmp_path / name}".encode() for name in "bcd"]
    assert plugin.judge([b"drop", *one_each]) == [False, True, True, True]
    plugin.close()


OWNER = """
import sys
from pathlib import Path
from support.go_plugins import filter_of

plugin = filter_of(Path(sys.argv[1]))
print(plugin.pid, flush=True)
plugin.judge([value.encode() for value in sys.argv[2:]])
input()
"""


@pytest.mark.parametrize("value", ["a", "hang", "spin"])
def test_the_process_dies_with_its_worker(probe: Path, tmp_path: Path, value: str) -> None:
    """Also in the middle of a batch, in a plugin that does not return."""
    reached = tmp_path / "reached"
    command = [sys.executable, "-c", OWNER, str(probe), f"{value}:{reached}"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    host = psutil.Process(int(owner.stdout.readline()))
    if value != "a":
        eventually(reached.exists, "the plugin has the value")
    owner.kill()
    owner.communicate()
    eventually(lambda: not host.is_running() or host.status() == psutil.STATUS_ZOMBIE, "the process ended")


def test_the_process_ends_when_its_filter_is_closed_or_forgotten(probe: Path) -> None:
    closed, forgotten = filter_of(probe), filter_of(probe)
    pids = {closed.pid, forgotten.pid}
    closed.close()
    closed.close()
    del forgotten
    gc.collect()
    assert not pids & set(psutil.pids())


def test_a_process_that_dies_while_it_loads_the_plugin_is_started_again(probe: Path, tmp_path: Path) -> None:
    plugin = filter_of(probe, {"once": str(tmp_path / "a")})
    assert (tmp_path / "a").exists()
    assert plugin.judge([b"a", b"drop"]) == [True, False]
    plugin.close()


def test_a_child_of_the_plugin_may_live_on(probe: Path, tmp_path: Path) -> None:
    """It has the plugin's output, not the connection: the end of the process is seen."""
    plugin = filter_of(probe)
    pid = tmp_path / "pid"
    assert plugin.judge([f"child:{pid}".encode()]) == [True]
    os.kill(plugin.pid, signal.SIGKILL)
    assert plugin.judge([b"a", b"drop"]) == [True, False]
    os.kill(int(pid.read_text()), signal.SIGKILL)
    plugin.close()


def test_a_shards_end_ends_its_filters_processes(probe: Path) -> None:
    before = set(psutil.pids())
    digest = digest_of(probe.read_bytes())
    specs = [FilterSpec(f"{probe}:probe", {}, on_error, digest=digest) for on_error in ("keep", "drop")]
    record_filter = RecordFilter(specs, None)
    started = {child.pid for child in psutil.Process().children()} - before
    assert len(started) == 2
    record_filter.close()
    assert not started & set(psutil.pids())


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"panics": 1}, "New: panic: assignment to entry in nil map ("),
        ({"exits": 1}, "its process ended with exit status 4: cannot connect"),
        ({"other type": 1}, "New returns int, which lacks ID() string or IsAllowed([]byte) bool"),
    ],
)
def test_a_new_that_fails_says_why(probe: Path, config: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        filter_of(probe, config)
    assert caught.value.what == "the Go plugin cannot be loaded"
    assert caught.value.where.startswith(f"{probe} on ")
    assert caught.value.why.startswith(why)
    assert caught.value.todo


def test_an_error_of_new_is_shown(tmp_path: Path) -> None:
    plugin = build(tmp_path, SHOPS, PAGE.replace(" -a", ""))
    with pytest.raises(ConfigError) as caught:
        filter_of(plugin)
    assert caught.value.why == "New: no shops\nin \x1b[31mthe configuration"
    assert all(line.isprintable() for line in caught.value.lines())


def test_another_id_is_refused(probe: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        filter_of(probe, plugin_id="other")
    assert caught.value.why == 'its ID is "probe", not "other"'
    assert f"{probe}:probe" in caught.value.todo
