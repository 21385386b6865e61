"""Options that belong together: a command takes them as one value, and people type them one by one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Literal

import typer

from planwright.cli.commands.options import Agent, Json, Mode, NoInput, Provider, Verbose

Risk = Literal["None", "Low", "Medium", "High", "Critical"]
Scope = Literal["run", "session", "always"]
MOST_HOURS = 24 * 366


@dataclass(frozen=True)
class Interaction:
    """How a command talks to whoever has typed it."""

    json: Json = False
    """Whether it prints JSON, for programs."""
    no_input: NoInput = False
    """Whether nobody is to be asked."""
    verbose: Verbose = False
    """Whether all detail is shown."""


@dataclass(frozen=True)
class ProfileOptions:
    """Who does a run, and how."""

    agent: Agent = None
    """Name of the agent's profile; None for none."""
    planning: Annotated[Mode | None, typer.Option(help="When to plan.")] = None
    """When to plan; None for what the settings say."""
    provider: Provider = None
    """Provider, or provider and model; None for what the settings say."""
    snapshot: Annotated[str | None, typer.Option(help="Id of the data that the run works on.")] = None
    """Id of the data that the run works on; None where it is not pinned."""
    answer_schema: Annotated[
        str | None, typer.Option(metavar="JSON", help="Schema, or fields, of a typed answer; @FILE, or -.")
    ] = None
    """Form of the typed answer, as JSON or where to read it; None for what the agent says."""


@dataclass(frozen=True)
class ApprovalTerms:
    """What a single approval names, and how widely it holds."""

    plan_hash: Annotated[str | None, typer.Option(help="Refuse unless this is what is shown.")] = None
    """Hash of what was looked at; None where the approval does not name it."""
    remember: Annotated[Scope | None, typer.Option(help="Do not ask for the same call again.")] = None
    """How widely it holds; None for this once."""
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="ARG=PATTERN", help="With --remember: any ARG like this, a glob or 'notes/'."),
    ] = None
    """Arguments that may differ, and how."""
    when: Annotated[
        str, typer.Option(metavar="CEL", help="With --remember: only if this is true: 'amount <= 100'.")
    ] = ""
    """What has to hold of the arguments; "" for no condition."""
    most: Annotated[int | None, typer.Option(metavar="N", help="With --remember: for N calls.")] = None
    """How many calls it holds for; None for any number."""
    tool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MAY",
            help="What an undeclared tool may do: reads, asks, asks_once, always_asks.",
        ),
    ] = None
    """What tools may do from now on, by name."""
    unseen: Annotated[
        bool, typer.Option("--unseen", help="Of a plan: do not show what it sends once that is known.")
    ] = False
    """Whether what a plan does not know yet may go out without being shown."""


@dataclass(frozen=True)
class BulkTerms:
    """Which gates are approved together."""

    all_: Annotated[bool, typer.Option("--all", help="Approve all that calls a capability.")] = False
    """Whether many gates are approved."""
    capability: Annotated[
        str | None, typer.Option(metavar="NAME|GLOB", help="With --all: the capability, such as 'tickets.*'.")
    ] = None
    """Name or glob of the capability; None for none."""
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME|GLOB", help="With --all: whose runs; everybody's if left out.")
    ] = None
    """Name or glob of the tenants; None for all."""
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask once more.")] = False
    """Whether nobody is asked whether the list is right."""


@dataclass(frozen=True)
class DelegationTerms:
    """How far a delegation goes."""

    hours: Annotated[float, typer.Option(min=0.01, max=MOST_HOURS, help="How long it lasts.")] = 8
    """How long it lasts, in hours."""
    max_risk: Annotated[Risk, typer.Option(help="The gravest risk of a call it covers.")] = "High"
    """Gravest risk of a call that it covers."""
    tenant: Annotated[str, typer.Option(help="Whose runs it is for.")] = "default"
    """Tenant whose runs it is for."""
    reason: Annotated[str, typer.Option("--reason", "-r", help="What it is for.")] = ""
    """What it is for, in words; "" for none."""


@dataclass(frozen=True)
class CallOptions:
    """A call as people describe it: its arguments, and whose it is."""

    args: Annotated[
        str | None, typer.Option(metavar="JSON", help="The arguments of the call; left out, none is known.")
    ] = None
    """Arguments as JSON text; None where none are known."""
    tenant: Annotated[str, typer.Option(help="Whose call it is.")] = "default"
    """Tenant whose call it is."""
    agent: Annotated[str | None, typer.Option(help="Whose agent makes it.")] = None
    """Name of the agent that makes it; None for none."""
    tainted: Annotated[bool, typer.Option("--tainted", help="After what others wrote was read.")] = False
    """Whether what others wrote was read before it."""
    request: Annotated[str, typer.Option(metavar="TEXT", help="What its user has written.")] = ""
    """What its user has written; "" for nothing."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the dataclasses that it takes, in their place."""
    signature = inspect.signature(command, eval_str=True)
    hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        members = inspect.signature(groups[name], eval_str=True) if name in groups else None
        options += members.parameters.values() if members else [parameter]

    @functools.wraps(command)
    def call(**values: object) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    keyword_only = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    vars(call)["__signature__"] = signature.replace(parameters=keyword_only)
    return call
