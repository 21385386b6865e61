"""Every field of a product class says what it holds."""

from __future__ import annotations

from pathlib import Path

from tests.house.fields import fields_of, product_fields

LEAST = 0.9
MOST_LINES = 300  # of a file; one that is full has no room for a description

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


def test_most_fields_are_described() -> None:
    fields = product_fields()
    assert sum(field.described for field in fields) >= LEAST * len(fields)


def test_every_field_is_described_where_there_is_room() -> None:
    bare = [field for field in product_fields() if not field.described]
    room = [field for field in bare if field.path.read_text("utf-8").count("\n") < MOST_LINES]
    assert not room, "\n".join(f"{field.path}:{field.line} {field.owner}.{field.name}" for field in room)


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
