"""Runs the Ivy that pyspark ships, and parses its output.

Ivy's exit status alone is not reliable: when a module's description fails to download (a 503, a
timeout) but its jar does not, Ivy treats the module as one without dependencies, reports that among the
warnings and exits 0. So any network problem counts as a failure here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from causeway.errors import SetupError

# Ivy has no timeouts of its own: a network that drops packets would block it for ever.
_TIMEOUTS = ("-Dsun.net.client.defaultConnectTimeout=20000", "-Dsun.net.client.defaultReadTimeout=60000")

_NETWORK = re.compile(r"^\s*((?:SERVER ERROR|Server access error|Host \S+ not found).*)$")
_UNRESOLVED = re.compile(r"^\s*:: (\S+#\S+;\S+): (.+)$")
_NOT_DOWNLOADED = re.compile(r"^\s*:: (\S+#\S+;\S+!\S+)\s*$")


@dataclass(frozen=True)
class Module:
    group: str
    artifact: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


@dataclass(frozen=True)
class Trouble:
    """Ivy's complaints: modules it could not get, and network errors."""

    missing: tuple[str, ...]
    network: tuple[str, ...]


def retrieve(
    java: Path, module: Module, into: Path, cache: Path, *, lock: int, on_line: Callable[[str], None]
) -> None:
    """Put the module's jar and all its dependencies into a directory; raises SetupError with the reason.

    Ivy inherits the lock on its cache: if this process is killed, Ivy goes on, and no other process may
    use the cache meanwhile.
    """
    lines: list[str] = []
    with subprocess.Popen(
        _command(java, module, into, cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=(lock,),
    ) as ivy:
        try:
            assert ivy.stdout is not None
            for line in ivy.stdout:
                lines.append(line.rstrip("\n"))
                on_line(lines[-1])
        except BaseException:
            ivy.kill()
            raise
    trouble = read_trouble(lines)
    if ivy.returncode != 0 or trouble.network:
        raise _failure(module, trouble, lines)


def read_trouble(lines: list[str]) -> Trouble:
    missing = [
        match[1]
        for line in lines
        if (match := _UNRESOLVED.match(line) or _NOT_DOWNLOADED.match(line)) is not None
    ]
    network = [match[1].strip() for line in lines if (match := _NETWORK.match(line)) is not None]
    return Trouble(tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(network)))


def _failure(module: Module, trouble: Trouble, lines: list[str]) -> SetupError:
    what = f"cannot download {module} and its dependencies"
    if trouble.network:
        return SetupError(
            what,
            why=f"the download failed: {trouble.network[0]}",
            todo=(
                "check the network and try again; set a proxy in JAVA_TOOL_OPTIONS"
                " (-Dhttps.proxyHost=… -Dhttps.proxyPort=…), another repository in an Ivy settings"
                " file that CAUSEWAY_IVY_SETTINGS names"
            ),
        )
    if trouble.missing:
        return SetupError(
            what,
            why=f"not in the repository: {', '.join(trouble.missing)}",
            todo="check that this version was released",
        )
    last = [line.strip() for line in lines if line.strip()][-3:]
    return SetupError(what, why=" / ".join(last) or "Ivy ended without output", todo="try again")


def _command(java: Path, module: Module, into: Path, cache: Path) -> list[str]:
    command = [str(java), *_TIMEOUTS, "-jar", str(_ivy_jar())]
    if settings := os.environ.get("CAUSEWAY_IVY_SETTINGS"):
        command += ["-settings", settings]
    command += ["-dependency", module.group, module.artifact, module.version, "-confs", "default"]
    return [*command, "-retrieve", f"{into}/[artifact]-[revision].[ext]", "-cache", str(cache)]


def _ivy_jar() -> Path:
    # Found, not imported: importing pyspark takes a second, and only the spark package may import it.
    spec = importlib.util.find_spec("pyspark")
    jars = [jar for place in (spec and spec.submodule_search_locations) or [] for jar in _ivy_jars(place)]
    if not jars:
        raise SetupError(
            "the Ivy that pyspark ships is missing",
            where="pyspark/jars/ivy-*.jar",
            todo="install pyspark from its wheel: `pip install --force-reinstall pyspark`",
        )
    return jars[0]


def _ivy_jars(pyspark: str) -> list[Path]:
    return sorted((Path(pyspark) / "jars").glob("ivy-*.jar"))
