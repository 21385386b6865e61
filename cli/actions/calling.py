"""Calling one capability from the terminal, without a model: through policy, gates and the ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from planwright.capabilities.schema_paths import JsonSchema
from planwright.cli.session.asking import who
from planwright.cli.session.drive import Terminal, follow
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.presentation.argument_values import argument_types, read_argument

_OBJECT = TypeAdapter(dict[str, JsonValue])


def call(
    name: str,
    words: Sequence[str],
    whole: str | None,
    workspace: Path,
    options: RunContext,
    terminal: Terminal,
) -> int:
    """Call a capability with the arguments that were typed, and follow the run. Returns the exit code.

    Raises SetupError, before anything is stored, for what is not there or does not take these arguments.
    """
    settings = load_logged(workspace)
    ttl = settings.approval.plan_timeout_s if terminal.interactive else None
    context = replace(options, channel="cli", requested_by=who(), gate_ttl_s=ttl)
    agent = build_graph(settings)
    try:
        schema = agent.single_calls.schema_of(name)
        config = agent.call(name, arguments(name, words, whole, schema), context=context)
    except SetupError:
        views.print_absent(agent.servers.problems)
        raise
    finally:
        agent.close()
    return follow(settings, None, str(config["configurable"]["thread_id"]), context, terminal)


def arguments(name: str, words: Sequence[str], whole: str | None, schema: JsonSchema) -> dict[str, JsonValue]:
    """Read the arguments of a call: an object as JSON, and options named as the arguments, which win.

    Raises SetupError for what is no such option, or is not spelled as its type is.
    """
    properties: Mapping[str, JsonSchema] = schema.get("properties", {})
    example = f"see an example: planwright capabilities {name}"
    values = {} if whole is None else read_object("--args", whole, example)
    repeated: dict[str, list[JsonValue]] = {}
    for option, text in _options(words, properties):
        if option not in properties:
            known = ", ".join(f"--{key}" for key in properties) or "none"
            raise SetupError(f"{name} has no argument {option}", f"its arguments: {known}")
        repeated.setdefault(option, []).append(_value(option, text, properties[option], schema))
    for option, given_values in repeated.items():
        lists = "array" in argument_types(properties[option], schema)
        flat = [item for value in given_values for item in (value if isinstance(value, list) else [value])]
        values[option] = flat if lists else given_values[-1]
    return values


def _options(words: Sequence[str], properties: Mapping[str, JsonSchema]) -> Iterator[tuple[str, str]]:
    """Take `--name=value`, `--name value` and `--flag` apart. Raises SetupError for anything else."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not option:
            raise SetupError(f"{word!r} names no argument", "write --name=value, or --args '{…}'")
        if option not in properties and option.replace("-", "_") in properties:
            option = option.replace("-", "_")
        if not equals and (not rest or rest[0].startswith("--")):
            text = "true"
        elif not equals:
            text = rest.pop(0)
        yield option, text


def _value(option: str, text: str, property_: JsonSchema, schema: JsonSchema) -> JsonValue:
    """Read one value by the type that the schema says. Raises SetupError."""
    try:
        return read_argument(text, property_, schema)
    except ValueError as error:
        raise SetupError(f"--{option} is {error}, and not {text!r}", "write it as JSON") from error


def read_object(option: str, whole: str, next_step: str) -> dict[str, JsonValue]:
    """Read the object of an option: from a text, a file (`@path`) or stdin (`-`). Raises SetupError."""
    try:
        text = sys.stdin.read() if whole == "-" else whole
        text = Path(whole[1:]).read_text("utf-8") if whole.startswith("@") else text
        return _OBJECT.validate_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read {option}: {error}", f"write {option} '{{…}}', @FILE, or -") from error
    except ValidationError as error:
        raise SetupError(f"{option} is no JSON object: {error.errors()[0]['msg']}", next_step) from error
