"""kaf-relay's configurations, of both generations, and their translations."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.translation import Translation
from causeway.config import Settings
from causeway.errors import ConfigError

# Every key that kaf-relay has had since [[sources]] came, with the values that its users start from.
NEWER = """
[app]
log_level = "debug"
metrics_server_addr = ":7081"
[[topics]]
orders = "orders_copy:1"
payments = "payments_copy"
[source_pool]
initial_offset = "start"
instance_id = "client_instance_id"
group_id = "consumer_group"
healthcheck_interval = "3s"
offset_lag_threshold = 1000
max_retries = -1
backoff_enable = true
backoff_min = "2s"
backoff_max = "10s"
request_timeout = "100ms"
randomize_initial = false
[[sources]]
name = "node1"
servers = ["node1:9092"]
session_timeout = "6s"
enable_auth = true
sasl_mechanism = "PLAIN"
username = "user-x"
password = "pass-x"
max_wait_time = "10ms"
max_failovers = -1
enable_tls = false
client_key_path = ""
client_cert_path = ""
ca_cert_path = ""
enable_log = false
[[sources]]
name = "node2"
servers = ["node2:9092"]
[target]
name = "node3"
servers = ["node3:9095"]
enable_log = false
enable_auth = true
sasl_mechanism = "SCRAM-SHA-512"
username = "user-y"
password = "pass-y"
enable_idempotency = true
commit_ack_type = "cluster"
flush_frequency = "20ms"
session_timeout = "6s"
enable_tls = false
client_key_path = ""
client_cert_path = ""
ca_cert_path = ""
max_retries = -1
flush_batch_size = 1000
batch_size = 1000
buffer_size = 100000
max_message_bytes = 10000000
compression = "zstd"
backoff_enable = true
backoff_min = "2s"
backoff_max = "10s"
request_timeout = "100ms"
[filters.test]
enabled = false
path = "test.bin"
config = '{"db": 10}'
"""

# The same of the generation before, which the tool's page describes.
OLDER = """
[app]
max_failovers = -1
log_level = "debug"
metrics_server_addr = ":7081"
lag_threshold = 100
node_health_check_frequency = "500ms"
max_request_duration = "100ms"
[app.retry_backoff]
enable = true
min = "1s"
max = "10s"
[[consumers]]
name = "node1"
servers = ["node1:9092"]
session_timeout = "6s"
enable_auth = true
sasl_mechanism = "PLAIN"
username = "user-x"
password = "pass-x"
max_wait_time = "10ms"
offset_commit_interval = "100ms"
initial_offset = "start"
group_id = "relay_group1"
instance_id = "kaf_relay"
max_failovers = -1
enable_tls = false
client_key_path = ""
client_cert_path = ""
ca_cert_path = ""
enable_log = false
[[consumers]]
name = "node2"
servers = ["node2:9092"]
group_id = "relay_group2"
[topics]
orders = "machineX_orders"
[producer]
name = "node3"
servers = ["node3:9092"]
enable_auth = true
sasl_mechanism = "PLAIN"
username = "user-y"
password = "pass-y"
max_retries = -1
enable_idempotency = true
commit_ack_type = "cluster"
flush_frequency = "20ms"
session_timeout = "6s"
flush_batch_size = 1000
batch_size = 1000
max_message_bytes = 10000000
enable_tls = false
client_key_path = ""
client_cert_path = ""
ca_cert_path = ""
enable_log = false
[producer.partitioning]
orders = [{'src' = 0, 'dest'=1}, {'src' = 1, 'dest'=2}]
[filter.testfilter]
config = '{"db": 10}'
"""

PLAIN = """
[topics]
orders = "copy"
[[sources]]
name = "here"
servers = ["here:9092"]
[target]
name = "there"
servers = ["there:9092"]
"""

BEFORE = """
[topics]
orders = "copy"
[[consumers]]
name = "here"
servers = ["here:9092"]
group_id = "relay"
[producer]
name = "there"
servers = ["there:9092"]
"""


def relay(text: str = PLAIN, more: Mapping[str, Any] | None = None, **options: Any) -> Translation:
    """The translation of a file, and of what is merged into it."""
    tree = merged([tomllib.loads(text), more or {}])
    return translate(tree, "config.toml", Options(**options), Path("/somewhere"))


def settings(translated: Translation) -> Settings:
    return translated.settings([], Path("/somewhere"))


def mirror(text: str = PLAIN, more: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The mirror's table, which must load."""
    translated = relay(text, more, **options)
    settings(translated)
    return translated.mirrors[0]


def problems(text: str = PLAIN, more: Mapping[str, Any] | None = None, **options: Any) -> list[str]:
    translated = relay(text, more, **options)
    with pytest.raises(ConfigError) as caught:
        settings(translated)
    assert caught.value.exit_code == 3
    return list(caught.value.problems)


def notes(text: str = PLAIN, more: Mapping[str, Any] | None = None, **options: Any) -> list[str]:
    translated = relay(text, more, **options)
    settings(translated)
    return translated.notes


def node(generation: str, **values: Any) -> dict[str, Any]:
    return {generation: [{"name": "here", "servers": ["here:9092"], **values}]}
