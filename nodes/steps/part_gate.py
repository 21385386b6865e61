"""part_gate: a chain stands still until a person has decided over one of its steps."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.approvals.call_gate import CallGates
from planwright.state.chain_state import ChainState, ChainUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def part_gate(gates: CallGates) -> Node[ChainState, ChainUpdate]:
    """Interrupt while the gate is open; what was decided is read where the step is called."""

    async def part_gate(state: ChainState, config: RunnableConfig) -> ChainUpdate:
        await gates.wait(state["gate_id"], invocation_of(config))
        return {}

    return part_gate
