"""`[gates.<name>]` of `policy.toml`: gates that a plan can name, who opens them, how long they wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from planwright.domain.clock import LONGEST_S
from planwright.domain.errors import SetupError
from planwright.domain.hashing import problem_of
from planwright.presentation.nearest import nearest
from planwright.records.consent.approvers import CHANNEL

Text = Annotated[str, StringConstraints(min_length=1)]
LONGEST_NAME = 64


def as_tuple(value: object) -> object:
    """Read one text as a list of one."""
    return (value,) if isinstance(value, str) else value


class NamedGate(BaseModel):
    """What people a gate needs; set in the policy."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    approvers: Annotated[tuple[Text, ...], BeforeValidator(as_tuple)] = ()
    """Who may approve: names, and doors as `channel:cli`; empty for anybody."""
    quorum: int = Field(1, ge=1)
    """How many different people have to approve."""
    exclude_requester: bool = False
    """Whether who asked may not approve."""
    expires_s: float | None = Field(None, gt=0, le=LONGEST_S, allow_inf_nan=False)
    """How long it waits, in seconds; None for as long as other gates."""
    reason: str = ""
    """Why it is asked, as the card says it."""


def read_gates(tables: object, text: str, path: Path) -> Mapping[str, NamedGate]:
    """Read the gates of a policy, by name. Raises SetupError with file and line."""
    if not isinstance(tables, dict):
        raise SetupError(f"{path}: `gates` is no table", "write each gate as [gates.<name>]")
    gates: dict[str, NamedGate] = {}
    for name, table in tables.items():
        at = f"{path}{_line(name, text)}"
        if not 0 < len(name) <= LONGEST_NAME:
            raise SetupError(f"{at}: the name of a gate has 1 to {LONGEST_NAME} characters", "shorten it")
        gates[name] = _gate(name, table, at)
        if flaw := too_few(gates[name].approvers, gates[name].quorum):
            raise SetupError(f"{at}: {flaw}", "name more approvers, or ask fewer")
    return gates


def too_few(approvers: tuple[str, ...], quorum: int) -> str:
    """Say that a quorum cannot be reached; nothing where it can."""
    people = {name for name in approvers if not name.startswith(CHANNEL)}
    if len(people) == len(set(approvers)) and 0 < len(people) < quorum:
        return f"{quorum} have to approve, and {len(people)} may"
    return ""


def _gate(name: str, table: object, at: str) -> NamedGate:
    try:
        return NamedGate.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else name
        if first["type"] == "extra_forbidden":
            near = nearest(key, NamedGate.model_fields, least=50)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(NamedGate.model_fields)}"
            raise SetupError(f"{at}: a gate has no `{key}`", hint) from error
        raise SetupError(f"{at}: `{key}`: {problem_of(first)}", "mend that gate") from error


def _line(name: str, text: str) -> str:
    header = re.compile(rf"""\s*\[\s*gates\s*\.\s*["']?{re.escape(name)}["']?\s*\]""")
    return next((f":{n}" for n, row in enumerate(text.splitlines(), 1) if header.match(row)), "")
