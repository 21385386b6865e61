"""What a planner is sent: the request and the world it plans in, then what its run has done of it so far.

What comes first stays the same for as long as the run does, so that a provider can go on from a prompt it
knows. What has come of the last plan follows that plan, as the next word of a conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from planwright.capabilities.contract import Capability
from planwright.planning.catalogue import details
from planwright.prompts import render, section


def opening(context: Mapping[str, object], of_task: Sequence[Capability]) -> str:
    """Tell of the request and of what there is to plan with, what is of this request last."""
    own = [capability for capability in of_task if not capability.server]
    foreign = [capability for capability in of_task if capability.server]
    sections = [
        section("about", context["about"]),
        section("gates", context["gates"]),
        section("decisions", context["decisions"]),
        section("models", context["models"]),
        section("databases", context["databases"], foreign=True),
        section("schemas", details(own)),
        section("schemas", details(foreign), foreign=True),
        section("memories", context["memories"], foreign=True),
        section("history", context["history"], foreign=True),
        section("task", context["task"]),
    ]
    return "".join(sections)


def aftermath(context: Mapping[str, object]) -> tuple[str, str]:
    """Spell the last plan, as the planner's own word, and what came of it; nothing before there is one."""
    if not (context["draft"] or context["findings"]):
        return "", ""
    sections = [
        section("done", context["done"], foreign=True),
        section("failed", context["failed"], foreign=True),
        section("findings", context["findings"], foreign=True),
    ]
    draft = json.dumps(context["draft"], ensure_ascii=False) if context["draft"] else ""
    return draft, render("planner_again", sections="".join(sections))
