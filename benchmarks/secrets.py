"""Canaries in every shape through every place; then everything that was written or said is searched.

Prints how many (shape, place) pairs were played, how often a canary could be read, and what keeping
it out of sight costs a checkpoint; writes `secrets.json`, and exits with 1 on any hit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

from benchmarks.canaries import ODD, PLAIN, SHAPES, found_in, searched, shown
from benchmarks.leak_stage import Stage
from benchmarks.leaks import PLACES
from benchmarks.redaction_cost import cost
from benchmarks.wire_leaks import AT_THE_TERMINAL, IN_PROCESS

ENVIRONMENT = {"CANARY_PLAIN": PLAIN, "CANARY_ODD": ODD}
KNOWN = '[secrets]\nenv = ["CANARY_PLAIN", "CANARY_ODD"]\n'
TOML = '[approval]\nplan = "never"\n[execution]\nretry_base_ms = 1\n'
PLANTED = frozenset(("planted", "mail", "planwright.toml"))
TOGETHER = 6
SHAPES_AT_THE_TERMINAL = ("as it is", "base64, two in")
EVERYWHERE = (*PLACES, *IN_PROCESS, *AT_THE_TERMINAL)
Place = Callable[[Stage, str], None]


def main() -> int:
    """Play every shape at every place, search, and return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path, default=Path("secrets.json"))
    given, started = options.parse_args(), time.perf_counter()
    hits, played, blind = list[str](), 0, list[str]()
    with tempfile.TemporaryDirectory(prefix="secrets-") as folder:
        for place in EVERYWHERE:
            name, shapes = place.__name__, SHAPES_AT_THE_TERMINAL if place in AT_THE_TERMINAL else SHAPES
            found = leaks(place, shapes, Path(folder) / name)
            seen = leaks(place, ["as it is"], Path(folder) / f"{name} unguarded", known="")
            hits, played, blind = hits + found, played + len(shapes), blind + [name] * (not seen)
            print(
                f"{name:<16} {len(shapes):>3} shapes, {len(found)} hits ({len(seen)} unguarded)", flush=True
            )
        ratio = cost(Path(folder) / "cost")
    figures: dict[str, float] = {
        "n": played,
        "places": len(EVERYWHERE),
        "shapes": len(SHAPES),
        "failures": len(hits),
    }
    figures |= {"places_not_seen_unguarded": len(blind), **ratio}
    figures["seconds"] = round(time.perf_counter() - started, 1)
    given.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for hit in hits[:20]:
        print(f"  {hit}")
    assert played >= 600, f"{played} played, 600 are promised"
    assert not blind, f"these places showed nothing even unguarded: {blind}"
    return int(bool(hits))


def leaks(place: Place, shapes: Collection[str], folder: Path, known: str = KNOWN) -> list[str]:
    """Play shapes at one place in a workspace of its own, and list where a canary can be read after it.

    With `known` empty nobody knows what is secret, and there has to be something to read.
    """
    folder.mkdir(parents=True)
    (folder / "planwright.toml").write_text(known + TOML, "utf-8")
    os.environ.update(ENVIRONMENT)
    read = []
    together = TOGETHER if place in PLACES else 1  # what comes over the wire is cut after some characters
    listed = list(shapes)
    for group in (listed[at : at + together] for at in range(0, len(listed), together)):
        stage = Stage(folder)
        place(stage, "\n".join(map(shown, group)))
        read += [(f"{', '.join(group)}: {where}", text) for where, text in stage.heard]
    written = list(searched(folder, PLANTED))
    assert any(name.endswith(".db") for name, _ in written), "nothing was written"
    texts = {text: where for where, text in read + written}
    return [f"{place.__name__}: {where}: {hit}" for text, where in texts.items() for hit in found_in(text)]


if __name__ == "__main__":
    sys.exit(main())
