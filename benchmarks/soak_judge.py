"""The judge of a soak: what is written in several places has to be the same, row by row.

It shares nothing with the product: plain rows, and what the receiver counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from benchmarks.soak_records import Records, Row

ENDS = ("plan_step_complete", "plan_step_failed", "plan_step_skipped", "tool_call_end")
STARTS = ("plan_step_start", "tool_call_start")
GATED = ("bench.", "memory.")
BY_A_PERSON = ("confirmed", "did_not_happen")
DECIDED = ("approved", "rejected", "responded", "edited", "expired", "cancelled")


def disagreements(records: Records) -> list[str]:
    """List all that does not agree."""
    parts: Sequence[Callable[[Records], Iterator[str]]] = (
        _arrivals,
        _effects,
        _effects_once,
        _effects_and_gates,
        _steps_and_effects,
        _steps_and_events,
        _effects_and_events,
        _gates_and_events,
        _runs_and_events,
        _runs_and_steps,
        _checkpoints,
        _memories,
    )
    return [wrong for part in parts for wrong in part(records)]


def _arrivals(records: Records) -> Iterator[str]:
    """Each arrival has one effect that was intended; undoings have keys that no row has, and go by name."""
    sent = {row["first_key"] or row["key"] for row in _sent(records)}
    undone = {f"not {row['args']['name']}" for row in _undoings(records)}
    for (name, key), times in Counter(records.arrivals).items():
        if times > 1:
            yield f"{name} arrived {times} times under one key"
        if key not in sent and name not in undone:
            yield f"{name} arrived, and no effect on record sent it"


def _effects(records: Records) -> Iterator[str]:
    """Each row of the ledger says of its effect what the receiver says."""
    arrived = {key for _, key in records.arrivals}
    names = {name for name, _ in records.arrivals}
    for row in records.tables["effects"]:
        if not row["capability"].startswith("bench."):
            continue
        name = row["args"]["name"]
        there = (row["first_key"] or row["key"]) in arrived
        if row["capability"] == "bench.unbook":
            there = f"not {name}" in names if row["status"] == "done" else False
        unanswered = (row["effect"], row["code"]) == ("idempotent", "unavailable")
        if row["status"] in ("intent", "in_doubt"):
            yield f"the ledger leaves {name} of {row['run_id']} as {row['status']}"
        elif there != (row["status"] == "done") and not (there and unanswered):
            happened = "happened" if there else "did not happen"
            yield f"the ledger says {row['status']} of {name} of {row['run_id']}, and it {happened}"


def _effects_once(records: Records) -> Iterator[str]:
    """What is asked for happens at most once in its run; an undoing at most as often as what it undoes."""
    rows = {row["first_key"] or row["key"]: row for row in _sent(records)}
    counts = Counter((rows[key]["run_id"], name) for name, key in set(records.arrivals) if key in rows)
    for (run, name), times in counts.items():
        if times > 1:
            yield f"{name} happened {times} times in {run}"
    names = Counter(name for name, _ in records.arrivals)
    for name, times in names.items():
        if name.startswith("not ") and times > names[name.removeprefix("not ")]:
            yield f"{name} happened {times} times, more often than it was done"


def _effects_and_gates(records: Records) -> Iterator[str]:
    """Every effect was approved of before it was begun."""
    gates = records.by_run("gates")
    for row in records.tables["effects"]:
        approved = [
            gate
            for gate in gates[row["run_id"]]
            if gate["status"] in ("approved", "edited") and gate["decided_at"] <= row["intended_at"]
        ]
        asks = row["capability"].startswith(GATED)
        if asks and not any(
            str(row["args"].get("name", row["capability"])) in gate["shown"] for gate in approved
        ):
            yield f"{row['capability']} of {row['run_id']} was begun before anybody approved of it"


def _steps_and_effects(records: Records) -> Iterator[str]:
    """A step that completed has done its effect, and an effect that is done is that of a step."""
    done = [row for row in records.tables["effects"] if row["status"] == "done"]
    effects = {(row["run_id"], row["step_uid"]) for row in done}
    steps = {(row["run_id"], row["uid"]): row for row in records.tables["steps"]}
    for (run, uid), row in steps.items():
        result = row["result"]
        if (result["uid"], result["step_id"], result["status"]) != (uid, row["step_id"], row["status"]):
            yield f"step {row['step_id']} of {run} is {row['status']}, and its result tells something else"
        sends = str(result["capability"]).startswith("bench.")
        kept = bool(result.get("kept_from"))
        if sends and row["status"] == "completed" and not kept and (run, uid) not in effects:
            yield f"step {row['step_id']} of {run} completed, and no effect of it is done"
        if row["status"] == "skipped" and (run, uid) in effects:
            yield f"step {row['step_id']} of {run} was skipped, and an effect of it is done"
    parts = {row["uid"] for row in records.tables["steps"]}
    for row in done:
        if row["step_uid"] not in parts and not row["capability"].startswith("memory."):
            yield f"{row['capability']} of {row['run_id']} is done, and no step tells of it"


def _steps_and_events(records: Records) -> Iterator[str]:
    """Each step that ended is told of once, as it ended, and nothing else is told of.

    What a person kept from beginning need not be told of; what was in doubt is told of as failed, and as
    completed once a person has said that it happened.
    """
    begun = _begun(records)
    told: dict[tuple[str, str], list[str]] = {}
    for event in records.tables["journal"]:
        if event["type"] in ENDS:
            told.setdefault((event["run_id"], event["data"]["uid"]), []).append(event["data"]["status"])
    for row in records.tables["steps"]:
        events = told.pop((row["run_id"], row["uid"]), [])
        uid = (row["run_id"], row["uid"])
        kept = row["result"].get("kept_from") or (row["status"] != "completed" and uid not in begun)
        decided = row["result"].get("code") in BY_A_PERSON and events in (
            ["failed"],
            ["failed", row["status"]],
        )
        if (kept and not events) or decided:
            continue
        if events != [row["status"]]:
            shown = ", ".join(events) or "nothing"
            yield f"step {row['step_id']} of {row['run_id']} is {row['status']}, the journal tells {shown}"
    yield from (f"the journal tells of {uid} of {run}, which is no step" for run, uid in told)


def _effects_and_events(records: Records) -> Iterator[str]:
    """Every effect is that of a step or call whose begin is told."""
    begun = _begun(records)
    for row in records.tables["effects"]:
        if (row["run_id"], row["step_uid"]) not in begun:
            yield f"the journal does not tell that {row['capability']} of {row['run_id']} began"


def _gates_and_events(records: Records) -> Iterator[str]:
    """Every gate was opened and closed, and the journal tells both."""
    opened, closed = set(), {}
    for event in records.tables["journal"]:
        if event["type"] == "approval_requested":
            opened.add(event["data"]["gate_id"])
        elif event["type"] == "approval_resolved":
            closed[event["data"]["gate_id"]] = event["data"]["decision"]
    gates = {gate["gate_id"]: gate for gate in records.tables["gates"]}
    for id_, gate in gates.items():
        if gate["status"] not in DECIDED:
            yield f"gate {id_} of {gate['run_id']} is {gate['status']}"
        if id_ not in opened or closed.get(id_) != gate["status"]:
            how = closed.get(id_, "nothing") if id_ in opened else "no such gate"
            yield f"gate {id_} of {gate['run_id']} is {gate['status']}, the journal tells {how}"
    yield from (f"the journal tells of gate {id_}, which is not on record" for id_ in opened - gates.keys())


def _runs_and_events(records: Records) -> Iterator[str]:
    """Each run has ended, once, and its events begin with its request and end with its answer."""
    for run, events in records.by_run("journal").items():
        row = records.runs().get(run)
        if row is None:
            yield f"the journal tells of {run}, which is not on record"
            continue
        if row["ended_at"] is None:
            yield f"{run} has not ended, it is {row['status']}"
        ends = [event["data"]["status"] for event in events if event["type"] == "run_end"]
        if ends != [row["status"]]:
            yield f"{run} is {row['status']}, the journal tells {', '.join(ends) or 'no end'}"
        for type_, column in (("user_message", "request"), ("agent_message", "answer")):
            words = [event["data"]["content"] for event in events if event["type"] == type_]
            if words != [row[column]]:
                yield f"the journal tells another {column} of {run}"
        numbers = [event["seq"] for event in events]
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            yield f"the events of {run} are not in order"


def _runs_and_steps(records: Records) -> Iterator[str]:
    """A run that completed has completed every step of the plan it came to."""
    plans, steps = records.by_run("plans"), records.by_run("steps")
    for run, row in records.runs().items():
        last = next((plan for plan in reversed(plans[run]) if plan["kind"] == "plan"), None)
        completed = {step["uid"] for step in steps[run] if step["status"] == "completed"}
        replaced = {step["result"].get("instead_of") for step in steps[run]}
        for step in last["checked"] if last and row["status"] == "completed" else ():
            if step["uid"] not in completed and step["step"]["id"] not in replaced:
                yield f"{run} completed, and its step {step['step']['id']} did not"
        if row["status"] == "cancelled" and not row["cancelled_by"]:
            yield f"{run} is cancelled, and by nobody"


def _checkpoints(records: Records) -> Iterator[str]:
    """The last checkpoint of each thread is the end of its last run."""
    steps = {(row["run_id"], row["uid"]): row["status"] for row in records.tables["steps"]}
    late = _decided_late(records)
    last = {row["thread_id"]: row for row in records.tables["runs"]}
    yield from (f"thread {thread} has checkpoints and no run" for thread in records.checkpoints.keys() - last)
    for thread, row in last.items():
        run, values = row["run_id"], records.checkpoints.get(thread)
        if values is None:
            yield f"{run} has no checkpoint"
            continue
        for name, column in (("run_id", "run_id"), ("status", "status"), ("answer", "answer")):
            if values.get(name) != row[column]:
                yield f"the last checkpoint of {run} has another {name}: {values.get(name)}"
        if values["messages"][-1].get("response_metadata", {}).get("run_id") != run:
            yield f"the last message in the checkpoint of {run} is not its answer"
        for uid, result in (values.get("results") or {}).items():
            if steps.get((run, uid)) != result["status"] and (run, uid) not in late:
                yield f"the checkpoint of {run} says {result['status']} of {result['step_id']}, no step does"
        if any(name.startswith("branch:") for name in values):
            yield f"the last checkpoint of {run} waits for a node"


def _memories(records: Records) -> Iterator[str]:
    """What was accepted is remembered, and nothing else."""
    remembered = Counter(row["text"] for row in records.tables["memories"])
    accepted = Counter(row["text"] for row in records.tables["proposals"] if row["status"] == "accepted")
    for text, times in (remembered - accepted).items():
        yield f"remembered {times} times more than was accepted: {text}"
    yield from (f"accepted and not remembered: {text}" for text in accepted - remembered)


def _begun(records: Records) -> set[tuple[str, str]]:
    begins = (event for event in records.tables["journal"] if event["type"] in STARTS)
    return {(event["run_id"], event["data"]["uid"]) for event in begins}


def _decided_late(records: Records) -> set[tuple[str, str]]:
    """Name the steps whose effect was in doubt until after the end of their run, when a person decided it."""
    ends = {row["run_id"]: row["ended_at"] for row in records.tables["runs"]}
    return {
        (row["run_id"], row["uid"])
        for row in records.tables["steps"]
        if row["result"].get("code") in BY_A_PERSON and row["ended_at"] > (ends.get(row["run_id"]) or "")
    }


def _sent(records: Records) -> Iterator[Row]:
    return (row for row in records.tables["effects"] if row["capability"] != "bench.unbook")


def _undoings(records: Records) -> Iterator[Row]:
    return (row for row in records.tables["effects"] if row["capability"] == "bench.unbook")
