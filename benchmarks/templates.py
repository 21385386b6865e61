"""Hostile templates for the arguments of a chain: written ones, and thousands at random.

Each is resolved as it stands, over plain values and over objects that tell of every look at an attribute,
and offered as part of a chain. It has to become exactly what an oracle of other code says, or to be refused
by name; what a reference brings in is never read again; and a chain that is made holds nothing that cannot
be resolved. Prints how many failed and the seed, writes `templates.json`, exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from benchmarks.random_templates import random_template
from benchmarks.template_oracle import Refused, expected, left_open, references
from benchmarks.watched import CANARY, Looked, scope
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.builtin.chain import create_chain
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.compose import compose_chain
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected, PlanInvalid
from planwright.domain.references import resolve
from planwright.records.stores import open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

ROWS = Path(__file__).parent / "hostile_templates.jsonl"
IN_CHAIN = 5  # of so many random templates one is also offered as part of a chain
REFUSALS = (CapabilityRejected, PlanInvalid)


@capability("take.give", mode="read_only")
def give() -> JsonValue:
    """Give anything."""
    return None


@capability("take.value", mode="read_only")
def take(value: JsonValue) -> JsonValue:
    """Take anything."""
    return value


@dataclass(frozen=True)
class Row:
    """One written template, what it becomes (or that it is refused), and whether a chain may hold it."""

    name: str
    template: Any
    becomes: Any
    refused: bool
    made: bool


class Workshop:
    """Where templates are resolved and chains are made."""

    def __init__(self, world: CallContext) -> None:
        self._world = world
        self._registry = Registry([give, take, create_chain])
        self.plain, self.watched = scope()
        self.made = 0

    def wrong_with(self, template: Any, *, in_chain: bool = True) -> str:
        """Say what is wrong with what becomes of a template, or of a chain with it; empty for nothing."""
        before = copy.deepcopy(template)
        try:
            what = self._plain(template) or self._watched(template)
            what = what or (self._made(template) if in_chain else "")
        except Looked as error:
            return f"an attribute was looked at: {error}"
        except Exception as error:  # noqa: BLE001 - that nothing else comes out is what is tested
            return f"{type(error).__name__} came out: {error}"[:300]
        return what or ("" if template == before else "the template was changed")

    def is_made(self, template: Any) -> bool:
        """Say whether a chain with this template can be made. Raises nothing but what is a failure."""
        steps = [
            {"toolName": "take.give", "id": "first"},
            {"toolName": "take.value", "arguments": {"value": template}},
        ]
        given: dict[str, Any] = {"name": "a_chain", "description": "d", "steps": steps}
        try:
            known = check_arguments(create_chain, given)
            compose_chain(known, self._registry, self._registry, self._world)
        except REFUSALS:
            return False
        return True

    def _plain(self, template: Any) -> str:
        try:
            wanted, refused = expected(template, self.plain), False
        except Refused:
            wanted, refused = None, True
        try:
            found = resolve(template, self.plain)
        except REFUSALS:
            return "" if refused else "it was refused"
        if refused:
            return f"it became {found!r}, and leads nowhere"[:300]
        if _typed(found) != _typed(wanted):
            return f"it became {found!r}, not {wanted!r}"[:300]
        if CANARY in json.dumps(found) and CANARY not in json.dumps(template) and not _asks(template):
            return "a reference that a value brought in was resolved"
        return ""

    def _watched(self, template: Any) -> str:
        try:
            expected(template, self.watched)
        except (Looked, TypeError):
            return ""  # a whole container inside a text: spelling it is no look of the template's
        except Refused:
            pass
        with contextlib.suppress(*REFUSALS):
            resolve(template, self.watched)
        return ""

    def _made(self, template: Any) -> str:
        if not self.is_made(template):
            return ""
        self.made += 1
        return "a chain was made with braces that are no reference" if left_open(template) else ""


def written_rows(path: Path = ROWS) -> Iterator[Row]:
    """Read the written templates; long ones are built from pieces that are repeated."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        template = _built(row["build"]) if "build" in row else row["template"]
        becomes = row["value"] if "value" in row else _built(row["becomes"]) if "becomes" in row else template
        yield Row(row["name"], template, becomes, row.get("refused", False), row["made"])


def wrong_with_row(row: Row, workshop: Workshop) -> str:
    """Say what is wrong with what becomes of a written template, by what is written beside it."""
    try:
        found = resolve(row.template, workshop.plain)
        what = f"it became {found!r}"[:300] if row.refused or _typed(found) != _typed(row.becomes) else ""
    except REFUSALS:
        what = "" if row.refused else "it was refused"
    made = workshop.is_made(row.template)
    if made != row.made:
        what = what or f"a chain with it was {'made' if made else 'refused'}"
    return what or workshop.wrong_with(row.template)


def check_written(workshop: Workshop) -> tuple[int, list[str]]:
    """Check every written template. Returns how many there are, and what failed."""
    rows = list(written_rows())
    return len(rows), [f"{row.name}: {what}" for row in rows if (what := wrong_with_row(row, workshop))]


def fuzz(count: int, seed: int, workshop: Workshop) -> list[str]:
    """Check random templates, and list what failed."""
    failures = []
    for number in range(count):
        template = random_template(random.Random(f"{seed}:{number}"))
        if what := workshop.wrong_with(template, in_chain=number % IN_CHAIN == 0):
            failures.append(f"{number}: {what}: {ascii(template)[:300]}")
    return failures


def workshop_in(folder: Path) -> Workshop:
    """Open a workshop; nothing is kept in its folder."""
    settings = load(folder)
    return Workshop(CallContext(settings, Jail(settings.workspace), open_stores(folder / "store").memories))


def main() -> int:
    """Check all templates and return the exit code."""
    options = _options()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="templates-") as folder:
        workshop = workshop_in(Path(folder))
        written, failures = check_written(workshop)
        failures += fuzz(options.fuzzed, options.seed, workshop)
    assert written >= 150, f"{written} written templates, 150 are wanted"
    counts = {
        "written": written,
        "fuzzed": options.fuzzed,
        "chains_made": workshop.made,
        "seed": options.seed,
    }
    seconds = round(time.perf_counter() - started, 1)
    figures = {**counts, "failures": len(failures), "seconds": seconds}
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in failures[:20]:
        print(f"  {failure}")
    return int(bool(failures))


def _asks(template: Any) -> bool:
    """Whether a template refers to what holds the canary by itself."""
    return any(path == ["input"] or "canary" in path for path in references(template))


def _typed(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _built(pieces: list[list[Any]]) -> str:
    return "".join(text * count for text, count in pieces)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fuzzed", type=int, default=50_000, help="how many random ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("templates.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
