"""Loops of pydantic-ai: one for each line of standard input, answered by the seconds of CPU it took.

Run by an environment of its own, which has pydantic-ai and nothing of ours.
"""

from __future__ import annotations

import asyncio
import sys
import time

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


def main() -> None:
    """Answer each line with the CPU of one loop."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
    agent = Agent(model)

    @agent.tool_plain
    async def bench__work(level: int, lane: int) -> str:
        """Work for a while."""
        return f"{level}.{lane}"

    @agent.tool_plain
    async def datetime__now(timezone: str = "UTC") -> dict[str, str]:
        """Tell the date and time."""
        return {"timezone": timezone}

    @agent.tool_plain
    async def memory__search(query: str, limit: int = 5) -> list[str]:
        """Search what was remembered in earlier runs."""
        return [query][:limit]

    async def serve() -> None:
        for _ in sys.stdin:
            began = time.process_time()
            await agent.run("Bench work", usage_limits=UsageLimits(request_limit=10_000))
            print(time.process_time() - began, flush=True)

    asyncio.run(serve())


if __name__ == "__main__":
    main()
