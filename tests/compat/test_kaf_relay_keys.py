"""kaf-relay's keys, one by one: what each becomes, its notes, what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.config import secrets
from causeway.config.client_tables import client_tables
from support.kaf_relay import BEFORE, PLAIN, mirror, node, notes, problems, relay, settings

RETRIES = "Causeway retries without a limit, with its own backoff"
START = (
    "kaf-relay does not read it and starts at the earliest offset, as Causeway does; -X mirrors.0.start=… "
    "changes that"
)


@pytest.mark.parametrize(
    ("table", "key", "value", "note_text"),
    [
        ("app", "max_failovers", 3, RETRIES),
        ("app", "max_failovers", -1, None),
        ("app", "metrics_server_addr", "", None),
        ("app", "initial_offset", "end", START),
        ("source_pool", "initial_offset", "end", START),
        ("source_pool", "initial_offset", "start", None),
        ("source_pool", "max_retries", 5, RETRIES),
        ("source_pool", "max_retries", -1, None),
        ("source_pool", "randomize_initial", True, "has no effect with --mode single, "),
        ("source_pool", "randomize_initial", False, None),
        ("target", "max_retries", 5, RETRIES),
        ("target", "enable_idempotency", False, "producers are always idempotent and transactional"),
        ("target", "enable_idempotency", True, None),
        ("target", "commit_ack_type", "tcp", "every record is acknowledged by all in-sync replicas"),
        ("target", "commit_ack_type", "leader", "every record is acknowledged by all in-sync replicas"),
        ("target", "commit_ack_type", "cluster", None),
        ("target", "commit_ack_type", "default", None),
        ("target", "commit_ack_type", "", None),
        ("target", "enable_log", True, "Causeway reports errors; its clients write no log"),
        ("target", "enable_log", False, None),
        ("target", "buffer_size", 10, None),
        ("target", "compression", "gzip", None),
    ],
)  # fmt: skip
def test_differences_have_notes_and_equal_behaviour_has_none(
    table: str, key: str, value: object, note_text: str | None
) -> None:
    about = [note for note in notes(PLAIN, {table: {key: value}}) if note.startswith(f"{table}.{key}: ")]
    assert [note.partition(": ")[2].startswith(note_text or "") for note in about] == [True] * (
        note_text is not None
    )


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"buffer_size": 500}, {"queue_records": 500}),
        ({"buffer_size": "500"}, {"queue_records": 500}),
        ({"buffer_size": 0}, {}),
        ({"buffer_size": 20_000_000}, {"queue_records": 10_000_000}),
        ({"compression": ""}, {"compression": "none"}),
        ({"compression": "none"}, {"compression": "none"}),
        ({"compression": "snappy"}, {"compression": "snappy"}),
        ({"compression": "lz4"}, {"compression": "lz4"}),
    ],
)
def test_how_records_are_written(more: dict[str, Any], wanted: dict[str, Any]) -> None:
    for text, table in ((PLAIN, "target"), (BEFORE, "producer")):
        table_of_mirror = mirror(text, {table: more})
        kept = {
            key: table_of_mirror[key] for key in table_of_mirror if key == "queue_records" or key in wanted
        }
        assert kept == wanted


@pytest.mark.parametrize(
    ("given", "linger"),
    [("20ms", "20"), ("1s", "1000"), ("1m30s", "90000"), ("500us", "0.5"), ("0", "0"), (20_000_000, "20"),
     ("1.5s", "1500"), (".5ms", "0.5"), ("+2ms", "2")],
)  # fmt: skip
def test_durations_as_go_writes_them(given: object, linger: str) -> None:
    relayed = relay(PLAIN, {"target": {"flush_frequency": given}})
    assert settings(relayed).clusters["there"].producer == {"linger.ms": linger}


def test_the_group_of_each_generation() -> None:
    pool = mirror(PLAIN, {"source_pool": {"group_id": "g"}})
    assert (pool["name"], pool["source_group_name"]) == ("kaf-relay-g", "g")
    between = mirror(PLAIN, {"app": {"group_id": "g"}})
    assert (between["name"], between["source_group_name"]) == ("kaf-relay-g", "g")
    own = mirror(BEFORE)
    assert (own["name"], own["source_group_name"]) == ("kaf-relay-relay", "relay")
    # A key that kaf-relay does not read any more.
    assert mirror(PLAIN, node("sources", group_id="g"))["source_group"] is False
    assert "sources[].group_id: kaf-relay does not read it either" in notes(
        PLAIN, node("sources", group_id="g")
    )


@pytest.mark.parametrize(
    ("interval", "commits"), [("100ms", True), ("0", False), ("0s", False), (0, False), (None, True)]
)
def test_a_commit_interval_of_zero_means_no_group(interval: object, commits: bool) -> None:
    more = {} if interval is None else {"offset_commit_interval": interval}
    table = mirror(BEFORE, node("consumers", group_id="g", **more))
    assert table.get("source_group", True) is commits
    assert table["name"] == "kaf-relay-g", "the ledger keeps its name"


@pytest.mark.parametrize("generation", ["sources", "consumers"])
def test_names_of_clusters(generation: str) -> None:
    text = PLAIN if generation == "sources" else BEFORE
    target = "target" if generation == "sources" else "producer"
    nodes = [
        {"servers": ["a:1"]},
        {"name": "b.example:1", "servers": "b:1, c:1"},
        {"name": "x", "servers": ["d"]},
    ]
    relayed = relay(text, {generation: nodes, target: {"name": "x"}}, mode="failover")
    assert list(settings(relayed).clusters) == ["node1", "b-example-1", "x", "x-2"]
    assert settings(relayed).clusters["b-example-1"].bootstrap_servers == "b:1,c:1"
    assert settings(relayed).mirrors[0].destination == "x-2"
    assert settings(relayed).pools["pool"].nodes == ("node1", "b-example-1", "x")


def test_one_node_may_be_a_table() -> None:
    assert mirror(PLAIN, {"sources": {"name": "other", "servers": ["o:1"]}})["source"] == "other"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("tls", "protocol"), [(True, "SASL_SSL"), (False, "SASL_PLAINTEXT")])
def test_authentication(mechanism: str, tls: bool, protocol: str) -> None:
    given = {"enable_auth": "true", "sasl_mechanism": mechanism, "username": "me", "password": 1234}
    relayed = relay(PLAIN, node("sources", enable_tls=tls, **given))
    loaded = settings(relayed)
    assert client_tables(loaded.clusters["here"]).properties == {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": "me",
        "sasl.password": "1234",
    }
    unencrypted = (
        "username and password of sources[0] in config.toml: PLAIN without TLS sends the password "
        "unencrypted, as with kaf-relay; use TLS"
    )
    assert (unencrypted in relayed.notes) is (mechanism == "PLAIN" and not tls)


def test_authentication_that_is_not_enabled_is_not_used() -> None:
    loaded = settings(relay(PLAIN, node("sources", sasl_mechanism="none", username="me", ca_cert_path="x")))
    assert client_tables(loaded.clusters["here"]).properties == {}


def test_tls_with_and_without_files(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").touch()
    files = {"client_cert_path": "cert.pem", "client_key_path": str(tmp_path / "key.pem")}

    def properties(**more: str) -> dict[str, str]:
        tree = merged([tomllib.loads(PLAIN), node("sources", enable_tls=True, **more)])
        relayed = translate(tree, "config.toml", Options(), tmp_path)
        return dict(client_tables(relayed.settings([], tmp_path).clusters["here"]).properties)

    ca = {"ssl.ca.location": f"{tmp_path}/ca.pem"}
    assert properties() == {"security.protocol": "SSL"}
    assert properties(ca_cert_path="ca.pem") == {"security.protocol": "SSL", **ca}
    assert properties(ca_cert_path="ca.pem", **files) == {
        "security.protocol": "SSL",
        **ca,
        "ssl.certificate.location": f"{tmp_path}/cert.pem",
        "ssl.key.location": f"{tmp_path}/key.pem",
    }


@trials(deadline=None)
@given(st.text(st.sampled_from("${}envfile:/HOME\\\"' ä"), min_size=1), st.text(min_size=1, max_size=20))
def test_a_password_is_passed_on_unchanged(tricky: str, free: str) -> None:
    for password in (tricky, free):
        given = {"enable_auth": True, "sasl_mechanism": "PLAIN", "username": password, "password": password}
        properties = client_tables(
            settings(relay(PLAIN, node("sources", **given))).clusters["here"]
        ).properties
        assert secrets.resolve(properties["sasl.password"]) == password
        assert secrets.resolve(properties["sasl.username"]) == password


BAD = [
    ({"tapp": {}}, 'tapp: unknown table, did you mean "app"?'),
    ({"mode": "failover"}, "mode: is an option: pass it as --mode"),
    ({"app": 1}, "app: must be a table"),
    ({"app": {"log_levle": "x"}}, 'app.log_levle: unknown key, did you mean "log_level"?'),
    ({"app": {"log_level": True}}, "app.log_level: must be a string, not true"),
    ({"app": {"lag_threshold": "many"}}, 'app.lag_threshold: must be an integer, not "many"'),
    ({"app": {"max_request_duration": "100"}},
     'app.max_request_duration: must be a duration such as "100ms" or "6s", not "100"'),
    ({"app": {"retry_backoff": {"mean": "1s"}}},
     "app.retry_backoff.mean: unknown key"),
    ({"app": {"retry_backoff": {"min": "1 s"}}},
     'app.retry_backoff.min: must be a duration such as "100ms" or "6s", not "1 s"'),
    ({"source_pool": {"backoff_enable": "perhaps"}},
     'source_pool.backoff_enable: must be true or false, not "perhaps"'),
    ({"source_pool": {"group_id": "g" * 250}},
     'source_pool.group_id: must have at most 249 characters, none of them a control character, '
     f'not "{"g" * 59}…'),
    ({"target": {"server": ["a:1"]}}, 'target.server: unknown key, did you mean "servers"?'),
    ({"target": {"servers": 1}},
     'target.servers: must be a list of strings, for example ["node1:9092"], not 1'),
    ({"target": {"servers": ["a:b"]}},
     'target.servers: must be "host:port", or several separated by commas, not "a:b"'),
    ({"target": {"servers": []}}, 'target.servers: missing, for example servers = ["node1:9092"]'),
    ({"target": {"partitioning": {"orders": 1}}}, "target.partitioning: unknown key"),
    ({"target": {"compression": "zst"}},
     'target.compression: must be one of none, gzip, snappy, lz4, zstd, not "zst", did you mean "zstd"?'),
    ({"target": {"commit_ack_type": "all"}},
     'target.commit_ack_type: must be one of tcp, leader, cluster, default, not "all"'),
    ({"target": {"buffer_size": -1}}, "target.buffer_size: must not be negative, not -1"),
    ({"target": {"flush_frequency": "-1s"}}, "target.flush_frequency: must be between 0s and 15m"),
    ({"target": {"flush_frequency": "1h"}}, "target.flush_frequency: must be between 0s and 15m"),
    ({"sources": []}, "sources: missing: each node to read from is written as [[sources]]"),
    ({"sources": [1]}, "sources[0]: must be a table"),
    (node("sources", enable_auth=True),
     "sources[0].sasl_mechanism: enable_auth needs one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
    (node("sources", enable_auth=True, sasl_mechanism="SCRAM-SHA-521"),
     "sources[0].sasl_mechanism: enable_auth needs one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, not "
     '"SCRAM-SHA-521", did you mean "SCRAM-SHA-512"?'),
    (node("sources", password=["pass-x"]), "sources[0].password: must be a string"),
    (node("sources", enable_tls=True, ca_cert_path="no.pem"),
     "sources[0].ca_cert_path: there is no file /somewhere/no.pem"),
    (node("sources", enable_tls=True, client_key_path="/dev/null"),
     "sources[0].client_cert_path: missing: a client certificate needs its key, and a key its certificate"),
    ({"filters": 1}, "filters: each filter is written as [filters.<id>]"),
    ({"filters": {"x": {"enable": True}}}, 'filters.x.enable: unknown key, did you mean "enabled"?'),
    ({"consumers": [], "producer": {}},
     "consumers, producer, sources, target: tables of two generations of kaf-relay: keep [[consumers]] and "
     "[producer], or [[sources]] and [target]"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "problem"), BAD, ids=[problem.split(":")[0] for _, problem in BAD])
def test_what_cannot_be_honoured(more: dict[str, Any], problem: str) -> None:
    assert problem in problems(PLAIN, more)


def test_all_problems_are_reported_at_once() -> None:
    assert problems("[app]\nlog_levle = 1") == [
        'app.log_levle: unknown key, did you mean "log_level"?',
        "sources: missing: each node to read from is written as [[sources]]",
        "target: missing: [target] is the destination",
    ]
