"""Random replies of a model, of 2 to 8 calls over one small world, end as if made one by one.

Calls read and change the same things; some fail, some ask a person, who approves or rejects them at once or
one after another; some replies are left in the middle by kill -9, and resumed in another process. What is
left, what each call was told, and the order in which effects were made have to be those of a loop of a few
lines. No effect may overlap anything; reads that stand beside each other have to run side by side. With
`--without-order` all calls of a reply are made at once, and that has to show.
Prints N, failures and the seed, writes `replies.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.counted_stage import quick_folder
from benchmarks.reply_world import Call, Stage, Values, empty, one_by_one, random_reply
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

TURNS = 25  # replies of one run
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["benchmarks.reply_world", "planwright.graph.building"])
THREAD = "44444444-2222-4333-8444-555555555555"
FLAGS: dict[str, Any] = {
    "planning": {"mode": "never"},
    "tools": {"filter": "top_k", "top_k": 100},
    "execution": {"max_tool_iterations": 500},
    "loop_guard": {"window": 1},
    "approval": {"risk": "Critical"},
    "budgets": {
        "run": {"tool_calls": "unlimited", "effects": "unlimited", "effects_per_minute": "unlimited"}
    },
}


@dataclass
class Report:
    """What came of all replies; `seed` makes the same ones again."""

    seed: int
    replies: int = 0
    calls: int = 0
    effects: int = 0
    held_back: int = 0
    gates: int = 0
    kills: int = 0
    reads_beside: int = 0
    reads_alone: int = 0
    overlaps: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def compare(self, reply: Sequence[Call], expected: dict[int, str], told: dict[int, str]) -> None:
        """Count a reply, and note which of its calls was told something else."""
        self.replies += 1
        self.calls += len(reply)
        self.effects += sum(not call.reads for call in reply)
        self.held_back += sum(text == "not made" for text in expected.values())
        wrong = {
            call.tag: [expected[call.tag], told.get(call.tag)]
            for call in reply
            if not _same(expected[call.tag], told.get(call.tag, "nothing"))
        }
        if wrong:
            self.failures.append({"reply": [asdict(call) for call in reply], "told": wrong})

    def compare_world(self, expected: Values, found: Values, what: str) -> None:
        """Note where a world is left otherwise, or effects were made in another order, or twice."""
        for name in ("things", "path", "made"):
            if expected[name] != found[name]:
                self.failures.append({"after": what, name: [expected[name], found[name]]})

    def count(self, stage: Stage) -> None:
        """Count what has run beside what."""
        self.reads_beside += len(stage.beside)
        self.reads_alone += stage.alone
        self.overlaps += stage.overlaps


def _same(expected: str, told: str) -> bool:
    """Say whether a call was told what it should be; why it was not made, or failed, has more words."""
    return told == expected or (expected in told and told.startswith((expected, "<untrusted-")))


def answers(agent: Agent, config: RunnableConfig, no: set[int], random: Random) -> dict[str, str]:
    """Decide the gates that are open: all of them, or any one."""
    gates = {found.value["gate_id"]: found.value["shown"] for found in agent.get_state(config).interrupts}
    chosen = sorted(gates) if random.random() < 0.5 else sorted(gates)[:1]
    return {id_: "reject" if gates[id_]["args"]["tag"] in no else "approve" for id_ in chosen}


def told_in(model: ScriptedModel) -> dict[int, str]:
    """Read what a model was told of each call, when it was asked last."""
    messages = model.prompts[-1] if model.prompts else []
    return {
        int(message.tool_call_id.removeprefix("call_")): message.text
        for message in messages
        if isinstance(message, ToolMessage)
    }


def play(
    folder: Path, replies: Sequence[Sequence[Call]], stage: Stage, seed: str, *, resumed: bool = False
) -> tuple[dict[int, str], int]:
    """Play replies as turns of a run, or go on with it; return what calls were told, and how many gates."""
    random, no = Random(seed), {call.tag for reply in replies for call in reply if call.no}
    written = [{"content": "", "tool_calls": [call.spelled for call in reply]} for reply in replies]
    model = ScriptedModel(replies=["the end"] if resumed else [*written, "the end"])
    thread = THREAD if len(replies) == 1 else str(uuid.uuid4())
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    gates = 0
    with closing(build_graph(load(folder, **FLAGS), model=model, capabilities=stage.tools())) as agent:
        agent.invoke(None if resumed else {"messages": [("user", "Go")]}, config)
        while decided := answers(agent, config, no, random):
            gates += len(decided)
            agent.invoke(Command(resume=decided), config)
    return told_in(model), gates


def sweep(count: int, kills: int, seed: int, folder: Path) -> Report:
    """Play replies in whole runs, and some in processes that are killed; compare all ends."""
    report, random, tag = Report(seed), Random(seed), 0
    while report.replies < count - kills:
        replies = []
        for _ in range(min(TURNS, count - kills - report.replies)):
            replies.append(random_reply(random, tag))
            tag += len(replies[-1])
        place = folder / f"run-{tag}"
        place.mkdir(parents=True)
        stage, expected = Stage(place / "world.json"), empty()
        for reply in replies:
            stage.seat(reply)
        ends = [one_by_one(expected, reply) for reply in replies]
        told, gates = play(place, replies, stage, f"{seed}:{tag}")
        report.gates += gates
        for reply, end in zip(replies, ends, strict=True):
            report.compare(reply, end, told)
        report.compare_world(expected, stage.read(), place.name)
        report.count(stage)
    for number in range(kills):
        killed(random, number, folder / f"kill-{number}", report)
    return report


def killed(random: Random, number: int, folder: Path, report: Report) -> None:
    """Play a reply in a process that dies in one of its calls, and resume it in another one."""
    folder.mkdir(parents=True)
    reply, expected = random_reply(random, 1), empty()
    told = one_by_one(expected, reply)
    made = [call for call in reply if call.reads or call.tag in expected["made"]]
    if not made:
        return killed(random, number, folder / "again", report)
    last = random.choice(made)
    when = "before" if last.reads else random.choice(("before", "after"))
    (folder / "die").write_text(f"{when} {last.tag}", "utf-8")
    first, second = (
        _PROCESSES.Process(target=_part, args=(folder, reply, f"{report.seed}:{number}", resumed))
        for resumed in (False, True)
    )
    codes = []
    for process in (first, second):
        process.start()
        process.join()
        codes.append(process.exitcode)
    if codes != [-9, 0]:
        report.failures.append({"reply": [asdict(call) for call in reply], "exit codes": codes})
        return None
    report.kills += 1
    outcome = json.loads((folder / "told.json").read_text("utf-8"))
    report.compare(reply, told, {int(tag): text for tag, text in outcome.items()})
    report.compare_world(expected, Stage(folder / "world.json").read(), f"a kill {when} {last.tag}")
    return None


def _part(folder: Path, reply: list[Call], seed: str, resumed: bool) -> None:
    """Be one process of a reply that is left in the middle."""
    told, _ = play(folder, [reply], Stage(folder / "world.json"), seed, resumed=resumed)
    (folder / "told.json").write_text(json.dumps(told), "utf-8")


@contextmanager
def without_order() -> Iterator[None]:
    """Take the order of calls away, to see that the comparison finds it out."""
    with mock.patch("planwright.nodes.loop.llm_invoker.in_stages", side_effect=lambda calls: calls):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options, run, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replies", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=100, help="how many of them are left by kill -9")
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--without-order", action="store_true")
    parser.add_argument("--json", type=Path, default=Path("replies.json"))
    chosen = parser.parse_args(arguments)
    ordered = without_order() if chosen.without_order else nullcontext()
    with tempfile.TemporaryDirectory(prefix="replies-", dir=quick_folder()) as place, ordered:
        report = sweep(chosen.replies, chosen.kills, chosen.seed, Path(place))
    chosen.json.write_text(json.dumps(asdict(report), indent=1) + "\n", "utf-8")
    print(
        f"replies {report.replies}, calls {report.calls}, effects {report.effects}"
        f" ({report.held_back} not made: a no, or behind another), gates {report.gates},"
        f" killed and resumed {report.kills}, seed {report.seed}:"
        f" {len(report.failures)} end otherwise than one by one, {report.overlaps} overlap an effect;"
        f" of {report.reads_beside} reads that stand beside others {report.reads_alone} ran alone"
    )
    return 1 if report.failures or report.overlaps or report.reads_alone else 0


if __name__ == "__main__":
    sys.exit(main())
