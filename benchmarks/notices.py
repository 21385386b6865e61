"""1,000 gates, and processes that tell people of them and are killed by -9: is each told, under one id?

Gates open while two senders are at work at any time. Each is killed after a random while: before a claim,
between claim and sending, while it sends, before it has written down what was sent. Then one may finish.
A webhook counts what arrives -> notices.json. A message may arrive again under the id it had where one of its
senders was dead by then, and a dead one explains no more than it sends at one time. Exits with 1 where a gate
was told under no id or under two, one arrived again that no death explains, or a row says otherwise than the
webhook.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from planwright.approvals.notices import notifier as notifiers
from planwright.domain.lease import Lease
from planwright.records.consent.gate import Gate
from planwright.records.records import Records, open_records
from planwright.records.runs import Run
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings, load
from tests.notice_receiver import PATH, NoticeReceiver, Posted

SENDERS = 2
PATIENCE_S = 300
IDLE_S = 0.02
DELAY_S = 0.05
"""Seconds that the receiver takes to answer: most kills hit what has arrived and is not written down."""


@dataclass
class Outcome:
    """What came of it."""

    gates: int
    kills: int
    posts: int
    untold: int
    two_ids: int
    again: int
    """Messages that arrived again under their id."""
    unexplained: int
    """Those of them whose senders were all alive, and those beyond what the death of one explains."""
    unwritten: int
    """Messages that arrived and whose rows say that they did not, or the other way round."""
    rows_again: int
    """Rows that were claimed more than once."""

    @property
    def holds(self) -> bool:
        """Whether each gate was told under one id, and again only where a kill explains it."""
        return not (self.untold or self.two_ids or self.unexplained or self.unwritten)


def opened(settings: Settings) -> Records:
    """Open the records of a workspace, as each sender does."""
    return open_records(settings.store_folder, url=settings.store_url)


async def open_gates(records: Records, count: int) -> None:
    """Open gates of one run, one after the other."""
    now = records.time.now()
    run = Run(
        run_id="run_told",
        thread_id="told",
        tenant="default",
        status="running",
        request="tell of it",
        messages=[],
        context={},
        started_at=now.isoformat(),
    )
    lease = await records.leases.take(run, PATIENCE_S)
    for number in range(count):
        await records.gates.open(_gate(number, lease, records), lease)


def _gate(number: int, lease: Lease, records: Records) -> Gate:
    now = records.time.now()
    card: dict[str, Any] = {
        "capability": "channel.post",
        "description": "Post a message to a team channel.",
        "reason": "Medium risk",
        "risk": "Medium",
        "mode": "network",
        "effect": "idempotent",
        "args": {"text": f"message {number}"},
        "step_id": f"s{number}",
    }
    return Gate(
        gate_id=f"gate_{number}",
        thread_id=lease.thread_id,
        run_id=lease.run_id,
        tenant=lease.tenant,
        kind="step",
        step_uid=f"step_{number}",
        shown_hash="a" * 64,
        card=card,
        requested_at=now,
        expires_at=now + timedelta(days=1),
        status="open",
    )


async def send(settings: Settings, records: Records, *, until_killed: bool) -> None:
    """Send what is due, again and again; or once."""
    notifier = notifiers.Notifier(settings, records, Redactor())
    await notifier.send_due()
    while until_killed:
        await asyncio.sleep(IDLE_S)
        await notifier.send_due()


@dataclass
class Sender:
    """A process that sends, to a path of its own."""

    path: str
    process: subprocess.Popen[str]
    killed_s: float = math.inf
    """When it was sent the signal, on the monotonic clock."""

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.killed_s = time.monotonic()
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def _sender(folder: Path, receiver: NoticeReceiver, number: int) -> Sender:
    settings, path = receiver.settings, f"{PATH}/{number}"
    settings["notify"]["webhook"] = settings["notify"]["webhook"].replace(PATH, path)
    command = [sys.executable, "-m", "benchmarks.notices", "--send", str(folder), json.dumps(settings)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    process.stdout.readline()  # it is about to look for the first time
    return Sender(path, process)


def unexplained(posts: Sequence[Posted], killed: Mapping[str, float]) -> int:
    """Count the messages that arrived again though no sender of them was dead by then.

    `killed` says when, by path. One that was killed explains no more than it sends at one time.
    """
    earlier: dict[str, Posted] = {}
    left = dict.fromkeys(killed, notifiers.AT_ONCE)
    count = 0
    for post in sorted(posts, key=lambda post: post.at_s):
        before = earlier.get(post.key)
        earlier[post.key] = post
        if before is None:
            continue
        # What a dead one has sent may be read after what the next one sends.
        dead = [each.path for each in (before, post) if killed.get(each.path, math.inf) <= post.at_s]
        dead = [path for path in dead if left[path]] if before.path != post.path else []
        if dead:
            left[dead[0]] -= 1
        else:
            count += 1
    return count


def play(folder: Path, count: int, seed: int, longest_s: float) -> Outcome:
    """Open gates beside senders that are killed, let one finish, and count what arrived."""
    dice, every = random.Random(seed), list[Sender]()
    with NoticeReceiver(delay_s=DELAY_S) as receiver, ThreadPoolExecutor(1) as opener:
        settings = load(folder, **receiver.settings)
        records = opened(settings)
        opening = opener.submit(asyncio.run, open_gates(records, count))
        every += [_sender(folder, receiver, number) for number in range(SENDERS)]
        deadline = time.monotonic() + PATIENCE_S
        while len({post.content["gate_id"] for post in receiver.posts}) < count:
            assert time.monotonic() < deadline, "the senders get nowhere"
            if opening.done():
                opening.result()
            time.sleep(dice.uniform(0, longest_s))
            every[-SENDERS].kill()
            every.append(_sender(folder, receiver, len(every)))
        for sender in every[-SENDERS:]:
            sender.kill()
        asyncio.run(send(settings, records, until_killed=False))
        outcome = judge(receiver, records, count, every)
        records.close()
    return outcome


def judge(receiver: NoticeReceiver, records: Records, count: int, senders: Sequence[Sender]) -> Outcome:
    """Hold what arrived against the gates, and against the rows."""
    ids: dict[str, list[str]] = defaultdict(list)
    for post in receiver.posts:
        ids[post.content["gate_id"]].append(post.key)
    query = "SELECT subject, sent_at, attempts FROM notices"
    rows = records.database.look(lambda c: [tuple(row) for row in c.execute(query)])
    written = {subject for subject, sent_at, _ in rows if sent_at}
    gates = {f"gate_{number}" for number in range(count)}
    return Outcome(
        gates=count,
        kills=len(senders),
        posts=len(receiver.posts),
        untold=len(gates - ids.keys()),
        two_ids=sum(len(set(keys)) > 1 for keys in ids.values()),
        again=sum(len(keys) - 1 for keys in ids.values()),
        unexplained=unexplained(receiver.posts, {sender.path: sender.killed_s for sender in senders}),
        unwritten=len(written ^ ids.keys()),
        rows_again=sum(attempts > 1 for _, _, attempts in rows),
    )


def main() -> int:
    """Play it, print what was counted, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.08, help="seconds between two kills, at most")
    parser.add_argument("--json", type=Path, default=Path("notices.json"))
    parser.add_argument("--send", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        settings = load(options.send[0], **json.loads(options.send[1]))
        records = opened(settings)
        print("here", flush=True)
        asyncio.run(send(settings, records, until_killed=True))
    with tempfile.TemporaryDirectory() as name:
        outcome = play(Path(name), options.gates, options.seed, options.longest)
    print(asdict(outcome))
    options.json.write_text(json.dumps(asdict(outcome), indent=2) + "\n", encoding="utf-8")
    return 0 if outcome.holds else 1


if __name__ == "__main__":
    sys.exit(main())
