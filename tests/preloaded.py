"""What every process that the tests fork has loaded already. The forkserver imports it; no thread starts."""

from __future__ import annotations

import gc

from benchmarks import crash, crash_calls, crash_trial, reply_world, simulate, spending, storage
from planwright.cli import main
from planwright.cli.actions import allow_rules, forking
from planwright.cli.commands import agents, forks
from planwright.cli.session import chat, drive
from planwright.cli.views import doctor, run_views
from planwright.extras.demo import demo_command as demo
from planwright.extras.web import studio
from planwright.models.providers import openai_compatible
from planwright.planning import rules as criteria
from tests.scenarios import child

LOADED = (
    agents,
    chat,
    child,
    crash,
    crash_calls,
    criteria,
    demo,
    doctor,
    drive,
    forking,
    forks,
    main,
    openai_compatible,
    allow_rules,
    reply_world,
    run_views,
    simulate,
    spending,
    storage,
    studio,
)

crash_trial.preload()
gc.freeze()  # what is shared stays shared: a collection would write to every object
