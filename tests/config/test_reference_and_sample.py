from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from causeway.cli import config as cli
from causeway.config import reference, sample
from causeway.config.java_names import JAVA_ALONE, RENAMED, TRANSLATED, UNSUPPORTED
from causeway.config.mirror import MirrorSettings
from causeway.config.properties import REFUSED, SPARK_REFUSED
from causeway.config.routing import ConfigTable
from causeway.config.schema import NESTED, TABLES, Settings, inner_tables, is_property_table
from causeway.errors import UsageError

from .conftest import Load

INNER = [inner for table in TABLES.values() for inner in inner_tables(table).values()]
ENVIRON = {"PARIS_PASSWORD": "from the environment"}


def uncommented(text: str) -> str:
    return re.sub(r"^#(?=[^ \n])", "", text, flags=re.MULTILINE)


def test_every_setting_has_a_description() -> None:
    tables: list[type[ConfigTable]] = [Settings, *TABLES.values(), *NESTED.values(), *INNER]
    for table in tables:
        for key, field in table.model_fields.items():
            assert (field.description or "").endswith("."), key
            assert not field.is_required() or field.examples or table is Settings, key


def test_the_reference_has_a_row_for_every_key_and_property() -> None:
    text = reference.render()

    for table in (*TABLES.values(), *NESTED.values(), *INNER):
        for key, field in table.model_fields.items():
            assert re.search(
                rf"^\| `{key}` \| .+ \| .+ \| {re.escape(field.description or '')}", text, re.M
            ), key
    for name in (*REFUSED, *JAVA_ALONE, *RENAMED, *TRANSLATED, *UNSUPPORTED, *SPARK_REFUSED):
        assert f"| `{name}` |" in text


def test_a_row_of_the_reference() -> None:
    assert (
        '| `transaction_timeout` | duration, 5s to 15m | `"15s"` | Time after which the destination '
        "aborts an abandoned transaction. Until then its read_committed consumers wait. |"
    ) in reference.render().splitlines()


def test_every_row_has_four_cells_or_fewer() -> None:
    for line in reference.render().splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4, 5), line


def test_the_sample_loads_as_it_is(loaded: Load) -> None:
    settings = loaded(sample.render())

    assert list(settings.clusters) == ["paris", "tokyo"]
    assert settings.mirrors[0].name == "paris-to-tokyo"


def test_the_sample_loads_with_every_line_uncommented_and_says_the_defaults(loaded: Load) -> None:
    plain = loaded(sample.render())

    full = loaded(uncommented(sample.render()), environ=ENVIRON)

    assert full.mirrors == plain.mirrors
    assert full.spark.master == plain.spark.master
    assert full.spark.properties == {"spark.executor.memory": "2g"}
    sasl, tls = full.clusters["paris"].sasl, full.clusters["paris"].tls
    assert sasl is not None
    assert tls is not None
    assert (sasl.mechanism, sasl.password) == ("SCRAM-SHA-512", "${env:PARIS_PASSWORD}")
    assert tls.ca == "/etc/kafka/ca.pem"
    assert full.clusters["paris"].consumer == {"client.rack": "rack-1"}


def test_the_sample_mentions_every_key() -> None:
    text = sample.render()

    for table in TABLES.values():
        for key in table.model_fields:
            own_table = is_property_table(table, key) and table is not MirrorSettings
            own_table = own_table or key in inner_tables(table)
            pattern = rf"^#\[.*\.{key}\]$" if own_table else rf"^#?{key} = "
            assert re.search(pattern, text, re.M), key


def test_the_sample_is_no_wider_than_a_screen() -> None:
    assert max(map(len, sample.render().splitlines())) <= 105


@pytest.fixture
def cli_app() -> typer.Typer:
    app = typer.Typer()
    app.add_typer(cli.app, name="config")
    app.command()(cli.init)
    return app


def test_config_reference_prints_the_reference(cli_app: typer.Typer) -> None:
    result = CliRunner().invoke(cli_app, ["config", "reference"])

    assert (result.exit_code, result.stdout) == (0, reference.render())


def test_init_writes_the_sample_and_does_not_overwrite(
    cli_app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "causeway.toml"

    first = CliRunner().invoke(cli_app, ["init"])
    file.write_text("mine", encoding="utf-8")
    second = CliRunner().invoke(cli_app, ["init"])
    kept = file.read_text(encoding="utf-8")
    third = CliRunner().invoke(cli_app, ["init", "causeway.toml", "--force"])

    assert (first.exit_code, first.stdout, first.stderr) == (0, "", "wrote causeway.toml\n")
    assert isinstance(second.exception, UsageError)
    assert second.exception.where == "causeway.toml"
    assert kept == "mine"
    assert third.exit_code == 0
    assert file.read_text(encoding="utf-8") == sample.render()


def test_init_prints_to_stdout(cli_app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(cli_app, ["init", "-"])

    assert (result.exit_code, result.stdout) == (0, sample.render())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_init_where_nothing_can_be_written(cli_app: typer.Typer, tmp_path: Path, force: list[str]) -> None:
    result = CliRunner().invoke(cli_app, ["init", str(tmp_path / "nope" / "a.toml"), *force])

    assert isinstance(result.exception, UsageError)
    assert result.exception.why == "No such file or directory"
