"""[pools.<name>]: clusters with the same records, and the mirrors that read from them."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.config import PoolSettings, reference
from causeway.config.effective import effective
from causeway.core.source_pool import SourcePool
from causeway.planning.clusters import cluster_of, pool_of

from .conftest import CLUSTERS, MIRROR, Load, Problems

NODES = "".join(
    f'[clusters.{name}]\nbootstrap_servers = "{name}:9092"\n[clusters.{name}.properties]\n'
    f'"client.id" = "of-{name}"\n'
    for name in ("north", "south")
)
POOL = '[pools.coast]\nnodes = ["north", "south"]\n'
FROM_POOL = MIRROR.replace('source = "paris"', 'source = "coast"')
GOOD = CLUSTERS + NODES + POOL + FROM_POOL
EVERY_KEY = """healthcheck_interval = "500ms"
request_timeout = "100ms"
lag_threshold = 0
hysteresis = "0ms"
max_failovers = 7
backoff_min = "2s"
backoff_max = "2s"
jitter = 0
initial = "random"
"""


def test_a_pool_with_its_defaults(loaded: Load) -> None:
    settings = loaded(GOOD)

    assert settings.mirrors[0].source == ("coast",)
    assert settings.pools["coast"].__dict__ == {
        "nodes": ("north", "south"),
        "healthcheck_interval": 3.0,
        "request_timeout": 1.0,
        "lag_threshold": 1_000,
        "hysteresis": 10.0,
        "max_failovers": None,
        "backoff_min": 1.0,
        "backoff_max": 10.0,
        "jitter": 0.2,
        "initial": "first",
    }


def test_the_defaults_are_those_of_the_value(loaded: Load) -> None:
    settings = loaded(GOOD)
    pool = pool_of(settings, "coast")
    assert pool is not None
    assert pool == SourcePool("coast", "", pool.nodes)
    assert [(node.name, node.cluster_id) for node in pool.nodes] == [("north", ""), ("south", "")]
    assert [node.cluster for node in pool.nodes] == [
        cluster_of(settings, name) for name in ("north", "south")
    ]
    assert pool_of(settings, "north") is None


def test_every_key_can_be_set(loaded: Load) -> None:
    pool = pool_of(loaded(CLUSTERS + NODES + POOL + EVERY_KEY + FROM_POOL), "coast")
    assert pool is not None
    assert {**pool.to_json(), "nodes": []} == {
        "name": "coast",
        "id": "",
        "nodes": [],
        "healthcheck_interval": 0.5,
        "request_timeout": 0.1,
        "lag_threshold": 0,
        "max_failovers": 7,
        "backoff_min": 2.0,
        "backoff_max": 2.0,
        "jitter": 0.0,
        "initial": "random",
        "hysteresis": 0.0,
    }
    assert SourcePool.from_json(pool.to_json()) == pool


def test_settings_survive_json(loaded: Load) -> None:
    for text in (GOOD, CLUSTERS + NODES + POOL + EVERY_KEY + FROM_POOL):
        settings = loaded(text)
        assert type(settings).model_validate_json(settings.model_dump_json()) == settings


def test_no_limit_of_failovers_has_a_name(loaded: Load) -> None:
    named = loaded(CLUSTERS + NODES + POOL + 'max_failovers = "none"\n' + FROM_POOL)
    assert named.pools == loaded(GOOD).pools
    assert named.pools["coast"].model_dump()["max_failovers"] == "none"


@pytest.mark.parametrize(
    ("origin", "environ"),
    [
        (["pools.coast.lag_threshold=5", 'pools.coast.nodes=["north"]', "pools.coast.initial=freshest"], {}),
        (
            [],
            {
                "CAUSEWAY__POOLS__COAST__LAG_THRESHOLD": "5",
                "CAUSEWAY__POOLS__COAST__NODES": '["north"]',
                "CAUSEWAY__POOLS__COAST__INITIAL": "freshest",
            },
        ),
    ],
)
def test_overrides_name_pools_by_alias(loaded: Load, origin: list[str], environ: dict[str, str]) -> None:
    pool = loaded(GOOD, *origin, environ=environ).pools["coast"]
    assert (pool.nodes, pool.lag_threshold, pool.initial) == (("north",), 5, "freshest")


def test_variables_can_define_a_pool_and_its_nodes(loaded: Load) -> None:
    environ = {
        "CAUSEWAY__POOLS__COAST__NODES": "north",
        "CAUSEWAY__CLUSTERS__NORTH__BOOTSTRAP_SERVERS": "north:9092",
    }
    in_file = loaded(CLUSTERS + POOL.replace(', "south"', "") + FROM_POOL, environ=environ)
    assert in_file.clusters["north"].bootstrap_servers == "north:9092"
    assert in_file.pools["coast"].nodes == ("north",)


def test_a_pool_that_only_a_mirror_names_can_be_defined_by_a_variable(loaded: Load) -> None:
    environ = {"CAUSEWAY__POOLS__COAST__NODES": '["north", "south"]'}
    assert loaded(CLUSTERS + NODES + FROM_POOL, environ=environ).pools == loaded(GOOD).pools


def test_pools_that_no_mirror_uses_are_fine(loaded: Load) -> None:
    assert list(loaded(CLUSTERS + NODES + POOL + MIRROR).pools) == ["coast"]


def test_a_list_of_sources_may_have_a_pool_and_settings_for_it(loaded: Load) -> None:
    mirror = MIRROR.replace('"paris"\nd', '["paris", "coast"]\nd') + 'per_source.coast.prefix = "coast."\n'
    settings = loaded(CLUSTERS + NODES + POOL + mirror)
    assert settings.mirrors[0].source == ("paris", "coast")
    assert settings.mirrors[0].for_source("coast").prefix == "coast."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GOOD.replace('["north", "south"]', '["north", "sout"]'),
            'pools.coast.nodes[1]: there is no cluster "sout", did you mean "south"?',
        ),
        (
            GOOD.replace('source = "coast"', 'source = "coats"'),
            'mirrors[0].source: there is no cluster or pool "coats", did you mean "coast"?',
        ),
        (
            GOOD.replace('["north", "south"]', '["north", "north"]'),
            'pools.coast.nodes[1]: cluster "north" is named twice',
        ),
        (GOOD.replace('["north", "south"]', "[]"), "pools.coast.nodes: must not be empty"),
        (
            GOOD.replace('nodes = ["north", "south"]', ""),
            'pools.coast.nodes: missing, for example nodes = ["paris-a",',
        ),
        (
            GOOD.replace('source = "coast"', 'source = ["coast", "coast"]'),
            'mirrors[0].source[1]: pool "coast" is named twice',
        ),
        (
            GOOD.replace("[pools.coast]", "[pools.north]").replace('source = "coast"', 'source = "paris"'),
            "pools.north: is the alias of a cluster as well: mirrors could mean either",
        ),
        (
            GOOD.replace('source = "coast"', 'source = ["coast", "south"]'),
            'mirrors[0].source[1]: cluster "south" is a source itself and a node of the pool "coast"',
        ),
        (
            GOOD.replace(POOL, POOL + '[pools.port]\nnodes = "south"\n').replace(
                'source = "coast"', 'source = ["coast", "port"]'
            ),
            'mirrors[0].source[1]: cluster "south" is a node of the pool "port" and a node of the pool '
            '"coast"',
        ),
        (
            CLUSTERS + NODES + POOL + MIRROR.replace('"tokyo"', '"coast"'),
            'mirrors[0].destination: must be a cluster: "coast" is a pool, and pools are sources',
        ),
        (
            GOOD.replace('destination = "tokyo"', 'destination = "south"'),
            'mirrors[0].destination: is a node of the pool "coast", which is a source of this mirror',
        ),
        (
            GOOD.replace(POOL, POOL + 'backoff_min = "11s"\n'),
            "pools.coast: backoff_max must not be shorter than backoff_min",
        ),
        (
            GOOD.replace(POOL, POOL + "jitter = 1.5\n"),
            "pools.coast.jitter: must be a number from 0 to 1, not 1.5",
        ),
        (
            GOOD.replace(POOL, POOL + 'initial = "last"\n'),
            'pools.coast.initial: must be one of "first", "random", "freshest", not "last"',
        ),
        (
            GOOD.replace(POOL, POOL + "max_failovers = -1\n"),
            "pools.coast.max_failovers: must be at least 0, not -1",
        ),
        (
            GOOD.replace(POOL, POOL + 'max_failovers = "no"\n'),
            'pools.coast.max_failovers: must be "none" or an integer, not "no"',
        ),
        (
            GOOD.replace(POOL, POOL + "lag_treshold = 1\n"),
            'pools.coast.lag_treshold: unknown key, did you mean "lag_threshold"?',
        ),
        (
            GOOD.replace(POOL, POOL + "lag_threshold = -1\n"),
            "pools.coast.lag_threshold: must be at least 0, not -1",
        ),
        (
            GOOD.replace(POOL, POOL + 'request_timeout = "1ms"\n'),
            'pools.coast.request_timeout: must be between "10ms" and "5m", not "1ms"',
        ),
    ],
)
def test_a_wrong_pool(problems: Problems, text: str, expected: str) -> None:
    found = problems(text)
    assert len(found) == 1, found
    assert found[0].startswith(f"mirror.toml: {expected}")


def test_one_problem_for_pools_that_are_no_tables(problems: Problems) -> None:
    assert problems("pools = 1\n" + CLUSTERS + MIRROR) == ["mirror.toml: pools: must be a table, not 1"]
    assert problems("pools.x = 1\n" + CLUSTERS + MIRROR) == ["mirror.toml: pools.x: must be a table, not 1"]


def test_an_option_for_a_pool_that_does_not_exist(problems: Problems) -> None:
    assert problems(GOOD, "pools.coats.jitter=0") == [
        '-X pools.coats.jitter: pools.coats: there is no such pool, did you mean "coast"?'
    ]


def test_the_effective_configuration_shows_the_pool_and_its_nodes(loaded: Load) -> None:
    settings = loaded(GOOD)
    text = effective(settings, settings.mirrors[0])
    assert [line for line in text.splitlines() if line.startswith("[")][:5] == [
        "[clusters.north]",
        "[clusters.south]",
        "[clusters.tokyo]",
        "[pools.coast]",
        "[[mirrors]]",
    ]
    assert 'nodes = ["north", "south"]\nhealthcheck_interval = "3s"\n' in text
    assert 'max_failovers = "none"\n' in text


def test_a_row_of_the_reference() -> None:
    rows = reference.render().splitlines()
    assert "## `[pools.<name>]`" in rows
    (limit,) = [row for row in rows if row.startswith("| `max_failovers`")]
    assert limit.startswith('| `max_failovers` | "none" or an integer, at least 0 | `"none"` | ')


def test_settings_of_a_pool_are_frozen() -> None:
    pool: Any = PoolSettings(nodes=("a",))
    with pytest.raises(ValueError, match="frozen"):
        pool.jitter = 1.0
