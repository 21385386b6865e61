"""What every process that the tests fork has loaded already. The forkserver imports it; no thread starts."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil

from benchmarks import crash, crash_calls, crash_trial, reply_world, simulate, spending, storage
from planwright import cli
from planwright.extras.demo import demo_command as demo
from planwright.extras.offline import model as offline_model
from planwright.extras.web import studio
from planwright.models.providers import openai_compatible
from planwright.planning import rules as criteria
from tests import forked
from tests.scenarios import child

LOADED = (
    child,
    crash,
    crash_calls,
    criteria,
    demo,
    forked,
    offline_model,
    openai_compatible,
    reply_world,
    simulate,
    spending,
    storage,
    studio,
)

# What is loaded when it is called: modules of commands, and what calls of models and suggestions need.
CALLED = """
    anyio._backends._asyncio email_validator httpcore httpcore2
    langchain_core.messages.block_translators.langchain_v0 langchain_core.tracers.run_collector
    langchain_core.tracers.stdout openai.resources.chat.chat
    planwright.models.providers.langchain_class prompt_toolkit rapidfuzz.process typer._adapters
""".split()

ALONE = f"{cli.__name__}.views.db_tables"  # loads numpy where that is, which starts threads

for name in (*CALLED, *(each.name for each in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."))):
    if name != ALONE:
        importlib.import_module(name)
crash_trial.preload()
assert len(os.listdir("/proc/self/task")) == 1, (
    "a process with threads may not be forked: a library starts one"
)
gc.freeze()  # what is shared stays shared: a collection would write to every object
