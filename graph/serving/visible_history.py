"""What pages are shown of the history of a thread: three states a turn, of all that are kept for forks.

LangGraph's SDKs and agent-chat-ui read ten states by default, and find in them where each question can be
edited and each answer asked for anew: by the parent of the first state that has the message.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from langgraph.types import StateSnapshot

from planwright.graph.forks.fork import checkpoint_id_of

BY_A_PERSON = frozenset(("update", "fork"))


async def visible_history(history: AsyncIterator[StateSnapshot], limit: int | None) -> list[StateSnapshot]:
    """Choose of all states, the newest first, how each turn began, took its question over, and stands.

    What somebody wrote into the state is shown, too. The parent of each is the next one before it that is
    shown; that of a state whose parents are gone, or further back than `limit` states, stays.
    """
    states: list[StateSnapshot] = []
    visible: list[StateSnapshot] = []
    turn: list[StateSnapshot] = []
    async for state in history:
        states.append(state)
        turn.append(state)
        if _source(state) == "input":
            visible += _of_turn(turn)
            turn = []
            if limit is not None and len(visible) > limit:
                break
    visible += _of_turn(turn)
    parents = {checkpoint_id_of(state): state for state in states}
    ids = {checkpoint_id_of(state) for state in visible}
    return [_below_visible(state, parents, ids) for state in visible[:limit]]


def _of_turn(turn: Sequence[StateSnapshot]) -> list[StateSnapshot]:
    """Choose the newest state of a turn, its first two, and those that a person wrote."""
    ends = {0, len(turn) - 2, len(turn) - 1}
    return [state for n, state in enumerate(turn) if n in ends or _source(state) in BY_A_PERSON]


def _source(state: StateSnapshot) -> str:
    return str((state.metadata or {}).get("source", ""))


def _below_visible(
    state: StateSnapshot, parents: dict[str, StateSnapshot], visible: set[str]
) -> StateSnapshot:
    """Put a state below the nearest one before it that is shown."""
    parent = state.parent_config
    while parent and (id_ := str(parent["configurable"].get("checkpoint_id"))) not in visible:
        if id_ not in parents:
            return state
        parent = parents[id_].parent_config
    return state._replace(parent_config=parent) if parent else state
