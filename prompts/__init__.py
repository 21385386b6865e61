"""The prompts: one markdown template each, filled strictly."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from string import Template

from planwright.domain.hashing import sha256
from planwright.prompts.fence import fenced, neutral


def render(name: str, **values: str) -> str:
    """Fill a template, in which `$fence` says what a fence means.

    Raises KeyError for a placeholder without a value.
    """
    return Template(_text(name)).substitute({"fence": _text("fence").strip(), **values})


def instructed(name: str, instructions: str, **values: str) -> str:
    """Fill a system prompt and put the instructions of the run's agent below it, where there are any."""
    own = f"\n{render('instructions', instructions=instructions)}" if instructions else ""
    return render(name, **values) + own


def as_data(value: object) -> str:
    """Spell a value as JSON that cannot close the tag it stands in, and hides nothing."""
    return neutral(json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))).replace(
        "<", "\\u003c"
    )


def section(name: str, value: object, *, foreign: bool = False) -> str:
    """Spell a value as JSON between tags, in a fence where others wrote it; nothing for an empty value."""
    if not value:
        return ""
    text = fenced(as_data(value)) if foreign else as_data(value)
    return f"<{name}>\n{text}\n</{name}>\n"


@cache
def prompts_hash() -> str:
    """Hash all templates; it pins a run to the words its models were given."""
    folder = files(__name__)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
    return sha256([[name, folder.joinpath(name).read_text("utf-8")] for name in names])


@cache
def _text(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8")
