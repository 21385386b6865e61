"""Groups of commands: their help, a whole sentence for each, and the one command that is called."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

if TYPE_CHECKING:
    from typer._click import HelpFormatter

LONGEST = 1000  # characters of a sentence; the usual help cuts it off at the end of its line


class Commands(TyperGroup):
    """A group of commands."""

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write one line or more for each command."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        sentences = [
            (name, command.get_short_help_str(LONGEST)) for name, command in commands if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(sentences)


def group(sentence: str) -> typer.Typer:
    """Make a group of commands, by what they are for."""
    return typer.Typer(cls=Commands, no_args_is_help=True, help=sentence)


def called(app: typer.Typer, words: list[str]) -> typer.Typer:
    """Leave out all commands but the one that the first word names: to make all 69 takes 70 ms.

    Where it names none, as for the help, there are all.
    """
    commands = [each for each in app.registered_commands if words[:1] == [_name(each)]]
    groups = [each for each in app.registered_groups if words[:1] == [each.name]]
    if not commands and not groups:
        return app
    only = copy.copy(app)
    only.registered_commands, only.registered_groups = commands, groups
    return only


def _name(command: CommandInfo) -> str:
    return command.name or typer.main.get_command_name(command.callback.__name__ if command.callback else "")
