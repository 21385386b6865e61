"""The help of a group of commands: a whole sentence for each, in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

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
