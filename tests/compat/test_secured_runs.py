"""Configurations of other tools that have logins and TLS, as they are, between secured clusters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from causeway.local_kafka.ports import free_ports
from support.door import door
from support.kaf_relay import NEWER, OLDER
from support.placing import assert_all_in_order
from support.secure_cluster import PLAIN_PASSWORD, PLAIN_USER, SecureCluster
from support.typed import causeway
from support.world import World

RUN = "kaf-relay --config config.toml --mode single --stop-at-end"


@pytest.fixture
def secured(
    secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    monkeypatch.chdir(tmp_path)
    return World(secure.cluster, secure_destination.cluster, tmp_path)


def relay_sample(sample: str, source: SecureCluster, destination: SecureCluster) -> str:
    """The sample with TLS enabled, and other addresses, credentials and paths of certificates."""
    (port,) = free_ports(1)
    mechanism = re.findall(r'sasl_mechanism = "(.*)"', sample)[1]
    user, password = destination.user(mechanism)
    here, there = source.cluster.servers_of("SASL_TLS"), destination.cluster.servers_of("SASL_TLS")
    text = sample.replace("enable_tls = false", "enable_tls = true").replace(":7081", f":{port}")
    text = text.replace('"node1:9092"', f'"{here}"').replace('"node3:9095"', f'"{there}"')
    text = text.replace('"node3:9092"', f'"{there}"')
    for given, wanted in (
        ("user-x", PLAIN_USER), ("pass-x", PLAIN_PASSWORD), ("user-y", user), ("pass-y", password)
    ):  # fmt: skip
        text = text.replace(f'"{given}"', json.dumps(wanted))
    for cluster in (source, destination):
        files = cluster.authority.client("relay")
        paths = {"client_key": files.key, "client_cert": files.certificate, "ca_cert": cluster.authority.file}
        for key, path in paths.items():
            text = text.replace(f'{key}_path = ""', f'{key}_path = "{path}"', 1)
    return text


@pytest.mark.parametrize("generation", ["newer", pytest.param("older", marks=pytest.mark.long)])
def test_kaf_relays_sample_with_enable_auth_and_enable_tls(
    secured: World, secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path, generation: str
) -> None:
    world, sample = secured, {"newer": NEWER, "older": OLDER}[generation]
    orders, copy = world.topic("orders", 3), world.name("copy")
    world.produce(orders, world.numbers(300, 3))
    text = relay_sample(sample, secure, secure_destination)
    assert text.count("enable_auth = true") == text.count("enable_tls = true") == 2
    topics = re.compile(r"^\[\[?topics\]\]?\n(?:\w+ = .*\n)+", re.M)
    text = topics.sub(f'[topics]\n"{orders}" = "{copy}"\n', text).replace("\norders = [", f'\n"{copy}" = [')
    text = re.sub(r"(group|instance)_id = .*\n", "", text) if generation == "newer" else text
    (tmp_path / "config.toml").write_text(text)

    with door(tmp_path, *RUN.split(), env={}) as relay:
        assert relay.wait() == 0, relay.output
    assert PLAIN_PASSWORD not in relay.output
    assert "unsafe" not in relay.output
    assert "Traceback" not in relay.output
    assert_all_in_order(world.read(orders, "source"), world.read(copy))


def test_go_mirrormaker_with_logins_of_both_styles_of_names(
    secured: World, secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path
) -> None:
    """Java's names at the source, librdkafka's at the destination."""
    world = secured
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(200, 2))
    user, password = secure.user("SCRAM-SHA-512")
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    (tmp_path / "c.config").write_text(
        f"bootstrap.servers={secure.cluster.servers_of('SASL_TLS')}\ngroup.id={world.mirror}\n"
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={jaas} username="{user}" \\\n    password="{password}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={secure.authority.file}\n"
    )
    properties = secure_destination.mutual_tls()
    (tmp_path / "p.config").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    line = ("--consumer.config", "c.config", "--producer.config", "p.config", "--whitelist", topic)

    with door(tmp_path, "mirrormaker", *line, "--stop-at-end", env={}) as mirrormaker:
        assert mirrormaker.wait() == 0, mirrormaker.output
    assert password not in mirrormaker.output
    assert_all_in_order(world.read(topic, "source"), world.read(topic))


@pytest.mark.long
def test_mirrormaker_2s_properties_with_logins(
    secured: World, secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path
) -> None:
    """Converted, with its secrets as variables, and run."""
    world = secured
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(200, 2))
    lines = ["clusters = A, B", "A->B.enabled = true", f"A->B.topics = {topic}", "replication.factor = 1"]
    lines += ["replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy"]
    variables = {}
    for alias, cluster in (("A", secure), ("B", secure_destination)):
        user, password = cluster.user("SCRAM-SHA-256")
        variables[f"{alias}_SASL_PASSWORD"] = password
        jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        lines += [
            f"{alias}.bootstrap.servers = {cluster.cluster.servers_of('SASL_TLS')}",
            f"{alias}.security.protocol = SASL_SSL",
            f"{alias}.sasl.mechanism = SCRAM-SHA-256",
            f'{alias}.sasl.jaas.config = {jaas} username="{user}" password="{password}";',
            f"{alias}.ssl.truststore.type = PEM",
            f"{alias}.ssl.truststore.location = {cluster.authority.file}",
        ]
    (tmp_path / "mm2.properties").write_text("\n".join(lines) + "\n")

    converted = causeway("convert", "mm2", "mm2.properties")
    assert converted.returncode == 0, converted.stderr
    assert not [each for each in variables.values() if each in converted.stdout + converted.stderr]
    (tmp_path / "mirror.toml").write_text(converted.stdout)
    world.carry_all(tmp_path / "mirror.toml", env=variables)
    assert_all_in_order(world.read(topic, "source"), world.read(topic))
