"""Options of one run, sent along with a request. JSON-friendly, because Studio sends it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from planwright.domain.clock import LONGEST_S
from planwright.domain.declared_returns import AnswerSchema, read_answer_schema
from planwright.domain.errors import SetupError
from planwright.domain.risk import Mode

PlanningMode = Literal["auto", "llm_decides", "always", "never"]


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What a caller may set for one run; everything else is in `planwright.toml`."""

    agent: str | None = field(
        default=None,
        metadata={"description": "The profile to work by, its name under [agents] in the settings."},
    )
    planning_mode: PlanningMode | None = field(
        default=None,
        metadata={"description": "When to plan; unset = as the agent, or the setting planning.mode, says."},
    )
    dry_run: bool = field(default=False, metadata={"description": "Plan and verify, and run nothing."})
    tenant: str = field(default="default", metadata={"description": "Whose ledger, budgets and memory."})
    channel: str = field(default="python", metadata={"description": "The door the request came through."})
    requested_by: str = field(
        default="",
        metadata={
            "description": "Who asks, by the name that signs their decisions; a door that knows says it."
        },
    )
    provider: str | None = field(
        default=None,
        metadata={"description": "The provider to use, by its name in the settings; or provider/model."},
    )
    modes: tuple[Mode, ...] | None = field(
        default=None,
        metadata={"description": "The approval modes a run may use; unset = those of its agent, or all."},
    )
    snapshot: str | None = field(
        default=None,
        metadata={"description": "Id of the data that the run works on; another one is refused later."},
    )
    gate_ttl_s: Annotated[int, Field(gt=0, le=LONGEST_S)] | None = field(
        default=None, metadata={"description": "How long a gate stays open; unset = sessions.gate_ttl_s."}
    )
    answer_schema: AnswerSchema | None = field(
        default=None,
        metadata={"description": "Form of a typed answer: a JSON Schema, or fields; unset = the agent's."},
    )

    def __post_init__(self) -> None:
        """Keep a form that is given as a class as its JSON Schema. Raises SetupError for what is no form."""
        if self.answer_schema is None:
            return
        try:
            object.__setattr__(self, "answer_schema", read_answer_schema(self.answer_schema))
        except ValueError as error:
            raise SetupError(f"`answer_schema` is wrong: {error}", "mend it, and ask again") from error


_CONTEXT = TypeAdapter(RunContext)


def options_of(context: RunContext) -> dict[str, Any]:
    """Spell the options of a run as JSON, to be kept with it."""
    spelled: dict[str, Any] = _CONTEXT.dump_python(context, mode="json", warnings=False)
    return spelled


def read_context(context: Any) -> RunContext:
    """Read the options of a run, from an object or from JSON. Raises SetupError for unknown ones."""
    if isinstance(context, RunContext):
        return context
    try:
        options = dict(context or {})
        if unknown := options.keys() - {option.name for option in fields(RunContext)}:
            raise ValueError(f"there is no option {min(map(str, unknown))!r}")
        return _CONTEXT.validate_python(options)
    except (ValidationError, TypeError, ValueError) as error:
        raise SetupError(f"the run context is wrong: {error}", "see planwright.graph.RunContext") from error
