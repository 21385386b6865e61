"""A door in the way of a run, so that a test can do something while a call is in the middle."""

from __future__ import annotations

import asyncio

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from tests.patience import PATIENCE_S


class Door:
    """A capability that stands still in the middle of its call until it is opened."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    @property
    def capability(self) -> Capability:
        @capability("door.pass", mode="read_only", trusted_result=True)
        async def pass_(name: str) -> str:
            """Pass a door, once it is open."""
            self.begun.append(name)
            self.reached.set()
            await asyncio.wait_for(self.open.wait(), PATIENCE_S)
            self.ended.append(name)
            return name

        return pass_
