"""One SELECT on one table, as it is put together from the words of a clause."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planwright.extras.offline.vocabulary import CARRY_NOTHING, NARROWING

IDLE = (CARRY_NOTHING - NARROWING) | frozenset(
    "row rows record records entry entries table database db listed stored still currently placed made altogether"
    " total overall place order".split()
)  # words about rows that select none


@dataclass
class Select:
    """What is selected of a table, so far."""

    table: str
    """Table that is read."""
    tables: Mapping[str, Sequence[str]]
    """Columns of the tables of its database."""
    group: str | None = None
    """Column that the rows are grouped by; None for none."""
    order: str = ""
    """ORDER BY and LIMIT, with a space before; "" for none."""
    values: list[str | int | float] = field(default_factory=list)
    """Values of the parameters, in their order."""
    _where: list[str] = field(default_factory=list)
    """Conditions that a row has to meet."""
    _phrases: list[str] = field(default_factory=list)
    """The conditions in words."""
    _value: str = ""
    """Function that is selected; "" for the rows themselves."""
    _does: str = ""
    """What the function says, in words; "" for the rows themselves."""

    @property
    def columns(self) -> Sequence[str]:
        """List the columns of the table."""
        return self.tables[self.table]

    @property
    def statement(self) -> str:
        """Spell the statement, with `?` for the values."""
        group = quoted_name(self.group) if self.group else ""
        result = ", ".join(filter(None, (group, self._value))) if self._value else "*"
        text = f"SELECT {result} FROM {quoted_name(self.table)}"
        if self._where:
            text += f" WHERE {' AND '.join(self._where)}"
        if group and not self.order:
            text += f" {'GROUP' if self._value else 'ORDER'} BY {group}"
        return text + self.order

    @property
    def title(self) -> str:
        """Say what it reads, in words."""
        phrases = [*self._phrases, *([f"by {self.group}"] if self.group else [])]
        return ", ".join((self._does or f"List the {self.table}", *phrases))

    @property
    def called(self) -> bool:
        """Say whether a function is selected, and not the rows themselves."""
        return bool(self._value)

    def call(self, function: str, column: str | None, name: str = "count") -> None:
        """Select the value of an SQL function over the rows, of a column or of the rows themselves."""
        self._value = f"{function}({quoted_name(column) if column else '*'}) AS {name}"
        self._does = (
            f"The {name} of {column} of the {self.table}" if column else f"The number of the {self.table}"
        )

    def show(self, column: str) -> None:
        """Select one column of the rows."""
        self._value, self._does = quoted_name(column), f"The {column} of the {self.table}"

    def keep(self, condition: str, values: Sequence[str | int | float], phrase: str) -> None:
        """Keep only rows that meet a condition."""
        self._where.append(condition)
        self.values += values
        self._phrases.append(phrase)

    def keep_any(self, roles: Sequence[str], value: str, *, linked: bool) -> bool:
        """Keep the rows where one of some columns has a value, or where a row they point to has it.

        False where there is no such column.
        """
        own = [column for column in self.columns if column.lower() in roles]
        elsewhere = self._linked(roles) if linked else {}
        either = [_is_one_of(own)] if own else []
        either += [
            f"{quoted_name(key)} IN (SELECT id FROM {quoted_name(table)} WHERE {_is_one_of(columns)})"
            for key, (table, columns) in elsewhere.items()
        ]
        names = [*own, *(f"{table} {name}" for table, columns in elsewhere.values() for name in columns)]
        if either:
            condition = either[0] if len(either) == 1 else f"({' OR '.join(either)})"
            self.keep(condition, [value] * len(either), f"{' or '.join(names)} {value}")
        return bool(either)

    def _linked(self, roles: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
        """Find the tables that a row points to by a column such as `customer_id`, with their columns of a role."""
        linked: dict[str, tuple[str, list[str]]] = {}
        for key in self.columns:
            stem = key.removesuffix("_id")
            table = next((name for name in self.tables if name in (stem, f"{stem}s", f"{stem}es")), None)
            if stem != key and table is not None and "id" in self.tables[table]:
                columns = [column for column in self.tables[table] if column.lower() in roles]
                linked |= {key: (table, columns)} if columns else {}
        return linked


def plural(name: str) -> str:
    """Make a pattern for a name as people spell it: `ordered_on` as `ordered on`, in singular or plural."""
    words = re.escape(name.lower()).replace("_", "[ _]")
    if words.endswith(("ies", "y")):
        return rf"{words.removesuffix('ies').removesuffix('y')}(?:ies|y)"
    return rf"{words.removesuffix('s')}s?"


def quoted_name(name: str) -> str:
    """Quote the name of a table or column, https://sqlite.org/lang_keywords.html."""
    return '"' + name.replace('"', '""') + '"'


def selects(word: str | None) -> bool:
    """Say whether a word may be a value to select by."""
    return bool(word) and str(word).lower() not in IDLE | NARROWING


def _is_one_of(columns: Sequence[str]) -> str:
    return f"? COLLATE NOCASE IN ({', '.join(map(quoted_name, columns))})"
