"""Malformed tool-call blocks: how many become a call that nobody wrote? -> blocks.json

Every spoiled body stands in every envelope, whole and between two good blocks, and is read as a model
without function calling would have written it. Prints N, failures and the seed of the fuzzed ones.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from langchain_core.messages import AIMessage

from planwright.models.replies.tool_bridge import read_calls

NONCE = "0f1e2d3c4b5a6978"
GOOD = '{"name": "files__read", "arguments": {"path": "a.md"}}'
OPEN, CLOSE = f'<tool_call nonce="{NONCE}">', "</tool_call>"
BODIES = (
    "",
    " ",
    "{",
    "}",
    "null",
    "true",
    "7",
    '"files__read"',
    "[]",
    f"[{GOOD}]",
    f"{GOOD}{GOOD}",
    f"{GOOD},",
    f"{GOOD} and so on",
    f"call: {GOOD}",
    f"```json\n{GOOD}\n```",
    f"<json>{GOOD}</json>",
    f"<![CDATA[{GOOD}]]>",
    f"&quot;{GOOD}&quot;",
    GOOD.replace('"', "&quot;"),
    GOOD.replace('"', "'"),
    GOOD.replace('"', "”"),
    GOOD.replace("{", "&#123;"),
    GOOD[:-1],
    GOOD[1:],
    GOOD[: len(GOOD) // 2],
    GOOD.replace(":", "="),
    GOOD.replace(", ", " "),
    json.dumps(GOOD),
    json.dumps(json.dumps(GOOD)),
    '{"name": "files__read"}',
    '{"arguments": {"path": "a.md"}}',
    '{"name": "files__read", "arguments": "{}"}',
    '{"name": "files__read", "arguments": []}',
    '{"name": "files__read", "arguments": null}',
    '{"name": null, "arguments": {}}',
    '{"name": 7, "arguments": {}}',
    '{"name": ["files__read"], "arguments": {}}',
    '{"tool": "files__read", "arguments": {}}',
    '{"name": "files__read", "parameters": {}}',
    '{"name": "files__read", "arguments": {}, "approved": true}',
    '{"name": "a", "name": "files__delete", "arguments": {}}',
    '{"name": "a", "arguments": {"path": "a", "path": "b"}}',
    '{"name": "a", "arguments": {"n": NaN}}',
    '{"name": "a", "arguments": {"n": Infinity}}',
    '{"name": "a", "arguments": {"n": 01}}',
    '{"name": "a", "arguments": {"t": "\n"}}',
    '{"name": "a", "arguments": {"t": "\\x41"}}',
    '{"name": "a", // comment\n "arguments": {}}',
    '{name: "a", arguments: {}}',
    '{"name": "a", "arguments": {},}',
    "<name>a</name><arguments></arguments>",
    '{"name": "a", "arguments": ' + '{"a":' * 5000,
    "\ufeff" + GOOD,
    "\u200b" + GOOD,
)
ENVELOPES = (
    "{open}{body}{close}",
    "{open}{body}",
    "{open}{open}{body}{close}{close}",
    "{open}{body}</tool_call ",
)
TAGS = (
    "<tool_call>",
    '<tool_call nonce="">',
    '<tool_call nonce="ffffffffffffffff">',
    f"<tool_call nonce='{NONCE}'>",
    f"<tool_call nonce={NONCE}>",
    f'<tool_call  nonce="{NONCE}">',
    f'<tool_call nonce="{NONCE}" x="">',
    f'<TOOL_CALL nonce="{NONCE}">',
    f'< tool_call nonce="{NONCE}">',
    f'<tool_call\nnonce="{NONCE}">',
    f'<tool_call nonce="{NONCE.upper()}">',
    f'<tool_call nonce="{NONCE} ">',
    f'<tool_call nonce="{NONCE[:-1]}">',
    f'<tool_call nonce="{NONCE}"/>',
    f'<tool_call nonce="{NONCE}"',
    f'<tool_call_x nonce="{NONCE}">',
    f'&lt;tool_call nonce="{NONCE}"&gt;',
    f'\\u003ctool_call nonce="{NONCE}"\\u003e',
    f'%3Ctool_call nonce="{NONCE}"%3E',
    f'＜tool_call nonce="{NONCE}"＞',
)
THOUGHTS = ("<think>{block}</think>", "<THINK>\n{block}", "<think>a</think><think>{block}</think>")


def written() -> Iterator[str]:
    """Yield every malformed text that is written down here."""
    for body in BODIES:
        for envelope in ENVELOPES:
            yield envelope.format(open=OPEN, body=body, close=CLOSE)
    for tag in TAGS:
        yield f"{tag}{GOOD}{CLOSE}"
        yield f"I will. {tag}{GOOD}{CLOSE} Done."
    for thought in THOUGHTS:
        yield thought.format(block=f"{OPEN}{GOOD}{CLOSE}")
    yield from (GOOD, CLOSE, f"{CLOSE}{OPEN}", f"{GOOD}{CLOSE}", f"{OPEN[:-1]}{GOOD}{CLOSE}")


def fuzzed(count: int, seed: int) -> Iterator[str]:
    """Spoil a good block by chance: a character is lost, doubled, swapped or replaced inside the tags."""
    chance, whole = random.Random(seed), f"{OPEN}{GOOD}{CLOSE}"
    for _ in range(count):
        text = list(whole)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            edit = chance.choice(("lose", "double", "replace"))
            text[at] = {"lose": "", "double": text[at] * 2, "replace": chance.choice('<>{}[]",:/ \n\\x')}[
                edit
            ]
        yield "".join(text)


def stray_calls(text: str) -> list[str]:
    """List the calls read from a malformed text that are not the good one, letter by letter."""
    reply = read_calls(AIMessage(text), NONCE)
    return [call["name"] for call in reply.tool_calls]


def failures(texts: Iterator[str]) -> tuple[int, list[str]]:
    """Read every text, also between two good blocks, which have to survive it; return N and what failed."""
    count, failed = 0, []
    good = f"{OPEN}{GOOD}{CLOSE}"
    for text in texts:
        count += 1
        if stray_calls(text):
            failed.append(text)
        elif "files__read" not in stray_calls(f"{good}\n{text}"):
            failed.append(f"after a good one: {text}")
    return count, failed


def damaged(text: str) -> bool:
    """Say whether a fuzzed text is still no good block: some edits change an argument, and nothing else."""
    _, opened, rest = text.partition(OPEN)
    inside, closed, _ = rest.partition(CLOSE)
    try:
        value = json.loads(inside, object_pairs_hook=lambda pairs: pairs)
    except ValueError:
        return True
    keys = [pair[0] for pair in value] if isinstance(value, list) else []
    return not (opened and closed and sorted(keys) == ["arguments", "name"])


def main() -> None:
    """Read them all, and say what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fuzzed", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    by_hand, wrong = failures(written())
    spoiled = (text for text in fuzzed(asked.fuzzed, asked.seed) if damaged(text))
    by_chance, more = failures(spoiled)
    found = {"written": by_hand, "fuzzed": by_chance, "failures": len(wrong + more), "seed": asked.seed}
    Path("blocks.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found))
    for text in (wrong + more)[:10]:
        print(repr(text))
    assert by_hand >= 200, by_hand
    assert not wrong + more


if __name__ == "__main__":
    main()
