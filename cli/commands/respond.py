"""The command that answers: a question, with feedback about a plan, or what became of effects in doubt."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.option_groups import Interaction, grouped
from planwright.cli.commands.options import HERE, Folder


@grouped
def respond(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[GATE|THREAD] [WORDS]", help="What you say.")
    ] = None,
    happened: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY[=RESULT]", help="This effect in doubt happened; may be repeated."),
    ] = None,
    not_happened: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="This effect in doubt did not happen; may be repeated."),
    ] = None,
    workspace: Folder = HERE,
    *,
    interaction: Interaction,
) -> None:
    """Answer a question, say what should be different about a plan, or which effects in doubt happened."""
    from planwright.cli.actions.settling import settle
    from planwright.cli.session.drive import Terminal, reply

    texts, effects = words or [], effects_of(happened or [], not_happened or [])
    if effects:
        if len(texts) > 1:
            raise typer.BadParameter("name one gate, thread or run beside --happened and --not-happened")
        which = texts[0] if texts else None
        raise typer.Exit(
            settle(
                which,
                effects,
                workspace,
                Terminal(interaction.json, interaction.no_input, interaction.verbose),
            )
        )
    if not 1 <= len(texts) <= 2:
        raise typer.BadParameter('put the feedback in quotes: planwright respond [GATE|THREAD] "…"')
    which = texts[0] if len(texts) == 2 else None
    raise typer.Exit(
        reply(
            which, texts[-1], workspace, Terminal(interaction.json, interaction.no_input, interaction.verbose)
        )
    )


def effects_of(happened: list[str], not_happened: list[str]) -> list[dict[str, object]]:
    """Read what the options say of effects in doubt; a result is JSON, or words."""
    from planwright.domain.doubt import read_result

    effects: list[dict[str, object]] = [{"key": key, "happened": False} for key in not_happened]
    for entry in happened:
        key, separator, text = entry.partition("=")
        result = {"result": read_result(text)} if separator else {}
        effects.append({"key": key, "happened": True, **result})
    return effects
