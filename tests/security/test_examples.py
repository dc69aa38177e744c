"""The files in examples/: they run as they are, with the addresses, paths and names of a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.config import load
from causeway.local_kafka import named_clusters
from support.records import read_all
from support.secure_cluster import SecureCluster
from support.world import World

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 240


def replaced(text: str, changes: dict[str, str]) -> str:
    for given, wanted in changes.items():
        assert text.count(given) == 1, given
        text = text.replace(given, wanted)
    return text


def test_every_example_is_listed_and_tested() -> None:
    files = {file.name for file in EXAMPLES.iterdir()} - {"README.md"}
    assert files == {"scram-tls.toml"}
    assert set(re.findall(r"\]\((.+?)\)", (EXAMPLES / "README.md").read_text())) == files


def test_no_example_has_a_secret_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSEWAY_TOKEN", "x" * 20)
    (tmp_path / "password").write_text("x")
    text = (EXAMPLES / "scram-tls.toml").read_text().replace("/run/secrets/paris:", f"{tmp_path}:")
    file = tmp_path / "m.toml"
    file.write_text(text.replace("/run/secrets/tokyo-password", str(tmp_path / "password")))
    settings = load(file)
    assert settings._literal_secrets == ()
    assert not any(cluster.sasl and cluster.sasl.unsafe for cluster in settings.clusters.values())


def test_scram_and_tls(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path
) -> None:
    world = secure_world
    orders = world.topic("orders", 2)
    world.produce(orders, world.numbers(300, 2))
    here, there = secure.user("SCRAM-SHA-512"), secure_destination.user("SCRAM-SHA-256")
    (tmp_path / "password").write_text(f"{here[1]}\n")
    (tmp_path / "tokyo-password").write_text(there[1])
    changes = {
        '"paris-1:9093,paris-2:9093"': f'"{secure.cluster.servers_of("SASL_TLS")}"',
        '"tokyo-1:9093"': f'"{secure_destination.cluster.servers_of("SASL_TLS")}"',
        '512"\nusername = "causeway"': f'512"\nusername = "{here[0]}"',
        '256"\nusername = "causeway"': f'256"\nusername = "{there[0]}"',
        "/run/secrets/paris:": f"{tmp_path}:",
        "/run/secrets/tokyo-password": str(tmp_path / "tokyo-password"),
        "/etc/causeway/paris-ca.pem": str(secure.authority.file),
        "/etc/causeway/tokyo-ca.pem": str(secure_destination.authority.file),
        '"orders"': f'"{orders}"',
        'name = "paris-to-tokyo"': f'name = "{world.mirror}"',
    }
    config = tmp_path / "mirror.toml"
    config.write_text(replaced((EXAMPLES / "scram-tls.toml").read_text(), changes))

    process = world.carry_all(config, env={"CAUSEWAY_TOKEN": "a-token-of-this-test"})

    world.assert_mirrored(orders)
    assert "unsafe" not in process.output
    assert here[1] not in process.output
    assert there[1] not in process.output


@pytest.mark.deep
def test_the_lines_of_the_page_can_be_pasted(tmp_path: Path) -> None:
    run, remove = re.findall(r"```sh\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)
    try:
        output = pasted(run, tmp_path)
        servers = {cluster.name: cluster.internal_servers for cluster in named_clusters.clusters()}
        passwords = [
            (cluster.directory / "security" / "password").read_text() for cluster in named_clusters.clusters()
        ]
        copies = read_all(servers["tokyo"], "orders")
        assert copies == read_all(servers["paris"], "orders")
        assert sum(map(len, copies.values())) == 10_000
        assert len(passwords) == 2
        assert not [password for password in passwords if password.strip() in output]
        pasted(remove, tmp_path)
        assert named_clusters.clusters() == []
        assert not (tmp_path / "causeway.toml").exists()
    finally:
        for cluster in named_clusters.clusters():
            cluster.destroy()


def pasted(script: str, directory: Path) -> str:
    """Run lines of a shell as a user pastes them, with this environment's `causeway` and `python`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e"], input=script, cwd=directory, env={**os.environ, "PATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout
