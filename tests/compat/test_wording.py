"""Advice of the compat commands: the tool's own keys; `convert` before commands that need a Causeway file."""

from __future__ import annotations

import json
import tomllib
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import typer
from confluent_kafka import KafkaError

from causeway.cli import run as run_command
from causeway.cli.compat import entry
from causeway.cli.run import run_settings
from causeway.compat import kafka_topic_mirror
from causeway.compat.go_mirrormaker.command import read_flags
from causeway.compat.go_mirrormaker.command import translate as mirrormaker
from causeway.compat.kaf_relay.config import Options, merged
from causeway.compat.kaf_relay.config import translate as relay
from causeway.compat.kafka_reo.config import translate as translate_reo
from causeway.compat.translation import Translation
from causeway.compat.wording import reworded
from causeway.config import Settings
from causeway.core.cluster import Cluster
from causeway.core.snapshot import EventView
from causeway.errors import AccessDenied, CausewayError, PlanRefused, Unreachable
from causeway.kafka.failures import as_user_error
from support.kaf_relay import PLAIN

FIRST = "`causeway convert reo … > FILE`, then "
REO = translate_reo({"KAFKA_CLUSTERS_SOURCE_TOPIC": "a"}, None)
KTM = kafka_topic_mirror.translate({"INPUT_TOPIC": "a", "OUTPUT_TOPIC": "b"}, hostname="h")


def kaf_relay(text: str) -> Translation:
    return relay(merged([tomllib.loads(text)]), "config.toml", Options(), Path())


@pytest.mark.parametrize(
    ("todo", "advice"),
    [
        (
            "take over: `causeway adopt CONFIG --from group`; or `causeway check CONFIG`",
            f"take over: {FIRST}`causeway adopt FILE --from group`; or `causeway check FILE`",
        ),
        (
            "delete it and `causeway adopt`",
            f"delete it and {FIRST}`causeway adopt FILE`",
        ),
        (
            "`causeway resume CONFIG`, then",
            f"{FIRST}`causeway resume FILE`, then",
        ),
        ("`causeway run CONFIG` begins", "`causeway reo …` begins"),
        ('or set on_existing_records = "append"', "or give -X mirrors.0.on_existing_records=append"),
        ("stop the other one", "stop the other one"),
        ("", ""),
    ],
)
def test_a_command_that_needs_our_configuration_names_convert_first(todo: str, advice: str) -> None:
    assert reworded(REO, "reo", todo) == advice


def test_a_login_that_is_refused_is_named_by_the_tools_own_keys() -> None:
    with_login = PLAIN.replace("[[sources]]", '[[sources]]\nenable_auth = true\nsasl_mechanism = "PLAIN"', 1)
    advice = partial(reworded, kaf_relay(with_login), "kaf-relay", AccessDenied.remedy)
    assert advice(source_of(with_login)) == (
        "check username and password of sources[0] in config.toml, and the ACLs of that user"
    )
    assert advice(str(kaf_relay(PLAIN).mirrors[0]["destination"])) == (
        "check enable_auth, username and password of target in config.toml, and the ACLs of that user"
    )
    assert advice("") == (  # from where the cluster is not known
        "check username and password of sources[0] in config.toml,"
        " enable_auth, username and password of target in config.toml, and the ACLs of that user"
    )
    assert reworded(KTM, "ktm", AccessDenied.remedy, "input") == (
        "Kafka Topic Mirror has no keys for authentication: set it with"
        " -X clusters.input.properties.security.protocol=… and check the sasl.… or ssl.… properties,"
        " and the ACLs of that user"
    )


def source_of(text: str) -> str:
    return str(kaf_relay(text).mirrors[0]["source"])


def test_an_address_that_does_not_respond_is_named_by_the_tools_own_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.config").write_text("metadata.broker.list=a:1\n")
    Path("p.config").write_text("bootstrap.servers=b:1\n")
    flags = "--consumer.config c.config --producer.config p.config --whitelist x"
    go = mirrormaker(read_flags(flags.split(), run=True))
    rest = ", the network and that the brokers run"
    for translation, alias, keys in (
        (KTM, "input", "INPUT_BROKERS"),
        (REO, "destination", "kafka.clusters.destination.bootstrap-servers"),
        (go, "source", "c.config:1: metadata.broker.list"),
        (go, "target", "p.config:1: bootstrap.servers"),
        (kaf_relay(PLAIN), source_of(PLAIN), "servers of sources[0] in config.toml"),
        (kaf_relay(PLAIN), "", "the addresses"),
    ):
        assert reworded(translation, "command", Unreachable.remedy, alias) == f"check {keys}{rest}"


def test_errors_of_a_cluster_have_its_alias() -> None:
    for code in (KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._TRANSPORT):
        assert (
            as_user_error(
                KafkaError(code), Cluster("node1", {"bootstrap.servers": "a:1"}), "listing topics"
            ).cluster
            == "node1"
        )


class Failing:
    """A run that reports an event, and then fails to start."""

    def __init__(self, settings: Settings, names: list[str], stop_at_end: bool, say: object) -> None:
        assert callable(say)
        say("m", EventView(0, "error", "stopped", todo="`causeway check CONFIG`"))

    def prepare(self, cores: int) -> None:
        raise PlanRefused(
            "no", problems=("t: `causeway adopt`",), todo="`causeway adopt CONFIG --from group`"
        )

    def end(self) -> None:
        """Nothing to stop."""

    stop = finish = release = end


@pytest.mark.parametrize("log", ["json", "text"])
def test_lines_and_objects_use_the_tools_keys(
    log: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("causeway.api.runner.Run", Failing)
    monkeypatch.setattr(run_command, "serving", lambda *_: nullcontext())
    overrides = [f"log.format={log}"]
    with pytest.raises((typer.Exit, CausewayError)) as caught:
        entry.enter("reo", REO, overrides, directory=Path(), stop_at_end=False)
    output = capsys.readouterr().err
    wanted = f"{FIRST}`causeway adopt FILE --from group`"
    if log == "json":
        objects = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        assert [line["todo"] for line in objects] == [f"{FIRST}`causeway check FILE`", wanted]
        assert objects[-1]["problems"] == [f"t: {FIRST}`causeway adopt FILE`"]
    else:
        assert f"{FIRST}`causeway check FILE`" in output
        assert isinstance(caught.value, CausewayError)
        assert caught.value.todo == wanted


def test_without_a_compat_command_advice_is_unchanged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("causeway.api.runner.Run", Failing)
    monkeypatch.setattr(run_command, "serving", lambda *_: nullcontext())
    with pytest.raises((typer.Exit, CausewayError)):
        run_settings(REO.settings(["log.format=json"], Path()), [], False)
    assert "`causeway adopt CONFIG --from group`" in capsys.readouterr().err
