"""Intruders at every route of a real `planwright studio`, and pages in a real browser on the same machine.

The server has two runs that wait for an approval. Whoever has no token, a wrong one, that of another tenant,
comes from another web page, under another name of the host, or with a body that is no JSON, has to be sent
away: nothing is read, nothing is decided, nothing changes. In the end the right token approves. Prints the
numbers, writes `intruder.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.intruder_attempts import (
    APPROVE,
    Tally,
    answer_in_anothers_name,
    intrude,
    play_the_graph_around,
    trespass,
)
from benchmarks.intruder_browser import browse, find_browser
from benchmarks.intruder_routes import Route, routes
from benchmarks.intruder_stage import GRAPH, Stage, open_stage
from planwright.security.credentials import login_name

LEAST_ROUTES = 100
NO_BROWSER = "Chromium is not installed: apt-get install chromium (or: make bench NAME=intruder, as root)"


def main() -> int:
    """Play everything and return the exit code."""
    options = _options()
    if not options.without_browser and find_browser() is None:
        print(NO_BROWSER)
        return 1
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="intruder-") as folder, open_stage(Path(folder)) as stage:
        figures, wrong = play(stage)
        if not options.without_browser:
            before = stage.record()
            pages, wrong_pages = browse(stage)
            figures["browser"] = pages
            wrong += [*wrong_pages, *changed(before, stage, "a page in the browser")]
        wrong += approve(stage)
    figures |= {"failures": len(wrong), "seconds": round(time.perf_counter() - started)}
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures))
    for failure in wrong[:30]:
        print(f"  {failure}")
    return int(bool(wrong))


def play(stage: Stage) -> tuple[dict[str, Any], list[str]]:
    """Send everybody to every route; return the numbers and what failed."""
    tally, before = Tally(), stage.record()
    with stage.client(stage.token) as client:
        listed = routes(client.get("/openapi.json").raise_for_status().json())
        known = client.get(f"/threads/{stage.thread}/state").text
    if stage.canary not in known or stage.interrupt not in known:
        tally.wrong.append("the right token reads nothing, so this shows nothing")
    if len(listed) < LEAST_ROUTES:
        tally.wrong.append(f"only {len(listed)} routes were found")
    for name, part in _parts(listed):
        part(stage, tally)
        tally.wrong += changed(before, stage, name)
    figures = {"routes": len(listed), "requests": tally.requests, "statuses": tally.statuses}
    return figures, tally.wrong


def changed(before: list[Any], stage: Stage, name: str) -> list[str]:
    """Say what is not as it was."""
    stage.settle()
    pairs = zip(before, stage.record(), strict=True)
    return [f"{name} changed {str(now)[:200]}" for then, now in pairs if then != now]


def approve(stage: Stage) -> list[str]:
    """Approve with the right token; the answer is given by the person whose token it is."""
    body = {"assistant_id": GRAPH, "command": APPROVE}
    with stage.client(stage.token) as client:
        ended = client.post(f"/threads/{stage.thread}/runs/wait", json=body).json()
    gates = [row[1:4] for row in stage.record()[1] if row[1] != "open"]
    wrong = [] if ended.get("status") == "completed" else [f"the right token could not approve: {ended}"]
    if gates != [("approved", login_name(), "server")]:
        wrong.append(f"on record is {gates}")
    return wrong


def _parts(listed: list[Route]) -> list[tuple[str, Any]]:
    return [
        ("an intruder", lambda stage, tally: intrude(stage, listed, tally)),
        ("another tenant", lambda stage, tally: trespass(stage, listed, tally)),
        ("another's name", answer_in_anothers_name),
        ("the graph around", play_the_graph_around),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--without-browser", action="store_true")
    parser.add_argument("--json", type=Path, default=Path("intruder.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
