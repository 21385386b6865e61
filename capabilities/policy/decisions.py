"""The decision catalog: `decisions/*.toml`, what each decision rests on and what may follow from it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from planwright.capabilities.expression import LONGEST, check_names, compiled
from planwright.capabilities.policy.gates import NamedGate, Text, as_tuple
from planwright.domain.errors import SetupError
from planwright.domain.hashing import problem_of
from planwright.domain.risk import Mode
from planwright.presentation.nearest import nearest
from planwright.settings.profile import stands_for

FOLDER = "decisions"
NAMES = frozenset(("evidence",))
"""What the expression of a decision may name."""


class Evidence(BaseModel):
    """One result that a decision rests on."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    capability: Text
    """Name or glob of the capability whose result it is."""
    fields: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    """Paths that the result has to have, as `customer.name`; empty for any result."""


class DecisionSpec(BaseModel):
    """One decision: its evidence, when it may be taken, and what stands between it and an effect."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Text
    """Name of the decision, as plans bind to it."""
    version: Text
    """Version of the spec, as its author counts."""
    description: str = ""
    """What is decided, in words, for planners and people."""
    outcomes: tuple[Text, ...] = Field(("execute",), min_length=1)
    """What may come of it; the first is the one after which steps go on."""
    covers: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    """Names or globs of capabilities that may be called after it alone; empty for none."""
    eligible: Annotated[str, Field(min_length=1, max_length=LONGEST)] | None = None
    """CEL over `evidence` that has to hold; None where the evidence alone counts."""
    gates: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    """Named gates of the policy that calls it covers have to pass; every effect after it if it names none."""
    mode: Mode | None = None
    """Gravest mode that a step after it may have; None for any."""
    evidence: dict[str, Evidence] = Field(min_length=1)
    """What it rests on, by the name that `eligible` uses."""

    def covering(self, capability: str) -> bool:
        """Say whether a capability may be called after this decision alone."""
        return any(stands_for(glob, capability) for glob in self.covers)


def read_decisions(workspace: Path, gates: Mapping[str, NamedGate]) -> dict[str, DecisionSpec]:
    """Read the catalog of a workspace, by id; empty where it has none. Raises SetupError with the file."""
    specs: dict[str, DecisionSpec] = {}
    for path in sorted((workspace / FOLDER).glob("*.toml")):
        spec = _read(path)
        if spec.id in specs:
            raise SetupError(f"{path}: there is a decision {spec.id} already", "give it an id of its own")
        for gate in spec.gates:
            if gate not in gates:
                raise SetupError(f"{path}: policy.toml has no gate {gate!r}", f"add [gates.{gate}] there")
        _check_expression(spec, path)
        specs[spec.id] = spec
    return specs


def _read(path: Path) -> DecisionSpec:
    try:
        return DecisionSpec.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: that is no TOML: {error}", "mend that file") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            fields = Evidence.model_fields if where.startswith("evidence.") else DecisionSpec.model_fields
            near = nearest(where.rpartition(".")[2], fields, least=50)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(fields)}"
            raise SetupError(f"{path}: a decision has no `{where}`", hint) from error
        raise SetupError(f"{path}: `{where}`: {problem_of(first)}", "mend that file") from error


def _check_expression(spec: DecisionSpec, path: Path) -> None:
    if spec.eligible is None:
        return
    try:
        check_names(compiled(spec.eligible), NAMES)
    except ValueError as error:
        raise SetupError(f"{path}: `eligible` {error}", "e.g. evidence.order.total <= 500") from error
