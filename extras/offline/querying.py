"""The embedded planner reads databases: count, list, filter, sum, group and sort the rows of one table.

Tables and columns are those of the user's databases, as the planner's prompt lists them. Words are taken
out of the clause as they are understood; what is left at the end has to be words that select nothing.
"""

from __future__ import annotations

import re

from planwright.extras.offline.clauses import Clause
from planwright.extras.offline.draft import Draft
from planwright.extras.offline.select import IDLE, Select, plural, quoted_name, selects
from planwright.extras.offline.slots import UntakenWords
from planwright.language.nouns import NAME_LABELS, PLACE_LABELS

_STATE_IN = "status state type kind category stage phase".split()
_ROLES = {
    "in|from|based in|located in|living in": PLACE_LABELS,
    "of|for|did|called|named": NAME_LABELS,
}
_COMPARED = {
    "above|over|greater than|more than|higher than|larger than|exceeding|>": ">",
    "below|under|less than|lower than|smaller than|fewer than|<": "<",
    "at least|>=": ">=",
    "at most|up to|<=": "<=",
}
_TOTALS = {
    "(?:the )?(?:sum|total)(?: amount| value)?(?: of)?|add up": ("SUM", "sum"),
    "(?:the )?(?:average|mean)(?: of)?": ("AVG", "average"),
    "(?:the )?(?:highest|largest|biggest|maximum)": ("MAX", "highest"),
    "(?:the )?(?:lowest|smallest|minimum)": ("MIN", "lowest"),
}
_DOWN = ("descending", "highest first", "newest first", "largest first")
_NUMBER = r"(?:EUR |USD |€|\$)?(?P<number>-?\d+(?:[.,]\d+)?)"
_ENDS_VALUE = "and|or|in|on|with|by|of|for|from|sorted|ordered|per|are|is|that|which|who|please|we|do|have|the|place|order|buy"
_WORD_OF_VALUE = rf"(?!(?:{_ENDS_VALUE}|still|there)\b)[\w.@-]+"
_VALUE = (
    r"(?:\"(?P<quoted>[^\"]+)\"|'(?P<single>[^']+)'"
    rf"|(?P<bare>{_WORD_OF_VALUE}(?: {_WORD_OF_VALUE})*))"
)


def query(draft: Draft, part: Clause) -> bool:
    """Plan a clause about the rows of a table; say whether it is one, and understood to its last word."""
    for database, tables in draft.databases.items():
        if _value_of_one(draft, part, database, tables):
            return True
        if len(tables) == 1 and (words := _of_file(part, database)):
            select = Select(next(iter(tables)), tables)
            if words.take(r"how many|(?:the )?number of|count(?: of| up)?|amount of"):
                select.call("COUNT", None)
            return _plan(draft, part, words, database, select, only_selected=True)
        for table in tables:
            words, select = UntakenWords(part.rest if part.action else part.text), Select(table, tables)
            if words.take(r"how many|(?:the )?number of|count(?: of| up)?|amount of"):
                select.call("COUNT", None)
            rows = words.find(rf"(?:(?P<state>[a-z][\w-]*) )?(?P<rows>{plural(table)})")
            if rows:
                stated = selects(rows["state"]) and _in_state(select, rows["state"])
                words.take(re.escape(rows[0] if stated else rows["rows"]))
                return _plan(draft, part, words, database, select)
    return False


def _value_of_one(draft: Draft, part: Clause, database: str, tables: dict[str, list[str]]) -> bool:
    """Plan `the email of Casa Verde`, where one table has that column and names; say whether it is that."""
    for table, columns in tables.items():
        for column in columns:
            match = re.fullmatch(
                rf"(?:what(?:['’]?s| is| are) |show me |give me |tell me )?(?:the )?{plural(column)}(?: address| number)? of (?P<name>[A-Z].*)",
                part.text,
            )
            select = Select(table, tables)
            if match and select.keep_any(
                _ROLES["of|for|did|called|named"], match["name"].rstrip("?"), linked=False
            ):
                select.show(column)
                step = draft.add(
                    "sql.query",
                    select.title,
                    database=database,
                    statement=select.statement,
                    parameters=select.values,
                )
                draft.set_topic(step, f"rows.0.{column}", table)
                draft.bound.append(part.text)
                return True
    return False


def _of_file(part: Clause, database: str) -> UntakenWords | None:
    """Take the name of a file that is one table, `sales.csv`; None where it is not named."""
    words = UntakenWords(part.rest if part.action else part.text)
    return words if words.take(rf"(?:(?:in|of|from) )?(?:the )?(?:file )?{re.escape(database)}") else None


def _plan(
    draft: Draft,
    part: Clause,
    words: UntakenWords,
    database: str,
    select: Select,
    *,
    only_selected: bool = False,
) -> bool:
    stem = re.escape(database.partition(".")[0])
    words.take(rf"(?:in|of|from) (?:the |our |my )?(?:{re.escape(database)}|{stem}(?: database)?)")
    select.order = _order(words, select)
    select.group = _column_after(words, select, r"by|per|for each|for every|in each|of each|grouped by")
    _compare(words, select)
    if not (select.called or select.order):
        _total(words, select)
    _filter_by_columns(words, select)
    _filter_by_role(words, select)
    selected = select.called or select.order or select.values or select.group
    if not words.idle(IDLE) or (only_selected and not selected):
        return False
    step = draft.add(
        "sql.query",
        select.title,
        database=database,
        statement=select.statement,
        parameters=select.values or None,
    )
    draft.set_topic(step, "rows", select.table)
    draft.bound.append(part.text)
    return True


def _column_after(words: UntakenWords, select: Select, before: str) -> str | None:
    columns = (
        column
        for column in select.columns
        if words.take(rf"(?<!sorted )(?<!ordered )(?:{before}) (?:the |their |its )?{plural(column)}")
    )
    return next(columns, None)


def _order(words: UntakenWords, select: Select) -> str:
    for column in select.columns:
        if match := words.take(rf"top (?P<count>\d+) \| +by (?:the |their )?{plural(column)}"):
            return f" ORDER BY {quoted_name(column)} DESC LIMIT {int(match['count'])}"
        name, how = plural(column), "|".join((*_DOWN, "ascending", "lowest first"))
        if match := words.take(
            rf"(?:sorted|ordered) by (?:the |their )?{name}(?:,? (?:in )?(?P<how>{how})(?: order)?)?"
        ):
            down = (match["how"] or "").lower() in _DOWN
            return f" ORDER BY {quoted_name(column)}{' DESC' if down else ''}"
        if match := words.take(
            rf"(?:with|that has|has) (?:the )?(?P<end>highest|largest|biggest|lowest|smallest) {name}"
        ):
            down = match["end"].lower() in ("highest", "largest", "biggest")
            return f" ORDER BY {quoted_name(column)}{' DESC' if down else ''} LIMIT 1"
    return ""


def _compare(words: UntakenWords, select: Select) -> None:
    before = r"(?:with |whose |where |having )?(?:an? |the |their )?"
    for column in select.columns:
        for than, sign in _COMPARED.items():
            pattern = rf"{before}{plural(column)} (?:of |is |are )*(?:{than}) {_NUMBER}"
            if match := words.take(pattern):
                number = float(match["number"].replace(",", "."))
                select.keep(f"{quoted_name(column)} {sign} ?", [number], f"{column} {sign} {match['number']}")


def _total(words: UntakenWords, select: Select) -> None:
    for pattern, (function, name) in _TOTALS.items():
        for column in select.columns:
            if words.take(rf"(?:{pattern})(?: \|)? +(?:the |all |their )*{plural(column)}"):
                return select.call(function, column, name)
    if "total" in select.columns and words.take(r"(?:the )?(?:total|sum)(?: of)?|how much"):
        select.call("SUM", "total", "sum")
    return None


def _filter_by_columns(words: UntakenWords, select: Select) -> None:
    """Filter by columns that the clause names: `with status open`, `whose city is Porto`."""
    before = r"(?:with |whose |where |having |that have |in |of )?(?:an? |the |their )?"
    for column in select.columns:
        pattern = rf"{before}{plural(column)} (?:is |are |= ?|of |equals )?(?:the )?{_VALUE}"
        if (value := _value(words.find(pattern))) and words.take(pattern):
            select.keep(f"{quoted_name(column)} = ? COLLATE NOCASE", [_typed(value)], f"{column} {value}")


def _filter_by_role(words: UntakenWords, select: Select) -> None:
    """Filter by columns that only their role tells: `are open`, `in Spain`, `of Casa Verde`."""
    state = words.find(
        r"(?:are|is|were|was|have been|has been|got) (?:still |currently |now |already )*(?P<state>[a-z]\w*)"
    )
    if state and selects(state["state"]) and _in_state(select, state["state"]):
        words.take(re.escape(state[0]))
    for before, roles in _ROLES.items():
        pattern = rf"(?:{before}) (?:the )?{_VALUE}"
        value = _value(words.find(pattern))
        if value and select.keep_any(roles, value, linked=True):
            words.take(pattern)


def _in_state(select: Select, state: str) -> bool:
    """Select the rows of a state, `open orders`, where a column says in which state they are."""
    return select.keep_any(_STATE_IN, state, linked=False)


def _value(match: re.Match[str] | None) -> str:
    """Read the value that a pattern names; "" where it is none to select by."""
    spelled = (match["quoted"] or match["single"] or match["bare"]) if match else ""
    return spelled if spelled and selects(spelled.split()[0]) else ""


def _typed(value: str) -> str | int | float:
    if re.fullmatch(r"-?\d{1,15}", value):
        return int(value)
    return float(value) if re.fullmatch(r"-?\d{1,15}\.\d+", value) else value
