"""Tools of published packages, used as they are, called through the product: `public_tools`.

Plain libraries wrapped by one line or not at all, tools of LangChain packages, and MCP servers. A scripted
model calls each three times: with arguments that fit (the result reaches the model, and the ledger has one
effect where it is one), with others (the model hears which and what may stand there; nothing is called), and
so that the tool fails by itself (the model hears the error, nothing stays in doubt). A person says of what
declares nothing what it may do, and approves. Exits with 1 where one tool falls short.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.public_libraries import TOOLS, write_files
from benchmarks.public_packages import (
    langchain_tools,
    node_versions,
    served,
    servers,
    spoil_memory,
    write_memory,
    write_world,
)
from benchmarks.public_trial import Case, OfferedModel, Outcome, Stage, judge
from benchmarks.trusted_servers import trust_servers
from planwright.graph.building import build_graph
from planwright.settings.settings import load

CASES = Path(__file__).with_name("public_tools.jsonl")
RESULTS = Path("public_tools.json")
MARKS = {True: "yes", False: "NO"}


def read_cases() -> list[Case]:
    """Read the tools and their calls."""
    return [Case.model_validate(json.loads(line)) for line in CASES.read_text("utf-8").splitlines()]


def play(kind: str, cases: Iterable[Case], folder: Path) -> Iterator[Outcome]:
    """Open an agent with all tools of a kind, and call each; as anybody would, at default settings."""
    write_files(folder)
    write_world(folder)
    if kind == "mcp":
        _trust(folder)
    tools = TOOLS if kind == "libraries" else langchain_tools(folder) if kind == "langchain" else ()
    model = OfferedModel(replies=["past"])
    with served(folder) as web, closing(build_graph(load(folder), tools=tools, model=model)) as agent:
        if problems := list(agent.servers.problems):
            raise RuntimeError(f"a server is not there: {problems}")
        stage = Stage(agent, model, folder, web)
        for case in cases:
            write_memory(folder)
            yield judge(case, stage, spoil_memory if case.spoil else None)


def _trust(folder: Path) -> None:
    """List the servers, and let a person trust them."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers(folder)}, indent=1), "utf-8")
    trust_servers(folder)


def versions(cases: Iterable[Case]) -> dict[str, str]:
    """Say which version of each package was called."""
    node = node_versions()
    return {case.package: node.get(case.package) or _version(case.package) for case in cases}


def _version(package: str) -> str:
    return "in an environment of its own" if package == "mcp-server-sqlite" else version(package)


def show(outcomes: Sequence[Outcome]) -> None:
    """Print a row for each tool."""
    table = Table("package", "tool", "offered", "asked", "right", "wrong", "raised", "problem")
    for outcome in outcomes:
        marks = (outcome.offered, outcome.right, outcome.wrong, outcome.raised)
        offered, *ends = (MARKS[mark] for mark in marks)
        asked = "yes" if outcome.asked else "no"
        table.add_row(outcome.package, outcome.tool, offered, asked, *ends, "\n".join(outcome.problems))
    Console(width=200).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options, call every tool, print and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of kinds, packages or tools")
    parser.add_argument("--json", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of the packages: they are as they are
    only = set(chosen.only or ())
    cases = [case for case in read_cases() if not only or only & {case.kind, case.package, case.tool}]
    outcomes: list[Outcome] = []
    for kind in dict.fromkeys(case.kind for case in cases):
        with tempfile.TemporaryDirectory(prefix="public-tools-") as folder:
            outcomes += play(kind, [case for case in cases if case.kind == kind], Path(folder))
    show(outcomes)
    packages, fell_short = versions(cases), [outcome for outcome in outcomes if outcome.problems]
    report = {"packages": packages, "tools": [asdict(outcome) for outcome in outcomes]}
    chosen.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(
        f"{len(outcomes)} tools of {len(packages)} packages, each called right, wrong and raising:"
        f" {len(fell_short)} fall short"
    )
    return 1 if fell_short else 0


if __name__ == "__main__":
    sys.exit(main())
