"""Every field of a product class says what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.fields import fields_of, product_fields

SOURCE = '''
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, Field


class Outer(BaseModel):
    """A text below the class is none of a field's."""

    model_config: dict = {}
    plain: int
    told: int = 1
    """How many."""
    worded: int = Field(1, description="How many.")
    empty: str = ""
    """ """

    @dataclass
    class Inner:
        shared: ClassVar[int] = 0
        short: int = field(default=0, metadata={"description": "How many."})

    def method(self) -> None:
        local: int = 1
        """Not a field."""
'''


@pytest.mark.long
def test_every_field_is_described() -> None:
    bare = [field for field in product_fields() if not field.described]
    assert not bare, "\n".join(f"{field.path}:{field.line} {field.owner}.{field.name}" for field in bare)


def test_a_field_is_described_by_the_text_below_it_or_by_its_default(tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(SOURCE, "utf-8")
    found = {f"{field.owner}.{field.name}": field.described for field in fields_of(path)}
    assert found == {
        "Outer.plain": False,
        "Outer.told": True,
        "Outer.worded": True,
        "Outer.empty": False,
        "Outer.Inner.short": True,
    }
