"""The commands and where they are. A command's module is imported when the command is used.

Importing every command takes more than a second of CPU, most of it for Kafka's client, Arrow and Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = {
    "run": "causeway.cli.run:run",
    "status": "causeway.cli.status:status",
    "pause": "causeway.cli.pause:pause",
    "resume": "causeway.cli.pause:resume",
    "failover": "causeway.cli.failover:failover",
    "check": "causeway.cli.check:check",
    "verify": "causeway.cli.verify:verify",
    "adopt": "causeway.cli.adopt:adopt",
    "demo": "causeway.cli.demo:demo",
    "init": "causeway.cli.config:init",
    "kaf-relay": "causeway.cli.compat.kaf_relay:kaf_relay",
    "ktm": "causeway.cli.compat.kafka_topic_mirror:ktm",
    "mirrormaker": "causeway.cli.compat.go_mirrormaker:app",
    "reo": "causeway.cli.compat.kafka_reo:reo",
    "config": "causeway.cli.config:app",
    "convert": "causeway.cli.compat.convert:app",
    "offsets": "causeway.cli.offsets:app",
    "kafka": "causeway.cli.kafka:app",
}
"""Name → module and attribute: a function is one command, a Typer is a command or a group of them."""


class CommandTable(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        wanted = [cmd_name] if cmd_name in COMMANDS else COMMANDS  # "did you mean" needs them all
        for name in wanted:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return self.commands.get(cmd_name)


def _load(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    app = found if isinstance(found, typer.Typer) else _of_one_command(found)
    command = get_command(app)
    command.name = name
    return command


def _of_one_command(function: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(function)
    return app
