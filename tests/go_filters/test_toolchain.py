"""Building the program that loads a plugin: once for a toolchain, and with errors that say what to do."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.go_filters import plugin_file, toolchain
from causeway.go_filters.build_info import GoBuild
from causeway.go_filters.plugin_file import digest_of, plugin_and_host
from support.go_plugins import PROBE, build, filter_of, go, quickly


def refused(plugin: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        filter_of(plugin)
    assert caught.value.what == "the Go plugin cannot be loaded"
    assert caught.value.where.startswith(f"{plugin} on ")
    assert caught.value.todo
    return caught.value


@pytest.fixture
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "empty"))
    return tmp_path / "empty"


@pytest.fixture
def changed(probe: Path, tmp_path: Path) -> Callable[[bytes, bytes], Path]:
    """The plugin with other bytes in it."""

    def change(before: bytes, after: bytes) -> Path:
        assert len(before) == len(after)
        plugin = tmp_path / "probe.filter"
        plugin.write_bytes(probe.read_bytes().replace(before, after))
        return plugin

    return change


def own_version() -> str:
    found = toolchain._toolchain("p", GoBuild(""))
    assert isinstance(found, toolchain.GoToolchain)
    return found.version


def test_without_go_the_version_is_named(
    probe: Path, no_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = own_version()
    monkeypatch.setenv("PATH", "")
    error = refused(probe)
    assert f"it was built with {version} GOOS=" in error.why
    assert error.why.endswith("and there is no `go` on the PATH")
    assert error.todo.startswith(f"put {version} on the PATH, here and on every executor")


def test_a_program_in_the_cache_needs_no_go(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filter_of(probe).close()
    monkeypatch.setenv("PATH", "")
    plugin = filter_of(probe)
    assert plugin.judge([b"a", b"drop"]) == [True, False]
    plugin.close()


def test_a_plugin_of_another_version(changed: Callable[[bytes, bytes], Path]) -> None:
    version = own_version()
    error = refused(changed(version.encode(), version.encode()[:-1] + b"x"))
    assert error.why.endswith(f"{go()} is {version}")
    assert f"put {version[:-1]}x on the PATH" in error.todo
    assert "-buildmode=plugin" in error.todo


def test_a_go_of_the_plugins_version_is_taken_under_its_own_name(
    probe: Path, no_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As golang.org/dl installs it."""
    version, real = own_version(), go()
    asked = tmp_path / "asked"
    for name, text in ((version, f'echo "$@" >> {asked}; exec {real} "$@"'), ("go", "exit 1")):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(shutil.which('sh') or '').parent}")
    filter_of(probe).close()
    assert [line.split()[0] for line in asked.read_text().splitlines()] == ["env", "build"]


def test_a_plugin_for_another_machine(changed: Callable[[bytes, bytes], Path]) -> None:
    assert "this machine is linux/" in refused(changed(b"GOOS=linux", b"GOOS=plan9")).why


@pytest.mark.long
def test_a_plugin_with_other_flags_gets_a_program_with_these(tmp_path: Path) -> None:
    plugin = filter_of(build(tmp_path, PROBE, quickly("probe", "-trimpath")))
    assert plugin.judge([b"a", b"drop"]) == [True, False]
    plugin.close()


def test_a_plugin_that_go_refuses(tmp_path: Path) -> None:
    """The file does not tell its flags, so the program has others."""
    plugin = build(tmp_path, PROBE, quickly("probe", "-trimpath"))
    plugin.write_bytes(plugin.read_bytes().replace(b"-trimpath=true", b"-xrimpath=true"))
    error = refused(plugin)
    assert "plugin was built with a different version of package" in error.why
    assert "-buildmode=plugin" in error.todo


@pytest.mark.parametrize("content", [b"", b"print('no')", None])
def test_a_file_that_is_no_go_plugin(tmp_path: Path, content: bytes | None) -> None:
    plugin = tmp_path / "probe.filter"
    plugin.write_bytes(Path("/bin/sh").read_bytes() if content is None else content)
    assert refused(plugin).why == "it is not a program that Go has built"


def test_a_go_program_that_is_no_plugin(tmp_path: Path) -> None:
    program = build(tmp_path, "package main\nfunc main() {}\n", "go build -o probe.filter probe.go")
    assert refused(program).why == "it was built with -buildmode=exe"


def test_a_plugin_without_new(tmp_path: Path) -> None:
    plugin = build(tmp_path, "package main\nvar X = 1\n", quickly("probe"))
    assert refused(plugin).why == "it has no function New"
    (tmp_path / "other").mkdir()
    other = build(tmp_path / "other", "package main\nfunc New() int { return 1 }\n", quickly("probe"))
    assert refused(other).why == "New is func() int, not func([]byte) (interface{}, error)"


FAKE = """#!/bin/sh
if [ "$1" = env ]; then echo '{{"GOVERSION": "{version}", "GOROOT": "/r"}}'; exit; fi
echo "$HOME|$GOCACHE|$GOPATH|$GOFLAGS|$GOTOOLCHAIN|$CGO_ENABLED|$*" >&2
exit 1
"""


def test_a_build_needs_neither_a_home_nor_the_users_settings(
    probe: Path, no_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "go"
    script.write_text(FAKE.format(version=own_version()))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("GOFLAGS", "-trimpath")
    monkeypatch.delenv("GOCACHE", raising=False)
    monkeypatch.delenv("GOPATH", raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    error = refused(probe)
    arguments = "build -ldflags=-s -w -o host host.go"
    assert error.why.endswith(f": /nonexistent|{no_cache}/go-build|{no_cache}/go-path||local|1|{arguments}")
    assert "C compiler" in error.todo


def test_a_build_that_was_killed_leaves_nothing_that_matters(
    probe: Path, no_cache: Path, tmp_path: Path
) -> None:
    leftover = no_cache / "go-hosts" / ".unfinished-x"
    leftover.mkdir(parents=True)
    (leftover / "host").write_bytes(b"half")
    filter_of(probe).close()
    assert not leftover.exists()


def test_two_at_a_time_build_once(probe: Path, no_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[Path] = []
    real = toolchain._build

    def counted(plugin: str, how: GoBuild, chosen: toolchain.GoToolchain, host: Path) -> None:
        builds.append(host)
        real(plugin, how, chosen, host)

    monkeypatch.setattr(toolchain, "_build", counted)
    digest, hosts = digest_of(probe.read_bytes()), []
    threads = [
        threading.Thread(target=lambda: hosts.append(plugin_and_host(str(probe), digest))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert hosts[0] == hosts[1]


def test_a_cache_that_cannot_be_written(probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "file"))
    assert "CAUSEWAY_CACHE" in refused(probe).todo


def test_a_plugin_that_is_built_again_meanwhile_takes_effect_at_the_next_start(
    probe: Path, no_cache: Path, tmp_path: Path
) -> None:
    """And a file that was never the one in the order is refused."""
    path, content = tmp_path / "probe.filter", probe.read_bytes()
    path.write_bytes(content)
    first = plugin_file.kept_plugin(str(path), digest_of(content))
    path.write_bytes(b"another one")
    assert plugin_file.kept_plugin(str(path), digest_of(content)) == first
    assert first.read_bytes() == content
    with pytest.raises(ConfigError, match="the file differs from the driver's"):
        plugin_file.kept_plugin(str(path), digest_of(b"a third"))
    path.unlink()
    with pytest.raises(ConfigError, match="No such file") as caught:
        plugin_file.kept_plugin(str(path), digest_of(b"a third"))
    assert "on every executor" in caught.value.todo
    assert len(list((no_cache / "go-plugins").iterdir())) == 1
