"""What the demo runs on: its clusters, a configuration, a directory for everything else.

Without --keep all of it is in one temporary directory, which is removed at the end. With --keep the
clusters are named ones (`causeway kafka list` shows them), and the rest is in the state directory.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from causeway import owner_only
from causeway.cli.child import Child
from causeway.cli.demo.records import SELECTION
from causeway.config.toml import written
from causeway.core.cluster import Cluster
from causeway.errors import UsageError
from causeway.local_kafka import EmbeddedCluster, named_clusters

SOURCE, DESTINATION = "paris", "tokyo"
NODES = ("paris-a", "paris-b", "paris-c")
"""Of the pool that is the source with --failover."""
MIRROR = "paris-to-tokyo"
PID = "mirror.pid"


class DemoEnvironment:
    def __init__(self, keep: bool, nodes: tuple[str, ...] = ()) -> None:
        """`nodes`: the source is a pool of these clusters."""
        self.keep = keep
        self._nodes = nodes
        self.aliases = (*(nodes or (SOURCE,)), DESTINATION)
        self.clusters: dict[str, EmbeddedCluster] = {}
        self.token = secrets.token_urlsafe(6)
        self._children: list[Child] = []
        self._home = _make_kept_home() if keep else Path(tempfile.mkdtemp(prefix="causeway-demo-"))
        self.config = self._home / "causeway.toml"
        self.logs = self._home / "logs"
        self._scratch = self._home / "tmp"
        self.logs.mkdir()
        self._scratch.mkdir()

    def start_clusters(self, say: Callable[[str], None]) -> None:
        """Start them, and write the configuration."""
        for alias in self.aliases:
            say(f"starting a Kafka cluster: {alias}")
            if self.keep:
                self.clusters[alias] = named_clusters.start(kept_name(alias))
            else:
                self.clusters[alias] = EmbeddedCluster.start(alias, directory=self._cluster_home(alias))
        self._write_config()

    def cluster(self, alias: str) -> Cluster:
        return Cluster(alias, {"bootstrap.servers": self.clusters[alias].bootstrap_servers})

    def _write_config(self) -> None:
        tables = [
            f"[clusters.{alias}]\nbootstrap_servers = {written(cluster.bootstrap_servers)}\n"
            for alias, cluster in self.clusters.items()
        ]
        if self._nodes:
            tables.append(f"[pools.{SOURCE}]\nnodes = {written(self._nodes)}\n")
        self.config.write_text(
            "\n".join(tables)
            + f"\n[[mirrors]]\nname = {written(MIRROR)}\n"
            + f"source = {written(SOURCE)}\ndestination = {written(DESTINATION)}\n"
            + f"topics = {written(SELECTION)}\n"
            + f"\n[spark]\nlog_dir = {written(str(self.logs))}\n"
            + f'\n[web]\ntoken = "{self.token}"\n\n[log]\nformat = "text"\n'
        )

    def start(self, command: str, *arguments: str, output: Path | None = None) -> Child:
        """Start one of Causeway's own commands on the demo's configuration."""
        child = Child(
            command, self.config, *arguments,
            log=self.logs / f"{command}.log", env=self._variables(), output=output,
            outlives=self.keep and command == "run",
        )  # fmt: skip
        self._children.append(child)
        return child

    def _variables(self) -> dict[str, str]:
        """This process's environment, without variables that change the configuration.

        Killed processes cannot clean up, so their temporary files go into the demo's own directory.
        """
        ours = {name: value for name, value in os.environ.items() if not name.startswith("CAUSEWAY__")}
        java = f'{ours.get("JAVA_TOOL_OPTIONS", "")} "-Djava.io.tmpdir={self._scratch}"'.strip()
        scratch = str(self._scratch)
        return {**ours, "TMPDIR": scratch, "SPARK_LOCAL_DIRS": scratch, "JAVA_TOOL_OPTIONS": java}

    def save_logs(self) -> Path:
        """Copy the logs to a directory that outlasts the demo."""
        place = owner_only.state_part(named_clusters.state_dir(), "logs") / time.strftime(
            "demo-%Y%m%d-%H%M%S"
        )
        shutil.copytree(self.logs, place, dirs_exist_ok=True)
        for alias in self.aliases:
            for log in self._cluster_home(alias).glob("broker-*/broker.log"):
                shutil.copyfile(log, place / f"{alias}-{log.parent.name}.log")
        return place

    def _cluster_home(self, alias: str) -> Path:
        return named_clusters.state_dir() / "kafka" / kept_name(alias) if self.keep else self._home / alias

    def leave(self, mirror: Child) -> None:
        """Let clusters and mirror keep running."""
        mirror.release()
        (self._home / PID).write_text(str(mirror.pid))

    def clear(self) -> None:
        """Stop every process and remove every file."""
        for child in self._children:
            child.kill()
        if self.keep:
            for name in _kept():
                named_clusters.stop(name, delete=True)
        else:
            for cluster in self.clusters.values():
                cluster.destroy()
        shutil.rmtree(self._home, ignore_errors=True)

    def page(self) -> str:
        """The current mirror's page; its usual port may have been taken."""
        said = re.findall(r"the page is at (\S+)", (self.logs / "run.log").read_text(errors="replace"))
        return str(said[-1]) if said else "not served"

    def guide(self) -> str:
        """How to use what was kept."""
        return "\n".join(
            [
                f"{self._what_runs()} Look around:",
                f"  page    {self.page()} (pause, resume and verify there with the token {self.token})",
                *(f"  {alias:<8}{what}" for alias, what in self._what_to_do()),
                f"  mirror  tail -f {self.logs / 'run.log'}",
                f"  verify  {program()} verify {self.config} --wait",
                f"  list    {program()} kafka list",
                "Stop and delete everything:",
                f"  {_ending()}",
            ]
        )

    def _what_runs(self) -> str:
        if not self._nodes:
            return "Both clusters and the mirror keep running."
        return "The mirror and the clusters that were not killed keep running."

    def _what_to_do(self) -> list[tuple[str, str]]:
        """What a user can do with each cluster, by alias."""
        servers = {alias: cluster.bootstrap_servers for alias, cluster in self.clusters.items()}
        if not self._nodes:
            sources = [(SOURCE, f"{servers[SOURCE]}: write to it with any Kafka client")]
        else:
            down = [alias for alias in self._nodes if not self.clusters[alias].brokers[0].is_up]
            sources = [
                (alias, f"{program()} kafka start --name {kept_name(alias)}: short, until it has all records")
                if alias in down
                else (alias, f"{servers[alias]}: write the same records to each node")
                for alias in self._nodes
            ]
            sources.append(("status", f"{program()} status {self.config}"))
        return [*sources, (DESTINATION, f"{servers[DESTINATION]}: read the same records here")]


def program() -> str:
    """How this program was called: `make demo` calls it by a path that is not on PATH."""
    called = Path(sys.argv[0])
    if called.name != "causeway":
        return "python -m causeway"
    found = shutil.which("causeway")
    return "causeway" if found and Path(found).resolve() == called.resolve() else str(called)


def kept_home() -> Path:
    return named_clusters.state_dir() / "demo"


def kept_name(alias: str) -> str:
    return f"demo-{alias}"


def _kept() -> list[str]:
    names = {kept_name(alias) for alias in (SOURCE, *NODES, DESTINATION)}
    return [cluster.name for cluster in named_clusters.clusters() if cluster.name in names]


def _ending() -> str:
    """The commands that stop what an earlier --keep left running."""
    commands = [f"{program()} kafka stop {name} --delete" for name in _kept()]
    pid = kept_home() / PID
    return " && ".join(([f"kill {pid.read_text()}"] if pid.exists() else []) + commands)


def _make_kept_home() -> Path:
    """Raises UsageError while the clusters of an earlier --keep exist: a user may still need them."""
    home = kept_home()
    if _kept():
        raise UsageError("an earlier demo was kept", where=str(home), todo=f"end it first: {_ending()}")
    shutil.rmtree(home, ignore_errors=True)
    return owner_only.state_part(named_clusters.state_dir(), home.name)
