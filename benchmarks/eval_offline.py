"""`eval_offline`: the embedded planner on written requests, planned by the real graph -> eval.json.

`offline_requests.jsonl` was written beside the planner and `…_tuning.jsonl` by somebody who had not seen it;
the planner was tuned on both, and on `…_qualifiers.jsonl`, requests with a word that a partial read drops.
`…_heldout.jsonl` was written before there was a planner. Two hundred more were written by somebody who saw
only the capabilities and a workspace: the planner was tuned on every other one (`…_crowd.jsonl`), and nobody
has read what it makes of the rest (`…_unseen.jsonl`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.offline_marks import Mark, mark
from benchmarks.offline_workspace import write_office
from planwright.domain.plan import Plan
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

HERE = Path(__file__).parent
SETS = {
    "own": HERE / "offline_requests.jsonl",
    "tuning": HERE / "offline_requests_tuning.jsonl",
    "qualifiers": HERE / "offline_requests_qualifiers.jsonl",
    "crowd": HERE / "offline_requests_crowd.jsonl",
    "held out": HERE / "offline_requests_heldout.jsonl",
    "unseen": HERE / "offline_requests_unseen.jsonl",
}
NOT_TUNED_ON = ("held out", "unseen")
RIGHT, WRONG_READS = 0.85, 0.02  # at least, at most
COUNTED = ("requests", "right", "wrong_reads", "wrong_effects")


def plan_for(agent: Agent, request: str) -> Plan | None:
    """Plan one request by the real graph, without running anything."""
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    out = agent.invoke({"messages": [("user", request)]}, config, context=RunContext(dry_run=True))
    return out.get("plan") if out["status"] == "planned" else None


def evaluate(path: Path) -> list[tuple[dict[str, Any], Mark]]:
    """Mark every request of a file."""
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        write_office(workspace)
        url = "http://127.0.0.1:9/hooks/team"
        mail = {"host": "127.0.0.1", "port": 9, "from": "me@example.com", "security": "none"}
        allowed = ["127.0.0.1", "127.0.0.1:8123"]
        settings = load(
            workspace, channels={"team": {"url": url}}, egress={"allow": allowed}, providers={}, mail=mail
        )
        agent = build_graph(settings)
        try:
            return [(case, mark(case, plan_for(agent, case["request"]), workspace)) for case in cases]
        finally:
            agent.close()


def counted(marks: list[tuple[dict[str, Any], Mark]]) -> Counter[str]:
    """Count what is right, and what is wrong in a way that matters."""
    return Counter(
        requests=len(marks),
        right=sum(mark.right for _, mark in marks),
        wrong_reads=sum(mark.wrong_read for _, mark in marks),
        wrong_effects=sum(mark.wrong_effects for _, mark in marks),
    )


def main() -> None:
    """Evaluate the sets, print a table, write eval.json, and fail below what is required."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--show", action="append", default=[], choices=SETS, help="print what went wrong in a set"
    )
    shown = parser.parse_args().show
    table = Table("set", *(name.replace("_", " ") for name in COUNTED), "share")
    flat: dict[str, float] = {}
    totals: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for name, path in SETS.items():
        marks = evaluate(path)
        for case, result in marks:
            if name in shown and not result.right:
                print(f"{case['id']}  {case['request']}\n      {result.why}")
        counts = counted(marks)
        totals[name in NOT_TUNED_ON] += counts
        table.add_row(
            name,
            *(str(counts[key]) for key in COUNTED),
            f"{counts['right'] / max(1, counts['requests']):.1%}",
        )
        flat |= {f"{name.replace(' ', '_')}_{key}": counts[key] for key in COUNTED}
    Console().print(table)
    whole, untuned = totals[True] + totals[False], totals[True]
    flat |= {key: whole[key] for key in COUNTED} | {"share": round(whole["right"] / whole["requests"], 4)}
    flat["share_not_tuned_on"] = round(untuned["right"] / untuned["requests"], 4)
    flat["share_of_wrong_reads"] = round(whole["wrong_reads"] / whole["requests"], 4)
    Path("eval.json").write_text(json.dumps(flat, indent=2) + "\n")
    print(
        f"eval-offline: {whole['right']} of {whole['requests']} right ({flat['share']:.1%}), not tuned on"
        f" {flat['share_not_tuned_on']:.1%}, {whole['wrong_reads']} wrong reads,"
        f" {whole['wrong_effects']} wrong effects"
    )
    good = min(flat["share"], flat["share_not_tuned_on"]) >= RIGHT and whole["wrong_effects"] == 0
    wrong_reads = max(counts["wrong_reads"] / counts["requests"] for counts in (whole, untuned))
    sys.exit(0 if good and wrong_reads <= WRONG_READS else 1)


if __name__ == "__main__":
    main()
