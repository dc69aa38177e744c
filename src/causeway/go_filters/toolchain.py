"""Builds the program that loads a Go plugin, once for a toolchain, and keeps it in the cache.

Go refuses a plugin unless plugin and program come from the same toolchain with the same flags. So the
program is built with the plugin's, as far as its file tells them; Go itself compares the rest.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from causeway.cache import cache_dir
from causeway.errors import ConfigError
from causeway.go_filters.build_info import GoBuild

PAGE_COMMAND = 'CGO_ENABLED=1 go build -a -ldflags="-s -w" -buildmode=plugin -o NAME.filter NAME.go'
SOURCE = files("causeway.go_filters").joinpath("host.go").read_text("utf-8")
FLAGS = ("-trimpath", "-race", "-msan", "-asan", "-tags", "-gcflags")
VARIABLES = ("GOAMD64", "GOARM64", "GOARM", "GO386", "GORISCV64", "GOPPC64", "GOFIPS140")
"""Of the plugin's build: they change how Go's own packages are compiled."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_UNFINISHED = ".unfinished-"
_ERROR_LENGTH = 600


class GoToolchain(NamedTuple):
    command: str
    version: str
    root: str


def host_for(plugin: str, build: GoBuild) -> Path:
    """The program that can load a plugin of this build; raises ConfigError if there is none."""
    system, machine = platform.system().lower(), _MACHINES.get(platform.machine(), platform.machine())
    for name, here in (("GOOS", system), ("GOARCH", machine)):
        if build.settings.get(name, here) != here:
            raise cannot_load(
                plugin, f"it was built for {build}; this machine is {system}/{machine}", "build it for that"
            )
    wanted = _digest(SOURCE, build.version, build.experiments, *_flags(build), *_variables(build).items())
    hosts = cache_dir() / "go-hosts"
    chosen = _toolchain(plugin, build)
    if isinstance(chosen, GoToolchain):
        # Compiled packages contain the paths of their sources.
        root = "" if "-trimpath" in build.settings else chosen.root
        host = hosts / f"{wanted}-{_digest(chosen.version, root)}"
        if not host.is_file():
            with writable(plugin, hosts), _locked(hosts):
                if not host.is_file():  # another process may have built it meanwhile
                    _build(plugin, build, chosen, host)
        return host
    built = sorted(hosts.glob(f"{wanted}-*"), key=lambda path: path.stat().st_mtime)
    if not built:
        raise chosen
    return built[-1]


def cannot_load(plugin: str, why: str, todo: str) -> ConfigError:
    return ConfigError(
        "the Go plugin cannot be loaded", where=f"{plugin} on {socket.gethostname()}", why=why, todo=todo
    )


@contextmanager
def writable(plugin: str, directory: Path) -> Iterator[None]:
    """Make a directory of the cache, and explain why it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise cannot_load(
            plugin,
            f"{error.filename or directory}: {error.strerror or error}",
            "set CAUSEWAY_CACHE to a directory that can be written",
        ) from None


def _toolchain(plugin: str, build: GoBuild) -> GoToolchain | ConfigError:
    """`go1.26.8` or `go` on the PATH, whichever has the plugin's version."""
    others = []
    for name in (build.version, "go"):
        command = shutil.which(name) if name else None
        if command is None:
            continue
        shown = _go(command, "env", "-json", "GOVERSION", "GOROOT")
        try:
            known = json.loads(shown.stdout)
            found = GoToolchain(command, known["GOVERSION"].partition(" X:")[0], known["GOROOT"])
        except (ValueError, KeyError):
            others.append(f"{command} fails: {_last(shown)}")
            continue
        if build.version in ("", found.version):
            return found
        others.append(f"{command} is {found.version}")
    wanted = build.version or "the Go that it was built with"
    why = "there is no `go` on the PATH" if not others else "; ".join(others)
    return cannot_load(
        plugin,
        f"it was built with {build}, and {why}",
        f"put {wanted} on the PATH, here and on every executor, or build the plugin again with the `go` that "
        f"is there: {PAGE_COMMAND}",
    )


def _build(plugin: str, build: GoBuild, toolchain: GoToolchain, host: Path) -> None:
    for leftover in host.parent.glob(
        f"{_UNFINISHED}*"
    ):  # of a process that was killed: this one has the lock
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=host.parent) as name:
        directory = Path(name)
        (directory / "host.go").write_text(SOURCE, "utf-8")
        arguments = ("build", *_flags(build), "-ldflags=-s -w", "-o", "host", "host.go")
        built = _go(toolchain.command, *arguments, directory=directory, more=_variables(build))
        if built.returncode:
            raise cannot_load(
                plugin,
                f"{toolchain.command} cannot build the program that loads it: {_last(built)}",
                "Go needs a C compiler for plugins: install one, or share CAUSEWAY_CACHE with a machine "
                "that has one",
            )
        (directory / "host").replace(host)


def _go(
    command: str, *arguments: str, directory: Path | None = None, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Go without a network, without the user's settings, and without a home if there is none."""
    environment = {**os.environ, **(more or {})}
    environment |= {"CGO_ENABLED": "1", "GO111MODULE": "on", "GOENV": "off", "GOFLAGS": ""}
    environment |= {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    home = Path(environment.get("HOME") or "/nonexistent")
    if not os.access(home, os.W_OK):
        environment.setdefault("GOCACHE", str(cache_dir() / "go-build"))
        environment.setdefault("GOPATH", str(cache_dir() / "go-path"))
    return subprocess.run(
        [command, *arguments],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _flags(build: GoBuild) -> list[str]:
    return [f"{name}={build.settings[name]}" for name in FLAGS if name in build.settings]


def _variables(build: GoBuild) -> dict[str, str]:
    variables = {name: build.settings[name] for name in VARIABLES if name in build.settings}
    return variables | ({"GOEXPERIMENT": build.experiments} if build.experiments else {})


def _last(ended: subprocess.CompletedProcess[str]) -> str:
    return ended.stderr.strip()[-_ERROR_LENGTH:] or f"exit status {ended.returncode}"


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:16]


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process builds at a time; the lock is released when its holder ends, for whatever reason."""
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
