"""A secret goes through every error path and is looked for in everything that could be printed."""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.config import Settings, load
from causeway.config.effective import effective
from causeway.config.java_names import JAVA_ALONE, UNSUPPORTED
from causeway.config.properties import REFUSED
from causeway.config.routing import ConfigTable
from causeway.config.schema import TABLES, inner_tables, is_property_table
from causeway.config.toml import written
from causeway.errors import ConfigError

from .conftest import GOOD, Load

CANARY = "cAnArY"
TABLE_PATHS = {"clusters": "clusters.tokyo", "mirrors": "mirrors.0"}


def keys_of(table: type[ConfigTable]) -> list[str]:
    inner = inner_tables(table)
    return [
        *(key for key in table.model_fields if key not in inner and not is_property_table(table, key)),
        *(f"{name}.{key}" for name, model in inner.items() for key in model.model_fields),
    ]


KEYS = [
    f"{TABLE_PATHS.get(section, section)}.{key}"
    for section, table in TABLES.items()
    for key in keys_of(table)
]
SECRETS = [
    CANARY,
    f"{CANARY}[",
    f'["{CANARY}", "{CANARY}["]',
    f"{CANARY}:x",
    f"(?P<{CANARY}>a)(?P<{CANARY}>b)",
]


def everything_printed(error: ConfigError) -> str:
    trace = traceback.format_exception(error)
    return "\n".join([*error.lines(), str(error), repr(error), *trace])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("key", KEYS)
def test_a_value_from_a_reference_is_not_shown(loaded: Load, key: str, secret: str) -> None:
    environ = {"SECRET": secret}
    for reference in ("${env:SECRET}", '["${env:SECRET}"]', "x${env:SECRET}", "${env:SECRET}${env:NOPE}"):
        try:
            loaded(GOOD, f"{key}={reference}", environ=environ)
        except ConfigError as error:
            assert CANARY not in everything_printed(error)
            assert error.problems


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"[clusters.tokyo.properties]\n{name} = '{CANARY}'"
            for name in (*REFUSED, *JAVA_ALONE, *UNSUPPORTED)
        ),
        f"[clusters.tokyo.properties]\nsasl.password = ['{CANARY}']",
        f"[clusters.tokyo.properties]\nsasl.password = '${{{CANARY}}}'",
        f"[clusters.tokyo.properties]\nsasl.password = '${{env:{CANARY}'",
        f"[clusters.tokyo.properties]\nsasl.password = '{CANARY}${{env:NOPE}}'",
        f"[clusters.tokyo.properties]\nsasl.password = '{CANARY}'\n'sasl.password' = '{CANARY}'",
        f"[clusters.tokyo.properties]\n'sasl password' = '{CANARY}'",
        f"[clusters.tokyo.properties]\nsasl.password = {CANARY}",
        f"[clusters.tokyo.properties]\nsasl.password = '{CANARY}",
        f"[clusters.lyon]\npassword = '{CANARY}'",
        f"[clusters.tokyo.sasl]\npassword = '{CANARY}'",
        f"[clusters.tokyo.sasl]\nusername = 'x'\npassword = '{CANARY}'\nmechanism = 'PLAIN'",
        f"[clusters.tokyo.sasl]\npassword = ['{CANARY}']",
        f"[clusters.tokyo.tls]\nkey_password = '{CANARY}'",
        f"[clusters.tokyo.tls]\nkey = ['{CANARY}']\ncertificate = '-----BEGIN PRIVATE KEY-----{CANARY}'",
        f"[clusters.tokyo]\nsasl = '{CANARY}'",
        f"[clusters.tokyo.sasl]\nmechanism = 'OAUTHBEARER'\ntoken_url = 'https://id:{CANARY}@idp'",
        f"[clusters.lyon]\nbootstrap_servers = 'user:{CANARY}@lyon:9092'",
        f"[web.tls]\nkey_password = '{CANARY}'",
        f"[web]\ntoken = ['{CANARY}']",
        f"[web]\nhost = '0.0.0.0'\ntoken = '{CANARY}'",
        f"[metrics]\ntoken = {{ x = '{CANARY}' }}",
        f"[clusters.tokyo]\nsasl.extensions = {{ a = '{CANARY},' }}",
        f"[clusters.lyon]\nproperties = '{CANARY}'\nbootstrap_servers = 'x:1'",
        f"[clusters.lyon]\nproperties = ['{CANARY}']\nbootstrap_servers = 'x:1'",
        f"[spark.properties]\npassword = '{CANARY}'",
        f"[spark.properties]\nspark.ssl.keyPassword = ['{CANARY}']",
        f"password = '{CANARY}'",
        f"[security]\npassword = '{CANARY}'",
    ],
)
def test_a_secret_in_the_file_is_not_shown(loaded: Load, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(GOOD + text)

    assert CANARY not in everything_printed(caught.value)


@pytest.mark.parametrize(
    "option",
    [
        CANARY,
        f"clusters.tokyo.properties.sasl.password:{CANARY}",
        f"={CANARY}",
        f"clusters.tokyo.sasl.password={CANARY}",
        f"clusters.tokio.properties.sasl.password={CANARY}",
        f"clusters.tokyo.properties={CANARY}",
        f"clusters.tokyo.properties.acks={CANARY}",
        f"sasl.password={CANARY}",
        f"spark.properties.password={CANARY}",
    ],
)
def test_a_secret_in_an_option_or_variable_is_not_shown(loaded: Load, option: str) -> None:
    path, _, value = option.partition("=")
    variable = {f"CAUSEWAY__{path.replace('.', '__')}": value} if value else {}
    for overrides, environ in [((option,), {}), (("nothing",), variable)]:
        with pytest.raises(ConfigError) as caught:
            loaded(GOOD, *overrides, environ=environ)
        assert CANARY not in everything_printed(caught.value)


def test_a_secret_is_not_in_the_repr_of_settings(loaded: Load) -> None:
    text = GOOD + f"[clusters.tokyo.properties]\nsasl.password = '{CANARY}'\nsasl.username = 'me'"

    settings = loaded(text, f"spark.properties.spark.ssl.keyPassword={CANARY}")

    assert CANARY not in repr(settings) + str(settings) + repr(settings.clusters) + str(settings.spark)
    assert "me" in repr(settings)


NAMES = st.sampled_from(
    ["clusters", "mirrors", "spark", "paris", "tokyo", "properties", "consumer", "a.b", "0", "x"]
    + [key for table in TABLES.values() for key in table.model_fields]
)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["paris", "tokyo", "5s", "1MiB", "${env:A}", "${env:B}", "${", "auto", "[", "2026-01-31"]
    )
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
MIRRORS = st.lists(st.dictionaries(NAMES, VALUES, max_size=6), max_size=3)
CLUSTERS = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4) | VALUES, max_size=3)
PATHS = st.lists(NAMES, max_size=5)


@settings(max_examples=400, deadline=None)
@pytest.mark.no_cover
@given(
    clusters=CLUSTERS | VALUES,
    mirrors=MIRRORS | VALUES,
    rest=st.dictionaries(NAMES, VALUES, max_size=2),
    paths=st.lists(st.tuples(PATHS, st.sampled_from(["5", "x", "[1]", "", "${env:A}", "= ="])), max_size=4),
)
def test_whatever_is_configured_loads_or_is_refused(
    clusters: object, mirrors: object, rest: dict[str, object], paths: list[tuple[list[str], str]]
) -> None:
    tree = {**rest, "clusters": clusters, "mirrors": mirrors}
    options = [f"{'.'.join(path)}={value}" for path, value in paths]
    variables = {f"CAUSEWAY__{'__'.join(path).upper()}": value for path, value in paths}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "fuzz.toml")
        file.write_text(
            "".join(f"{key} = {written(value)}\n" for key, value in tree.items()), encoding="utf-8"
        )
        try:
            assert isinstance(load(file, options, {**variables, "A": os.sep}), Settings)
        except ConfigError as error:
            assert error.problems
            assert all(problem.isprintable() for problem in error.problems)


def test_the_effective_configuration_shows_no_secret(loaded: Load) -> None:
    tables = {
        "clusters.tokyo.sasl": {"mechanism": "SCRAM-SHA-256", "username": "me", "password": CANARY},
        "clusters.tokyo.tls": {
            "certificate": "/c.pem",
            "key_password": CANARY,
            "key": f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
        },
        "clusters.paris.consumer": {"proxy.url": f"http://me:{CANARY}@proxy:3128", "my.api.key": CANARY},
        "web": {"token": CANARY},
        "web.tls": {"certificate": "/c.pem", "key_password": CANARY},
        "metrics": {"token": CANARY},
        "spark.properties": {"spark.hadoop.fs.s3a.secret.key": CANARY, "spark.x": f"jdbc://me:{CANARY}@db"},
    }
    text = "".join(f"[{name}]\n{_lines(table)}" for name, table in tables.items())
    settings = loaded(GOOD + text)

    shown = effective(settings, settings.mirrors[0])

    assert shown.count("***") == 10
    assert CANARY not in shown + repr(settings) + str(settings)


def _lines(table: dict[str, str]) -> str:
    return "".join(f"{written(key)} = {written(value)}\n" for key, value in table.items())
