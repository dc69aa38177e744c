"""The configuration as the page shows it: all that is in effect, and no secret of it."""

from __future__ import annotations

import tomllib

from causeway.config.effective import effective

from .conftest import GOOD, Load

SECRET = "cAnArY"


def test_it_is_toml_with_the_defaults_filled_in(loaded: Load) -> None:
    settings = loaded(GOOD, "mirrors.0.shards=3")
    read = tomllib.loads(effective(settings, settings.mirrors[0]))

    assert read["mirrors"][0]["shards"] == 3
    assert read["mirrors"][0]["slice"] == "5m"
    assert read["web"]["port"] == "auto"
    assert set(read["clusters"]) == {*settings.mirrors[0].source, settings.mirrors[0].destination}


def test_secrets_are_not_in_it_wherever_they_stand(loaded: Load) -> None:
    text = (
        GOOD
        + f"""
[clusters.tokyo.properties]
sasl.password = "{SECRET}"
[clusters.tokyo.consumer]
ssl.key.pem = "{SECRET}"
[[mirrors.filters]]
filter = "a.b:c"
config = {{ inner = {{ api_key = "{SECRET}", tokens = ["{SECRET}"] }} }}
[spark.properties]
spark.ssl.keyPassword = "{SECRET}"
[web]
token = "{SECRET}"
"""
    )
    settings = loaded(text)
    shown = effective(settings, settings.mirrors[0])

    assert shown.count("***") == 6
    assert SECRET not in shown
    assert SECRET not in repr(settings)


def test_a_reference_is_shown_as_it_is(loaded: Load) -> None:
    text = (
        '[clusters.tokyo.properties]\nsasl.password = "${env:P}"\n'
        '[spark.properties]\nspark.innocent = "a:${env:P}"\nspark.ssl.keyPassword = "${env:P}"\n'
    )
    settings = loaded(GOOD + text, environ={"P": SECRET})
    shown = effective(settings, settings.mirrors[0])

    assert '"sasl.password" = "${env:P}"' in shown
    assert '"spark.innocent" = "a:${env:P}"' in shown
    assert '"spark.ssl.keyPassword" = "${env:P}"' in shown
    assert SECRET not in shown + repr(settings)
