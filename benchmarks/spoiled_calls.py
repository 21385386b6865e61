"""Replies of a model whose good tool calls were spoiled at random, with what may still run of them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from benchmarks.played_calls import Ran

NAMES = ("notes__add", "notes__read_all", "sums__total", "box__put", "shelf__open", "disk__wipe")
READING = ("notes__read_all", "sums__total", "shelf__open")
MARKS = tuple(" .:/\\\n\t\0\x1b\x7f\"'`{}<>|;$%é中😀") + (
    "\u200b",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\ud800",
    "о",
)
NOT_OBJECTS: tuple[Any, ...] = (
    None,
    "",
    "x",
    "{}",
    "[1]",
    '{"text": "a"}',
    "{" * 500,
    0,
    1.5,
    True,
    [],
    [{}],
)
OTHER_KINDS: tuple[Any, ...] = (None, [], {}, [None], {"a": 1}, ["a", ["b"]])
IDS: tuple[Any, ...] = (None, "", " ", "c1", "c1", "main_1", "main_1_0", "main_2_1", "main_3_0_", "a b", "é")
IDS += ("\ud800", "x" * 64, "x" * 65, 7, 2**70, True, ["c1"], {"id": 1})


@dataclass
class Spoiled:
    """One call of a reply; `runs` is what it runs in the end, None for nothing."""

    call: Any
    runs: tuple[str, dict[str, Any]] | None
    unread: bool = False


@dataclass
class Reply:
    """The fields of a reply, and the calls that may run."""

    fields: dict[str, Any]
    runs: Ran


Spoil = Callable[[random.Random, Spoiled], None]


def make_reply(rng: random.Random) -> Reply:
    """Make a reply of up to eight calls, most of them spoiled in one to three ways."""
    calls = [_spoil(rng, good_call(rng)) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8)))]
    read = [made for made in calls if not made.unread]
    fields: dict[str, Any] = {
        "content": rng.choice(("", "words", "\ud800", ["a", {"type": "text", "text": "b"}], [{}], None, [1])),
        "tool_calls": [made.call for made in read],
        "invalid_tool_calls": [made.call for made in calls if made.unread],
    }
    return Reply(fields, _that_run(read))


def _that_run(calls: Iterable[Spoiled]) -> Ran:
    """List what runs of a reply: no effect behind a call that does not run and may be one."""
    ran: Ran = []
    kept_back = False
    for made in calls:
        name = made.call.get("name") if isinstance(made.call, dict) else None
        reads = isinstance(name, str) and name in READING
        if made.runs is None or made.runs[0] == "disk__wipe":
            kept_back = kept_back or not reads
        elif reads or not kept_back:
            ran.append(made.runs)
    return ran


def good_call(rng: random.Random) -> Spoiled:
    """Make a call as it should be."""
    text = rng.choice(("a", "", "{{steps.x.output}}", "é😀", "\u202eb", "\0", '{"a": 1}', "../../x"))
    name = rng.choice(NAMES)
    examples: dict[str, dict[str, Any]] = {
        "notes__add": {"text": text, "times": rng.randint(-5, 2**62)},
        "notes__read_all": {"folder": text},
        "sums__total": {"numbers": [rng.uniform(-1e9, 1e9) for _ in range(rng.randint(0, 4))]},
        "box__put": {
            "value": rng.choice((text, 1, None, [text, {"k": [1]}], nested(rng.randint(1, 60), text)))
        },
        "shelf__open": {"path": rng.choice(("a", "a/b.txt", "a b"))},
        "disk__wipe": {"name": text},
    }
    args = examples[name]
    id_ = f"call_{rng.getrandbits(40):x}"
    return Spoiled({"name": name, "args": args, "id": id_}, (name, copy.deepcopy(args)))


def nested(levels: int, inside: Any) -> Any:
    """Wrap a value in lists."""
    for _ in range(levels):
        inside = [inside]
    return inside


def another_id(rng: random.Random, made: Spoiled) -> None:
    """Give the call an id that is missing, misspelled or taken; it still runs."""
    made.call["id"] = rng.choice(IDS)


def no_id(rng: random.Random, made: Spoiled) -> None:
    """Take the id away, or add a key nobody asked for; it still runs."""
    made.call.pop("id", None)
    made.call[rng.choice(("type", "index", "extra"))] = rng.choice(OTHER_KINDS)


def marked_name(rng: random.Random, made: Spoiled) -> None:
    """Put a character into the name, or in the place of one, that no tool's name has."""
    name, mark = str(made.call.get("name")), rng.choice(MARKS)
    at = rng.randint(0, len(name))
    made.call["name"], made.runs = name[:at] + mark + name[at + rng.randint(0, 1) :], None


def near_name(rng: random.Random, made: Spoiled) -> None:
    """Misspell the name in letters a tool's name may have."""
    name = str(made.call.get("name"))
    at = rng.randrange(len(name)) if name else 0
    changed = (
        name.upper() + "X",
        name[:at] + "_x" + name[at:],
        name[:at] + name[at + 1 :],
        name * 9,
        f"{name}_",
    )
    made.call["name"], made.runs = rng.choice(changed), None
    if made.call["name"] in NAMES:
        made.call["name"] += "Q"


def no_name(rng: random.Random, made: Spoiled) -> None:
    """Give the call no name, or one that is no text."""
    made.call["name"], made.runs = rng.choice((None, "", 7, ["notes__add"], {"name": "notes__add"})), None


def no_object(rng: random.Random, made: Spoiled) -> None:
    """Give arguments that are no object."""
    made.call["args"], made.runs = rng.choice(NOT_OBJECTS), None


def cut_json(rng: random.Random, made: Spoiled) -> None:
    """Leave the arguments as text, cut somewhere, as a library that could not read them does."""
    text = json.dumps(made.call.get("args"))
    made.call |= {"args": text[: rng.randint(0, len(text))], "error": None, "type": "invalid_tool_call"}
    made.runs, made.unread = None, True


def unread(rng: random.Random, made: Spoiled) -> None:
    """List the call among those that could not be read, good arguments or not."""
    made.runs, made.unread = None, True


def extra_argument(rng: random.Random, made: Spoiled) -> None:
    """Pass an argument the tool does not have."""
    _change(made, lambda args: args.update({rng.choice(("extra", "", "self", "\ud800", "__class__")): 1}))


def missing_argument(rng: random.Random, made: Spoiled) -> None:
    """Leave out an argument the tool needs."""
    _change(made, lambda args: args.pop(next(iter(args), ""), None))


def wrong_kind(rng: random.Random, made: Spoiled) -> None:
    """Pass an argument of another kind; a box takes any that can be stored."""
    value = rng.choice(("\ud800", float("nan"), float("inf"), 2**64, 10**400, -(2**70), nested(300, 1)))
    kinds = OTHER_KINDS if made.call.get("name") not in ("box__put", "sums__total") else ()
    _change(made, lambda args: args.update({next(iter(args), "x"): rng.choice((value, *kinds))}))


def path_outside(rng: random.Random, made: Spoiled) -> None:
    """Reach for a file outside of the workspace."""
    paths = ("../x", "/etc/passwd", "~/x", "a/../../x", "a\0", ".planwright/x", ".git/x", "a\\b", "p" * 3000)
    made.call |= {"name": "shelf__open", "args": {"path": rng.choice(paths)}}
    made.runs = None


def no_call(rng: random.Random, made: Spoiled) -> None:
    """Put something else in the place of the call."""
    made.call, made.runs = rng.choice((None, "notes__add", 7, [], {}, ["notes__add", {"text": "a"}])), None


SPOILS: tuple[Spoil, ...] = (another_id, another_id, no_id, marked_name, near_name, no_name, no_object)
SPOILS += (cut_json, unread, extra_argument, missing_argument, wrong_kind, path_outside, no_call)


def _spoil(rng: random.Random, made: Spoiled) -> Spoiled:
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        if isinstance(made.call, dict) and made.call:
            rng.choice(SPOILS)(rng, made)
    return made


def _change(made: Spoiled, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the arguments, if they are an object, so that the call must not run."""
    if isinstance(made.call.get("args"), dict):
        change(made.call["args"])
        made.runs = None


def playable_reply(rng: random.Random) -> Reply:
    """Make a reply that LangChain lets through and that goes on with a call."""
    while True:
        reply = make_reply(rng)
        try:
            message = AIMessage(**reply.fields)
        except (ValueError, TypeError, AttributeError):
            continue
        if message.tool_calls or message.invalid_tool_calls:
            return reply
