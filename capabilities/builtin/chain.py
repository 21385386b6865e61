"""Putting tools in a row under one name. The node `chain_parts` calls such a chain, step by step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.chain import CREATE_CHAIN, MOST_CALLS, InputType
from planwright.domain.errors import CapabilityRejected

_STEP_SCHEMA = {
    "type": "object",
    "properties": {
        "toolName": {"type": "string", "description": "a tool you have; no chain"},
        "arguments": {"type": "object", "description": "values, or references to what comes before"},
        "id": {"type": "string", "description": "to refer to it by; left out: its number"},
    },
    "required": ["toolName"],
}


class Step(BaseModel):
    """One call of a chain, as a model or a planner writes it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    capability: str = Field(validation_alias=AliasChoices("toolName", "capability", "tool"))
    """Name of the capability that is called."""
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("arguments", "params", "args")
    )
    """Its arguments; texts may refer to inputs and earlier steps of the chain."""
    id: str = Field("", coerce_numbers_to_str=True)
    """Name of the step, as references name it; "" for its number."""


class Input(BaseModel):
    """What one argument of a chain is."""

    model_config = ConfigDict(extra="forbid")
    type: InputType = "any"
    """JSON type of the argument."""
    description: str = ""
    """What the argument is for, in words."""


class InputSchema(BaseModel):
    """The arguments of a chain, as a JSON schema of names, types and descriptions; all are required."""

    model_config = ConfigDict(extra="forbid")
    type: Literal["object"] = "object"
    """JSON type of all arguments together, always `object`."""
    properties: dict[str, Input]
    """The arguments by name."""
    required: list[str] = []
    """Names of the required arguments: all of them, or left out."""

    @model_validator(mode="after")
    def _all_required(self) -> InputSchema:
        if self.required and set(self.required) != self.properties.keys():
            raise ValueError("every input of a chain is required: list all of them, or leave `required` out")
        return self


class CreatedChain(BaseModel):
    """A chain that can be called by its name from now on, in this run only."""

    model_config = ConfigDict(title="Made")
    name: str
    """Name under which the chain is called."""
    hash: str
    """SHA-256 of its definition, 64 hex digits."""
    inputs: dict[str, InputType]
    """JSON types of its arguments, by name."""
    steps: list[str]
    """Names of the capabilities that it calls, in order."""
    mode: str
    """Gravest mode of its calls."""
    risk: str
    """Gravest risk of its calls."""


@capability(
    CREATE_CHAIN,
    mode="local_write",
    risk="None",  # it does nothing by itself, and is gone with its run; each of its calls is judged
    effect="idempotent",
    tags=("chain", "tool"),
    guide=Guide(
        "Puts calls in a row under a new name, for this run only: worth it when the same row is needed more"
        " than once. Arguments of its steps may hold {{input.name}} (an argument of the chain),"
        " {{previous_result.field}} and {{steps.1.output.field}}. A later step of a plan calls the chain by"
        " its name, and depends on the step that makes it.",
        (
            '{"name": "find_and_note", "description": "Find mail and note its text", "steps": [{"toolName":'
            ' "mail.search", "arguments": {"query": "{{input.topic}}"}}, {"toolName": "memory.write",'
            ' "arguments": {"text": "{{previous_result.messages.0.text}}"}}]}',
        ),
        900,
    ),
    trusted_result=True,
    reads=(),
)
async def create_chain(
    name: Annotated[str, Field(min_length=1, max_length=64, description="a word without dots")],
    description: Annotated[str, Field(min_length=1, max_length=500, description="what it does")],
    steps: Annotated[
        list[Step],
        Field(min_length=1, max_length=MOST_CALLS),
        WithJsonSchema({"type": "array", "items": _STEP_SCHEMA, "minItems": 1, "maxItems": MOST_CALLS}),
    ],
    call: CallContext,
    input_schema: Annotated[
        InputSchema | None,
        WithJsonSchema({"type": "object", "description": "left out: the inputs its steps refer to"}),
    ] = None,
) -> CreatedChain:
    """Put tools in a row under a new name, to be called like a tool for the rest of this run."""
    if call.chains is None:
        raise CapabilityRejected("nothing keeps chains here")
    definition: dict[str, JsonValue] = {
        "name": name,
        "description": description,
        "steps": [step.model_dump(mode="json") for step in steps],
        "input_schema": input_schema.model_dump(mode="json") if input_schema else None,
    }
    made_chain = await call.chains.make(definition, call)
    chain = made_chain.chain
    return CreatedChain(
        name=chain.name,
        hash=chain.hash,
        inputs={key: spec.type for key, spec in chain.inputs.items()},
        steps=[part.capability for part in chain.calls],
        mode=made_chain.mode,
        risk=made_chain.risk,
    )
