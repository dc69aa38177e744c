"""`causeway config show` prints what is in effect, and no secret."""

from __future__ import annotations

import tomllib
from pathlib import Path

from support.canaries import canary, found_in
from support.typed import causeway

CONFIG = """
[clusters.paris]
bootstrap_servers = "${env:PARIS}"
[clusters.paris.sasl]
mechanism = "SCRAM-SHA-512"
username = "ann"
password = "${env:SECRET}"
[clusters.tokyo]
bootstrap_servers = "tokyo:1"
[[mirrors]]
name = "one"
source = "paris"
destination = "tokyo"
topics = ["a"]
[[mirrors]]
name = "two"
source = "tokyo"
destination = "paris"
topics = ["b"]
"""


def test_the_effective_configuration(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(CONFIG)
    environ = {"PARIS": "paris:1", "SECRET": canary("env"), "CAUSEWAY__MIRRORS__ONE__SHARDS": "3"}
    option = f"clusters.tokyo.properties.sasl.password={canary('option')}".replace('"', "'")
    shown = causeway("config", "show", file, "--mirror", "one", "-X", option, environ=environ)

    assert shown.returncode == 0, shown.stderr
    assert found_in(shown.stdout + shown.stderr) == []
    tables = tomllib.loads(shown.stdout)
    assert [mirror["name"] for mirror in tables["mirrors"]] == ["one"]
    assert tables["mirrors"][0]["shards"] == 3
    assert tables["clusters"]["paris"]["sasl"]["password"] == "${env:SECRET}"
    assert tables["clusters"]["tokyo"]["properties"]["sasl.password"] == "***"

    both = causeway("config", "show", file, environ=environ).stdout
    assert both.count("[[mirrors]]") == 2
    unknown = causeway("config", "show", file, "--mirror", "three", environ=environ)
    assert (unknown.returncode, unknown.stderr.splitlines()[0]) == (2, "error: no mirror is named three")
