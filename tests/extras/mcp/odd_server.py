"""An MCP server over stdio whose one tool answers with a result of the kind that it is asked for.

`python odd_server.py calls.log` writes down each call that it is sent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TOOL = {"name": "post", "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}}}
RESULTS = {
    "nothing": "{}",
    "null within": '{"content": null, "structuredContent": null}',
    "no content": '{"content": []}',
    "no list": '{"content": {"type": "text", "text": "a"}}',
    "null in the content": '{"content": [null, 1, "a", {"type": "text", "text": "a"}]}',
    "a text that is null": '{"content": [{"type": "text", "text": null}]}',
    "a text that is a number": '{"content": [{"type": "text", "text": 7}]}',
    "an unknown block": '{"content": [{"type": "hologram", "data": [1, 2]}]}',
    "a block without a type": '{"content": [{"text": "a"}]}',
    "a picture": '{"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}',
    "a picture that is none": '{"content": [{"type": "image", "data": "???", "mimeType": 7}]}',
    "a link": '{"content": [{"type": "resource_link", "uri": "file:///etc/passwd", "name": "p"}]}',
    "a resource": '{"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}]}',
    "a list": '{"content": [], "structuredContent": [1, 2]}',
    "a word": '{"content": [], "structuredContent": "word"}',
    "a number": '{"content": [], "structuredContent": 1.0}',
    "false": '{"content": [], "structuredContent": false}',
    "a huge number": '{"content": [], "structuredContent": {"n": 1' + "0" * 400 + "}}",
    "64 bits": '{"content": [], "structuredContent": {"n": 18446744073709551616}}',
    "minus nothing": '{"content": [], "structuredContent": {"n": -0.0}}',
    "a small number": '{"content": [], "structuredContent": {"n": 1e-400}}',
    "NUL": '{"content": [{"type": "text", "text": "a\\u0000b"}], "structuredContent": {"\\u0000": 1}}',
    "an empty key": '{"content": [], "structuredContent": {"": 1}}',
    "a key twice": '{"content": [], "structuredContent": {"a": 1, "a": 2}}',
    "braces": '{"content": [{"type": "text", "text": "{{input.request}} {{steps.p.output}}"}]}',
    "no error": '{"content": [], "isError": null}',
}


def answer(asked: dict[str, object]) -> str:
    """Answer a request."""
    params = asked.get("params")
    if asked["method"] == "tools/call" and isinstance(params, dict):
        kind = params["arguments"]["kind"]
        with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
            log.write(f"{kind}\n")
        result = RESULTS[kind]
    elif asked["method"] == "initialize" and isinstance(params, dict):
        about = {"serverInfo": {"name": "odd", "version": "1"}, "capabilities": {"tools": {}}}
        result = json.dumps({"protocolVersion": params["protocolVersion"], **about})
    elif asked["method"] == "tools/list":
        result = json.dumps({"tools": [TOOL]})
    else:
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
    return f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{result}}}'


if __name__ == "__main__":
    for line in sys.stdin:
        if "id" in (request := json.loads(line)):
            print(answer(request), flush=True)
