"""Replays of runs and differences between them, on the screen."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

from planwright.capabilities.policy.check import check_policy
from planwright.capabilities.policy.explain import ruling_context
from planwright.capabilities.policy.file import read_policy
from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.policy_views import open_policy
from planwright.cli.views.run_views import find_run
from planwright.domain.errors import SetupError
from planwright.extras.audit.chain_views import open_records_file
from planwright.extras.audit.replay import Replay, replay_run
from planwright.extras.audit.run_diff import diff_runs
from planwright.extras.audit.under_policy import PolicyReplay, replay_policy
from planwright.records.history.run_outcomes import run_ids
from planwright.records.records import open_records
from planwright.settings.settings import Settings

ALL = "all"
COLOURS = {"deny": "red", "ask": "yellow", "unknown": "yellow", "allow": "green"}


def show_replay(thread: str, workspace: Path, as_json: bool) -> int:
    """Replay one run, or all, and print where they differ from what is recorded. Returns 1 where any does."""
    settings = load_trusted(workspace)
    blobs = open_records(settings.store_folder, url=settings.store_url).blobs
    with closing(open_records_file(settings)) as connection:
        replays = [replay_run(connection, blobs, run_id) for run_id in _runs(settings, thread)]
    different = [each for each in replays if not each.equal]
    if as_json:
        print(json.dumps({"equal": not different, "runs": [asdict(each) for each in replays]}, indent=2))
        return 1 if different else 0
    screen = views.console()
    for each in replays if len(replays) == 1 else different:
        _show(each)
    if len(replays) != 1:
        screen.print(views.label("replayed", f"{len(replays):,} runs, {len(different) or 'none'} different"))
    return 1 if different else 0


def _show(replay: Replay) -> None:
    screen = views.console()
    for difference in replay.differences:
        screen.print(views.label("differs", difference, "red"))
    for note in replay.notes:
        screen.print(views.label("note", note, "yellow"))
    verdicts = f"verdict{'s' * (replay.verdicts != 1)}"
    count = f"{replay.verdicts} {verdicts} made anew, without a tool and without a model"
    outcome = "equal" if replay.equal else "not equal"
    screen.print(views.label("replay", f"{replay.run_id}: {outcome}; {count}", "bold"))
    if replay.record_hash:
        screen.print(views.label("record", replay.record_hash))


def _runs(settings: Settings, thread: str) -> list[str]:
    if thread != ALL:
        return [str(find_run(settings, thread)["run_id"])]
    with closing(open_records_file(settings)) as connection:
        return run_ids(connection)


def show_policy_replay(thread: str, policy: Path, workspace: Path, as_json: bool) -> int:
    """Print what a policy would block of a run, and where it would ask. Returns 1 where it blocks any."""
    settings = load_trusted(workspace)
    _, registry = open_policy(settings)
    other = read_policy(_text(policy), policy)
    check_policy(other, registry)
    records = open_records(settings.store_folder, url=settings.store_url)
    context = ruling_context(settings, records, other)
    calls: list[tuple[str, PolicyReplay]] = []
    with closing(open_records_file(settings)) as connection:
        for run_id in _runs(settings, thread):
            judged = replay_policy(connection, run_id, registry, replace(context), settings.approval)
            calls += [(run_id, call) for call in judged]
    counts: Counter[str] = Counter(call.answer for _, call in calls)
    if as_json:
        rows = [{"run_id": run_id, **asdict(call)} for run_id, call in calls]
        print(json.dumps({"answers": dict(counts), "calls": rows}, indent=2))
        return 1 if counts["deny"] else 0
    screen = views.console()
    for run_id, call in calls:
        if call.answer != "allow":
            text = f"{run_id} {call.step_id} {call.capability}: {call.reason}"
            screen.print(views.label(call.answer, text, COLOURS[call.answer]))
    text = ", ".join(f"{counts[answer]} {answer}" for answer in COLOURS if counts[answer]) or "no calls"
    screen.print(views.label("policy", f"{policy}: {text}", "bold"))
    return 1 if counts["deny"] else 0


def _text(policy: Path) -> str:
    try:
        return policy.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{policy} cannot be read: {error}", "name a file like policy.toml") from error


def show_diff(before: str, after: str, workspace: Path, as_json: bool) -> int:
    """Print what differs between two runs. Returns 1 where anything does."""
    settings = load_trusted(workspace)
    runs = [str(find_run(settings, name)["run_id"]) for name in (before, after)]
    with closing(open_records_file(settings)) as connection:
        lines = diff_runs(connection, *runs)
    if as_json:
        print(json.dumps({"runs": runs, "equal": not lines, "differences": lines}, indent=2))
    for line in lines if not as_json else ():
        views.console().print(views.label("", line))
    if not lines and not as_json:
        views.console().print(views.label("diff", "nothing differs but ids and times"))
    return 1 if lines else 0
