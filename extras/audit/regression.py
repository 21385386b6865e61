"""`planwright eval add | run`: keep the plans that people approved, and plan their requests anew."""

from __future__ import annotations

import json
import re
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.cli.views.printable import one_line
from planwright.cli.views.run_views import find_run
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.domain.run_context import RunContext
from planwright.extras.audit.cases import Case, Outcome, case_of, compare_plan, load_cases, outline, save_case
from planwright.extras.audit.chain_views import open_records_file
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PASS: tuple[Outcome, ...] = ("same", "other arguments")
CaseResult = tuple[Outcome, str]


def add_case(thread: str, name: str, workspace: Path) -> int:
    """Make a case of a run. Returns the exit code."""
    if not NAME.fullmatch(name):
        raise SetupError(f"{name!a} is no name of a case", "use small letters, digits, - and _")
    settings = load_trusted(workspace)
    run_id = find_run(settings, thread)["run_id"]
    with closing(open_records_file(settings)) as connection:
        case = case_of(connection, run_id)
    path = save_case(settings.workspace, name, case)
    views.console().print(views.label("case", f"{path}: {len(case.plan)} steps; try it: planwright eval run"))
    return 0


def run_cases(names: list[str], strict: bool, workspace: Path, as_json: bool) -> int:
    """Plan the cases anew, print what differs, and return 1 where a plan is another one."""
    settings = load_logged(workspace)
    cases = load_cases(settings.workspace, names)
    if not cases:
        raise SetupError("there are no cases yet", "keep an approved run: planwright eval add RUN NAME")
    with build_graph(settings) as agent:
        results = {name: plan_anew(agent, case) for name, case in cases.items()}
    passing = PASS[:1] if strict else PASS
    failed = [name for name, (outcome, _) in results.items() if outcome not in passing]
    if as_json:
        rows = [{"case": name, "outcome": outcome, "detail": why} for name, (outcome, why) in results.items()]
        print(json.dumps({"cases": rows, "failed": failed}, indent=2, ensure_ascii=False))
    else:
        _print(results, failed)
    return int(bool(failed))


def plan_anew(agent: Agent, case: Case) -> CaseResult:
    """Plan a request in a dry run, which is on record as one, and compare what came of it."""
    context = RunContext(agent=case.agent, planning_mode="always", dry_run=True, channel="eval")
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    try:
        output = agent.invoke({"messages": [("user", case.request)]}, config, context=context)
    except PlanwrightError as error:
        return "no plan", error.cause
    if output["status"] != "planned":
        return "no plan", f"{output['status']}: {output.get('answer', '')}"
    return compare_plan(case, outline(output["plan"], agent.get_state(config).values["checked"]))


def _print(results: dict[str, CaseResult], failed: list[str]) -> None:
    table = Table("case", "plan", "difference")
    for name, (outcome, why) in results.items():
        table.add_row(name, Text(outcome, "red" if name in failed else "green"), Text(one_line(why)))
    console = views.console()
    console.print(table)
    console.print(f"{len(results)} case{'s' * (len(results) != 1)}, {len(failed)} failed")
