"""Mistakes are told to the letter, with what may stand there instead."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.tools.schema_arguments import arguments_by
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import problems_of


class Currency(Enum):
    """A currency, in capitals."""

    EUR = "EUR"
    USD = "USD"


@capability("money.send", mode="read_only")
def by_enum(currency: Currency) -> str:
    """Send money."""
    return currency.value


@capability("money.pay", mode="read_only")
def by_literal(currency: Literal["EUR", "USD"]) -> str:
    """Pay money."""
    return currency


@pytest.mark.parametrize("declared", [by_enum, by_literal], ids=["enum", "literal"])
def test_the_allowed_values_are_told_to_the_letter(declared: Capability) -> None:
    with pytest.raises(CapabilityRejected, match="currency: input should be 'EUR' or 'USD'"):
        check_arguments(declared, {"currency": "eur"})


def test_those_of_a_json_schema_are_told_with_the_value_that_was_given() -> None:
    schema: Any = {"type": "object", "properties": {"currency": {"enum": ["EUR", "USD"]}}}
    with pytest.raises(ValidationError) as error:
        arguments_by("money", schema).model_validate({"currency": "Eur"})
    assert problems_of(error.value, "arguments") == "currency: 'Eur' is not one of ['EUR', 'USD']"


def test_no_more_than_four_are_told_at_once() -> None:
    class Five(BaseModel):
        a: int
        b: int
        c: int
        d: int
        e: int

    with pytest.raises(ValidationError) as error:
        Five.model_validate({})
    assert problems_of(error.value, "all").count("field required") == 4
