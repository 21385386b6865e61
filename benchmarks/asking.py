"""A person is asked once about what becomes known together: questions, counted -> asking.json

Forty read-then-write tasks of an ordinary week, by the embedded planner, as a scripted plan and in a loop: a
question is a card that a person answered, a group is all effects whose values become known at one time (their
reads are done, and so are the effects that they take values from). Then a chat of ten messages on one note,
five mails, and the demo. Exits with 1 where more questions were asked than there are groups, or an effect had
a value that no card had shown, and where chat, mails or demo ask otherwise than they are to.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.asking_tasks import FINDS_NOTHING, TASKS
from benchmarks.asking_world import Talk, World, rows, unseen, world
from planwright.domain.references import has_reference
from planwright.domain.verified_step import VerifiedStep
from planwright.extras.demo.demo_command import REQUEST

WAYS = ("embedded", "plan", "loop")
Effect = tuple[str, dict[str, Any]]


@dataclass
class Play:
    """What became of one task, done one way."""

    task: str
    way: str
    questions: int = 0
    groups: int = 0
    effects: int = 0
    free: int = 0
    """Effects that nobody has to be asked about."""
    unseen: list[str] = field(default_factory=list)
    proposed: int = 0
    """Memories that a loop proposed instead of writing them: whoever accepts one sees it, and is asked so."""
    ended: str = ""

    @property
    def holds(self) -> bool:
        """Whether it asked no more than it had to, showed all, and did something if there was something."""
        if self.task in FINDS_NOTHING:
            return self.ended.startswith("completed") and (self.questions, self.effects) == (0, 0)
        return self.questions <= self.groups and not self.unseen and self.effects + self.proposed > 0


@dataclass(frozen=True)
class Recorded:
    """What the first play of a task leaves for the others to do in their way."""

    plan: dict[str, Any]
    reads: tuple[Effect, ...]
    stages: tuple[tuple[Effect, ...], ...]
    """Effects by when they become known."""


def play_task(task: str, outside: World, folder: Path) -> list[Play]:
    """Do a task in all ways, each in a workspace of its own."""
    request = task.replace("{url}", outside.url)
    embedded = Play(task, "embedded")
    _play(embedded, request, outside, folder / "embedded")
    plays, recorded = [embedded], _recorded(folder / "embedded")
    if recorded is None:
        return [*plays, *(Play(task, way, ended="there is no plan to follow") for way in WAYS[1:])]
    plans = [json.dumps(recorded.plan)] * (2 if task in FINDS_NOTHING else 1)  # it is asked for another one
    for way, replies, mode in (
        ("plan", [*plans, "done"], "always"),
        ("loop", [*_replies(recorded), "done"], "never"),
    ):
        plays.append(Play(task, way))
        _play(plays[-1], request, outside, folder / way, *replies, planning={"mode": mode})
    for play in plays:
        play.groups = len(recorded.stages)
    return plays


def _play(play: Play, request: str, outside: World, folder: Path, *replies: Any, **options: Any) -> None:
    with outside.agent(folder, *replies, **options) as agent:
        talk = Talk(agent)
        play.ended = talk.say(request)
    play.questions = len(talk.cards)
    done = _effects(folder)
    play.proposed = len(rows(folder, "SELECT 1 FROM proposals WHERE status = 'proposed'"))
    play.questions += play.proposed
    play.effects = len(done)
    play.free = 0 if talk.cards else len(done)
    play.unseen = unseen(done, talk.cards) if talk.cards else []


def _effects(folder: Path) -> list[Effect]:
    query = "SELECT capability, args FROM effects WHERE status = 'done' ORDER BY rowid"
    return [(row["capability"], json.loads(row["args"])) for row in rows(folder, query)]


def _recorded(folder: Path) -> Recorded | None:
    """Read the plan of a play off its record, and sort its effects by when their values become known.

    None where it made no plan.
    """
    query = "SELECT plan, checked FROM plans WHERE kind = 'plan' ORDER BY rowid DESC LIMIT 1"
    if not (plans := rows(folder, query)):
        return None
    (plan,) = plans
    checked = [VerifiedStep.model_validate(entry) for entry in json.loads(plan["checked"])]
    query = "SELECT step_uid, capability, args FROM effects WHERE status = 'done'"
    done = {row["step_uid"]: (row["capability"], json.loads(row["args"])) for row in rows(folder, query)}
    stages: dict[int, list[Effect]] = {}
    levels: dict[str, int] = {}
    for entry in checked:
        level = max((levels[uid] for uid in entry.needs if uid in levels), default=0)
        if entry.uid in done:
            stages.setdefault(level, []).append(done[entry.uid])
        levels[entry.uid] = level + (entry.effect != "pure" and _is_used(entry, checked))
    sources = [
        entry.step for entry in checked if entry.effect == "pure" and not has_reference(entry.step.params)
    ]
    reads = tuple((step.capability or "", dict(step.params)) for step in sources)
    steps = json.loads(plan["plan"])
    return Recorded(steps, reads, tuple(tuple(stages[level]) for level in sorted(stages)))


def _is_used(entry: VerifiedStep, checked: Sequence[VerifiedStep]) -> bool:
    """Say whether another step takes a value from an effect."""
    return any(entry.step.id in other.step.references for other in checked)


def _replies(recorded: Recorded) -> list[dict[str, Any]]:
    """Let a model read, and then make the effects of each stage in one reply."""
    groups = [recorded.reads, *recorded.stages]
    return [calls(*group, first=10 * number) for number, group in enumerate(groups) if group]


def calls(*each: Effect, first: int = 0) -> dict[str, Any]:
    """Write a model's reply that makes calls."""
    listed = [
        {"name": name.replace(".", "__"), "args": args, "id": f"c{first + number}"}
        for number, (name, args) in enumerate(each)
    ]
    return {"content": "", "tool_calls": listed}


def chat(outside: World, folder: Path) -> int:
    """Write ten times to one note, in one conversation, and count the questions; each yes is for that."""
    texts = [f"line {number}" for number in range(10)]
    replies = [
        reply
        for text in texts
        for reply in (calls(("files.write", {"path": "notes/day.md", "text": text})), "ok")
    ]
    with outside.agent(folder, *replies, planning={"mode": "never"}) as agent:
        talk = Talk(agent, remember="session")
        for text in texts:
            talk.say(f"Put {text} into notes/day.md")
    assert len(_effects(folder)) == len(texts)
    return len(talk.cards)


def mails(outside: World, folder: Path) -> int:
    """Send five mails in one reply, and count the questions."""
    letters = [("mail.send", {"to": [f"guest{n}@a.example"], "text": f"See you at {n}."}) for n in range(5)]
    with outside.agent(folder, calls(*letters), "done", planning={"mode": "never"}) as agent:
        talk = Talk(agent)
        talk.say("Write to my five guests")
    assert len(_effects(folder)) == len(letters)
    return len(talk.cards)


def demo(outside: World, folder: Path) -> tuple[int, bool]:
    """Run the demo's request; count the questions, and say whether a card has the amount and the text."""
    with outside.agent(folder) as agent:
        talk = Talk(agent)
        talk.say(REQUEST)
    posted = [args["text"] for name, args in _effects(folder) if name == "channel.post"]
    cards = json.dumps(talk.cards, ensure_ascii=False)
    known = bool(posted) and json.dumps(posted[0], ensure_ascii=False)[1:-1] in cards
    return len(talk.cards), "4,310.50" in cards and known


def main() -> int:
    """Play all, print what was counted, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="play each Nth task alone")
    parser.add_argument("--json", type=Path, default=Path("asking.json"))
    options = parser.parse_args()
    plays: list[Play] = []
    with world() as outside, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, task in enumerate(TASKS[:: options.every]):
            plays += play_task(task, outside, folder / f"task{number}")
        chatted, mailed = chat(outside, folder / "chat"), mails(outside, folder / "mails")
        demo_cards, known = demo(outside, folder / "demo")
    for way in WAYS:
        mine = [play for play in plays if play.way == way]
        counts = {
            name: sum(getattr(play, name) for play in mine) for name in ("questions", "groups", "effects")
        }
        values = sum(len(play.unseen) for play in mine)
        print(f"{way:10}{len(mine)} tasks: {counts}, values that no card showed: {values}")
    for play in plays:
        if not play.holds:
            print(
                f"  {play.way}: {play.questions} questions, {play.groups} groups, {play.ended}: {play.task}"
            )
            print("".join(f"    {value}\n" for value in play.unseen), end="")
    print(
        f"chat of ten on one note: {chatted}; five mails: {mailed};"
        f" demo: {demo_cards}, with its values: {known}"
    )
    failed = [play for play in plays if not play.holds]
    figures = {"chat": chatted, "mails": mailed, "demo": demo_cards, "demo_shows_values": known}
    report = {**figures, "failed": len(failed), "plays": [asdict(play) for play in plays]}
    options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if failed or (chatted, mailed, demo_cards, known) != (1, 1, 1, True) else 0


if __name__ == "__main__":
    sys.exit(main())
