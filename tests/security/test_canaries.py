"""Secrets that can be recognized go down good and bad paths, at debug level, and are looked for everywhere.

One test has a running mirror on Spark, with its event log and its web UI; the others have starts that fail.
"""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.config.toml import written
from causeway.local_kafka.ports import free_ports
from support.canaries import canary, everything_below, found_in
from support.certificates import as_pkcs12
from support.process import Causeway, descendants, send, without_spark
from support.records import read_all
from support.secure_cluster import CERTIFICATE_USER, SecureCluster
from support.typed import causeway
from support.verifying import run_verify
from support.world import World, cluster_lines

PARTS = ("", "/partitions", "/layout", "/shards", "/events", "/gaps", "/node-lags", "/configuration")
PAGES = (
    "/", "/metrics", "/livez", "/readyz", "/startupz", "/api/v1/mirrors", "/api/v1/history?mirror={name}",
    *("/api/v1/mirrors/{name}" + part for part in PARTS),
)  # fmt: skip
SPARKS_PAGES = (
    "/api/v1/applications/{id}/environment", "/api/v1/applications/{id}/jobs", "/environment/", "/jobs/",
    "/api/v1/applications/{id}/stages", "/api/v1/applications/{id}/sql?details=true", "/SQL/", "/stages/",
    "/api/v1/applications/{id}/allexecutors", "/executors/",
)  # fmt: skip
AT_DEBUG_LEVEL = "import logging\nlogging.basicConfig(level=logging.DEBUG)\n"
TOKEN = canary("web-token")


class Seen:
    """What was shown, by where."""

    def __init__(self) -> None:
        self._texts: dict[str, list[bytes]] = {}

    def add(self, where: str, content: bytes | str) -> None:
        raw = content.encode(errors="surrogateescape") if isinstance(content, str) else content
        self._texts.setdefault(where, []).append(raw)

    def check(self, *wheres: str) -> None:
        """No secret is in it; something was looked at in each of these places."""
        for where in wheres:
            assert any(self._texts.get(where, ())), f"nothing was looked at: {where}"
        shown = {where: found_in(b"\n".join(texts)) for where, texts in self._texts.items()}
        assert {where: found[:3] for where, found in shown.items() if found} == {}


@contextlib.contextmanager
def command_lines(seen: Seen, process: Causeway) -> Iterator[None]:
    """Each process that is started meanwhile, however short."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            for pid in (process.process.pid, *descendants(process.process.pid)):
                with contextlib.suppress(OSError):
                    lines.add(Path(f"/proc/{pid}/cmdline").read_bytes())

    lines: set[bytes] = set()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield
    over.set()
    watcher.join()
    seen.add("arguments of processes", b"\n".join(lines))


def fetched(address: str, token: str = "") -> bytes:
    header = {"Authorization": f"Bearer {token}".encode().decode("latin-1")} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=header), timeout=20) as response:
        content: bytes = response.read()
    return content


def look(seen: Seen, process: Causeway, mirror: str, sparks_port: int) -> None:
    for path in PAGES:
        with contextlib.suppress(urllib.error.HTTPError):  # a probe of a mirror that waits
            seen.add(
                "metrics" if path == "/metrics" else "page",
                fetched(process.page() + path.format(name=mirror), TOKEN),
            )
    spark = f"http://127.0.0.1:{sparks_port}"
    (application,) = json.loads(fetched(f"{spark}/api/v1/applications"))
    for path in SPARKS_PAGES:
        seen.add("Spark's web UI", fetched(spark + path.format(id=application["id"])))


@pytest.mark.spark
def test_a_mirror_on_spark(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster,
    tmp_path: Path, state_directory: Path,
) -> None:  # fmt: skip
    """It runs, is revoked a password, misses a file, loses its workers, is killed, and is refused."""
    world, seen, outside = secure_world, Seen(), tmp_path / "outside"
    for name in ("outside", "tmp", "events", "logs"):
        (tmp_path / name).mkdir()
    user, password, key_password = f"user-{world.mirror}", canary("literal"), canary("key-password")
    secure.set_password("SCRAM-SHA-512", user, password)
    files = secure_destination.authority.client(CERTIFICATE_USER, password=key_password)
    key_password_file = outside / "key-password"
    key_password_file.write_text(f"{key_password}\n")
    (outside / "sitecustomize.py").write_text(AT_DEBUG_LEVEL)
    (sparks_port,) = free_ports(1)
    world.logins = {
        "source": {
            "bootstrap.servers": secure.cluster.servers_of("SASL_TLS"), "debug": "all",
            "sasl": {"mechanism": "SCRAM-SHA-512", "username": user, "password": password},
            "tls": {"ca": str(secure.authority.file)},
        },
        "destination": {
            "bootstrap.servers": secure_destination.cluster.servers_of("MUTUAL_TLS"), "debug": "all",
            "tls": {
                "ca": secure_destination.authority.file.read_text(),
                "certificate": str(files.certificate),
                "key": "${env:CLIENT_KEY}",
                "key_password": f"${{file:{key_password_file}}}",
            },
        },
    }  # fmt: skip
    others = {
        "web": {"token": TOKEN, "private": True, "port": 0},
        "metrics": {"token": canary("metrics-token")},
        "spark": {
            "log_dir": str(tmp_path / "logs"),
            "properties": {
                "spark.ui.enabled": "true", "spark.ui.port": str(sparks_port),
                "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{tmp_path / 'events'}",
                "spark.eventLog.compress": "false",
                "spark.hadoop.password": canary("spark-literal"), "spark.hadoop.plain": "${env:SPARK_SECRET}",
            },
        },
    }  # fmt: skip
    config = world.config(slice="4s")
    tables = "".join(f"{name} = {written(table)}\n" for name, table in others.items())
    config.write_text(tables + config.read_text())
    env = {
        # Text before a key is ignored: so it can be recognized.
        "CLIENT_KEY": f"{canary('key')}\n{files.key.read_text()}",
        "SPARK_SECRET": canary("spark-variable"),
        "PYTHONPATH": str(outside),
        "TMPDIR": str(tmp_path / "tmp"),
        "SPARK_LOCAL_DIRS": str(tmp_path / "tmp"),
    }
    topic = world.topic(partitions=2)
    world.produce(topic, world.numbers(200, 2))

    process = world.run(config, env=env)
    with command_lines(seen, process):
        process.until(lambda: world.carried() == 200, "200 records arrive", 120)
        look(seen, process, world.mirror, sparks_port)
        compared = _compared(config, env)
        seen.add("verify", compared)
        for name, arguments in COMMANDS.items():
            seen.add(name, _typed(config, env, *arguments))
        # Killed workers begin anew, and miss the file.
        key_password_file.unlink()
        send(signal.SIGKILL, process.workers())
        process.until(lambda: "No such file" in process.output, "it says which file is missing")
        key_password_file.write_text(key_password)
        world.produce(topic, world.numbers(100, 2, 200))
        process.until(lambda: world.carried() == 300, "it goes on", 120)
        secure.revoke("SCRAM-SHA-512", user)
        process.until(lambda: f'"{user}" was refused' in process.output, "it says that it is refused")
        look(seen, process, world.mirror, sparks_port)
    seen.add("files while it ran", b"\n".join(_files(tmp_path, config, outside).values()))
    process.kill()
    seen.add("output", process.output)

    refused = world.run(config, env=env)
    assert refused.wait() == 4, refused.output
    seen.add("output of a start that is refused", refused.output)

    left = _files(tmp_path, config, outside)
    events = [name for name in left if Path(name).is_relative_to(tmp_path / "events")]
    assert any(b"SparkListenerEnvironmentUpdate" in left[name] for name in events)
    seen.add("Spark's event log", b"\n".join(left[name] for name in events))
    seen.add("files after kill -9", b"\n".join(left.values()))
    internal = [name for name in world.admin("destination").list_topics().topics if world.mirror in name]
    assert len(internal) > 2
    for name in internal:
        seen.add("ledger and offset map", repr(read_all(world.servers["destination"], name)))

    assert "DEBUG" in process.output, "the debug level is on"
    assert found_in(config.read_bytes()), "a secret is found where it is"
    seen.check(
        "page", "metrics", "Spark's web UI", "Spark's event log", "arguments of processes", "output",
        "verify", "output of a start that is refused", "files after kill -9", "ledger and offset map",
        *COMMANDS,
    )  # fmt: skip


COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check",),
    "check, JSON": ("check", "-o", "json"),
    "config show": ("config", "show"),
    "offsets": ("offsets", "show"),
}


def _typed(config: Path, env: Mapping[str, str], *arguments: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        ended = causeway(*arguments, config)
    return ended.stdout + ended.stderr


def _compared(config: Path, env: Mapping[str, str]) -> str:
    with pytest.MonkeyPatch.context() as patch, without_spark():
        for name, value in env.items():
            patch.setenv(name, value)
        compared = run_verify(config)
    return compared.stdout + compared.stderr


def _files(directory: Path, config: Path, outside: Path) -> dict[str, bytes]:
    """All that there is besides what the test itself wrote down."""
    own = {config, *outside.rglob("*")}
    return {
        name: name.encode() + b"\n" + content
        for name, content in everything_below(directory, but=own).items()
    }


Login = Callable[[SecureCluster, Path], dict[str, Any]]


def _sasl(mechanism: str, **more: str) -> Login:
    def login(cluster: SecureCluster, _directory: Path) -> dict[str, Any]:
        return {
            "bootstrap.servers": cluster.cluster.servers_of("SASL_TLS"),
            "tls": {"ca": str(cluster.authority.file)},
            "sasl": {"mechanism": mechanism, **more},
        }

    return login


def _oidc(cluster: SecureCluster, directory: Path) -> dict[str, Any]:
    more = {"client_id": "ann", "client_secret": canary("client"), "token_url": cluster.tokens.token_url}
    return _sasl("OAUTHBEARER", **more)(cluster, directory)


def _token_file(cluster: SecureCluster, directory: Path) -> dict[str, Any]:
    (directory / "token").write_text(f"cAnArY{'x' * 40}")
    return _sasl("OAUTHBEARER", token_file=str(directory / "token"))(cluster, directory)


def _jaas(cluster: SecureCluster, _directory: Path) -> dict[str, Any]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    secret = canary("jaas").replace("\\", "\\\\").replace('"', '\\"')
    return {
        **cluster.login("SCRAM-SHA-256", "", ""), "sasl.username": None, "sasl.password": None,
        "sasl.jaas.config": f'{module} required username="ann" password="{secret}";',
    }  # fmt: skip


def _key_password(cluster: SecureCluster, directory: Path) -> dict[str, Any]:
    files = cluster.authority.client(f"c{directory.parent.name}", password="the right one")
    location = {"ssl_certificate_location": str(files.certificate), "ssl_key_location": str(files.key)}
    return {**cluster.tls("MUTUAL_TLS", **location), "ssl.key.password": canary("key-password")}


def _pkcs12(cluster: SecureCluster, directory: Path) -> dict[str, Any]:
    store = as_pkcs12(cluster.authority.client("stored"), directory / "c.p12", "the right one")
    names = {"ssl_keystore_location": str(store), "ssl_keystore_password": canary("store-password")}
    return cluster.tls("MUTUAL_TLS", **names)


def _key_without_its_lines(cluster: SecureCluster, _directory: Path) -> dict[str, Any]:
    files = cluster.authority.client("pasted")
    key = "".join(files.key.read_text().splitlines()[1:-1])
    location = {"ssl_certificate_location": str(files.certificate), "ssl_key_location": f"{key}cAnArY"}
    return cluster.tls("MUTUAL_TLS", **location)


FAILURES: dict[str, Login] = {
    "PLAIN": _sasl("PLAIN", username="ann", password=canary("plain")),
    "SCRAM-SHA-512": _sasl("SCRAM-SHA-512", username="ann", password=canary("scram")),
    "OAUTHBEARER": _oidc,
    "token file": _token_file,
    "sasl.jaas.config": _jaas,
    "key password": _key_password,
    "PKCS12": _pkcs12,
    "a key without its lines": _key_without_its_lines,
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_cluster_that_refuses_the_secret(
    secure: SecureCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture, failure: str
) -> None:
    caplog.set_level(logging.DEBUG)
    directory = tmp_path / "secrets"
    directory.mkdir()
    login = {key: value for key, value in FAILURES[failure](secure, directory).items() if value is not None}
    lines = [*cluster_lines("src", {**login, "debug": "all"})]
    lines += [*cluster_lines("dst", {"bootstrap.servers": secure.cluster.bootstrap_servers})]
    lines += ["[[mirrors]]", 'name = "m"', 'source = "src"', 'destination = "dst"', 'topics = ["t"]']
    config = tmp_path / "m.toml"
    config.write_text("\n".join(lines) + "\n")
    seen = Seen()
    for name, arguments in (*COMMANDS.items(), ("check -X", ("check", "-X", f"web.token={TOKEN!r}"))):
        ended = causeway(*arguments, config)
        assert "Traceback" not in ended.stderr
        if name.startswith("check"):
            assert ended.returncode in (3, 4), ended.stdout + ended.stderr
        seen.add(name, ended.stdout + ended.stderr)
    seen.add("log", caplog.text)
    assert found_in("\n".join(lines) + "".join(map(str, everything_below(directory).values())))
    seen.check(*COMMANDS)
