"""The bombs, by the room they go off in: what comes from outside, and the door it comes in by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import bomb_doors as doors
from benchmarks.bomb_server import DEEP, TEXTS
from planwright.capabilities.builtin import calendar, documents, files, http, mail, smtp, sql, text
from planwright.capabilities.capability import Capability
from planwright.graph.own_words import exact_words, says, speaks_of_user
from planwright.models.calling import read_json
from planwright.models.prose import shown
from planwright.models.tool_bridge import blocks, escaped
from planwright.prompts.fence import neutral

MB = 1_000_000
Play = Callable[[Path, int], str]


@dataclass(frozen=True)
class Bomb:
    """One bomb; `play` is given a folder and the port of `benchmarks.bomb_server`, and says how it ended."""

    room: str
    name: str
    play: Play


def every_bomb() -> list[Bomb]:
    """List all bombs, room by room."""
    return [
        *_plain(),
        *_cel(),
        *_sql(),
        *_calendars(),
        *_mails(),
        *_texts(),
        *_json(),
        *_templates(),
        *_models(),
    ]


def _plain() -> list[Bomb]:
    """What does no harm: by it the others are measured."""
    step = ("memory.search", {"query": "a"})
    return [Bomb("none", "a plain run", lambda folder, _: doors.planned(folder, step))]


CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "nested all": (
        "args.to.all(a, args.to.all(b, args.to.all(c, args.to.all(d, a != 'x' || b != c))))",
        {"to": [f"p{n}@acme.example" for n in range(50)], "text": "x"},
    ),
    "one all over a long list": ("args.rows.all(r, args.text.contains(r[0]))", {"text": "x" * 200_000}),
    "matches on a long text": (f"args.text.matches('({'a?' * 300}){{3}}z')", {"text": "a" * 200_000}),
    "matches counted twice": ("args.text.matches('((a{1,100}){1,100}){1,100}z')", {"text": "a" * 1000}),
    "text added to itself": (f"({'+'.join(['args.text'] * 150)}).size() > 1", {"text": "x" * 200_000}),
    "lists of lists": (
        "args.to.map(a, args.to.map(b, args.to.map(c, args.to))).size() > 1",
        {"to": [f"p{n}@acme.example" for n in range(50)], "text": "x"},
    ),
    "1,900 brackets": ("(" * 900 + "true" + ")" * 900, {"text": "x", "to": []}),
}
COUNTED = "[1,2,3,4,5,6,7,8,9,10]"
CRITERIA = {
    "nested all over an output": "output.files.all(a, output.files.all(b, output.files.all(c, a + b != c)))",
    "nested all over its own lists": f"{COUNTED}.all(a, " * 9 + "a > 0" + ")" * 9,
    "100,000 brackets": "(" * 100_000 + "true" + ")" * 100_000,
    "100,000 sums": "+".join(["1"] * 100_000) + " == 1",
    "text doubled by map": "'x'" + ".split('')" * 3 + " == []",
    "a criterion of 1 MB": "output == '" + "x" * MB + "'",
}


def _cel() -> list[Bomb]:
    bombs = []
    for name, (when, args) in CONDITIONS.items():
        found: Capability = smtp.send
        if "rows" in when:
            found, args = (
                documents.create,
                {**args, "path": "a.md", "rows": [[str(n)] for n in range(20_000)]},
            )
        bombs.append(Bomb("policy", name, lambda at, _, w=when, f=found, a=args: doors.decided(w, f, a, at)))  # type: ignore[misc]
    listing = {f"notes/{n}.md": "x" for n in range(1000)}
    step = ("files.list", {"path": "."})
    for name, criterion in CRITERIA.items():
        bombs.append(
            Bomb(
                "success_criteria",
                name,
                lambda at, _, c=criterion: doors.planned(at, step, criterion=c, files=listing),  # type: ignore[misc]
            )
        )
    return bombs


COUNT = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
QUERIES = {
    "printf of 1 GB": "SELECT printf('%.*c', 999999999, 'x')",
    "zeroblob of 1 GB": "SELECT length(zeroblob(999999999))",
    "randomblob of 1 GB": "SELECT hex(randomblob(999999999))",
    "counting for ever": COUNT + "SELECT max(x) FROM n",
    "counting into a list": COUNT + "SELECT x, printf('%.*c', 1900000, 'x') AS y FROM n ORDER BY y",
    "distinct texts of 2 MB": COUNT
    + "SELECT count(*) FROM (SELECT DISTINCT printf('%.*c%d', 1900000, 'x', x) FROM n)",
    "group_concat": COUNT + "SELECT length(group_concat(printf('%.*c', 100000, 'x'))) FROM n",
    "replace that doubles": "SELECT length(" + "replace(" * 40 + "'xx'" + ", 'x', 'xx')" * 40 + ")",
    "a slow LIKE": "SELECT printf('%.*c', 1900000, 'a') LIKE '" + "%a" * 249 + "b'",
    "a slow GLOB": "SELECT printf('%.*c', 1900000, 'a') GLOB '" + "*a" * 249 + "b'",
    "a join of 500⁵ rows": "SELECT count(*) FROM people a, people b, people c, people d, people e",
    "rows of 2 MB": COUNT + "SELECT printf('%.*c', 1900000, 'x') FROM n",
    "hex of hex": "SELECT length(" + "hex(" * 30 + "'x'" + ")" * 30 + ")",
    "instr": COUNT + "SELECT sum(instr(printf('%.*c', 1900000, 'a'), printf('%.*cb', 900000, 'a'))) FROM n",
    "JSON of 1 MB": "SELECT count(*) FROM json_tree('" + "[" * 40_000 + "')",
    "window": COUNT + "SELECT sum(x) OVER (ORDER BY x DESC) FROM n",
}
CHANGES = {
    "printf of 1 GB": "INSERT INTO people SELECT printf('%.*c', 999999999, 'x'), 'y'",
    "rows without end": "INSERT INTO people " + COUNT + "SELECT x, printf('%.*c', 100000, 'x') FROM n",
    "a slow index": "CREATE INDEX i ON people (printf('%.*c', 1900000, note) LIKE '%a%b%c%')",
}


def _sql() -> list[Bomb]:
    bombs = []
    for name, statement in QUERIES.items():

        def play(folder: Path, _: int, statement: str = statement) -> str:
            doors.database(folder)
            return doors.called(sql.query, {"statement": statement, "database": "crm.db"}, folder)

        bombs.append(Bomb("sql.query", name, play))
    for name, statement in CHANGES.items():

        def change(folder: Path, _: int, statement: str = statement) -> str:
            doors.database(folder)
            return doors.called(sql.execute, {"statement": statement, "database": "crm.db"}, folder)

        bombs.append(Bomb("sql.execute", name, change))
    return bombs


def _event(rule: str, start: str = "20200101T000000Z", more: str = "") -> str:
    return f"BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Bomb\r\nDTSTART:{start}\r\n{rule}\r\n{more}END:VEVENT\r\n"


def _ics(*parts: str) -> str:
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{''.join(parts)}END:VCALENDAR\r\n"


CALENDARS = {
    "every second from year 1": _ics(_event("RRULE:FREQ=SECONDLY", "00010101T000000Z")),
    "every day, every second of it": _ics(
        _event(
            "RRULE:FREQ=DAILY;BYHOUR={h};BYMINUTE={m};BYSECOND={m}".format(
                h=",".join(map(str, range(24))), m=",".join(map(str, range(60)))
            )
        )
    ),
    "every day from year 1": _ics(_event("RRULE:FREQ=DAILY", "00010101T000000Z")),
    "a rule that never holds": _ics(_event("RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30")),
    "hourly, by seconds": _ics(
        _event("RRULE:FREQ=HOURLY;COUNT=999999999;BYSECOND=" + ",".join(map(str, range(60))))
    ),
    "secondly in a to-do": _ics(_event("RRULE:FREQ=SECONDLY", "00010101T000000Z").replace("VEVENT", "VTODO")),
    "secondly in a time zone": _ics(
        "BEGIN:VTIMEZONE\r\nTZID:Bomb\r\nBEGIN:STANDARD\r\nDTSTART:19000101T000000\r\nRRULE:FREQ=SECONDLY\r\n"
        "TZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
        _event("", "20260101T000000").replace("DTSTART:", "DTSTART;TZID=Bomb:"),
    ),
    "100,000 dates": _ics(
        _event("RDATE:" + ",".join(f"20260101T{n % 24:02}{n % 60:02}{n % 59:02}Z" for n in range(100_000)))
    ),
    "an exception for every second": _ics(_event("RRULE:FREQ=DAILY\r\nEXRULE:FREQ=SECONDLY")),
    "30,000 events": _ics(
        *[_event("", f"2026{n % 12 + 1:02}{n % 28 + 1:02}T000000Z") for n in range(30_000)]
    ),
    "1,000 rules": _ics(*[_event("RRULE:FREQ=DAILY", "19000101T000000Z") for _ in range(1000)]),
    "100,000 levels": "BEGIN:VCALENDAR\r\n" + "BEGIN:VEVENT\r\n" * 100_000,
    "a folded line of 4 MB": _ics(_event("SUMMARY:" + "x\r\n " * MB)),
    "parameters without end": _ics(_event("SUMMARY" + ";a=b" * 500_000 + ":x")),
    "quotes without end": _ics(_event('SUMMARY;a="' + '","' * 500_000 + ":x")),
    "a span of 9,000 years": _ics(_event("RRULE:FREQ=DAILY", "00010101T000000Z", "DURATION:P3000000D\r\n")),
}


def _calendars() -> list[Bomb]:
    def play(folder: Path, content: str) -> str:
        doors.put(folder, {"calendar/a.ics": content})
        return doors.called(calendar.list_events, {"start": "2026-01-01", "end": "2026-12-01"}, folder)

    return [Bomb("calendar", n, lambda at, _, c=c: play(at, c)) for n, c in CALENDARS.items()]  # type: ignore[misc]


def _mail(headers: str = "", body: str = "hello", kind: str = "text/plain") -> bytes:
    first = headers if headers.lower().startswith("from:") else f"From: a@example.com\n{headers}"
    first += "" if "content-type" in headers.lower() else f"\nContent-Type: {kind}"
    return f"{first}\n\n{body}".replace("\n\n\n", "\n\n").encode()


def _nested(levels: int, lines: int) -> bytes:
    parts = [f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(levels)]
    return ("From: a@example.com\n" + "".join(parts) + "\n" + "x\n" * lines).encode()


MAILS = {
    "1 MB of digits in the subject": _mail("Subject: " + "9" * MB),
    "1 MB of digits in the body": _mail(body="9" * MB),
    "1 MB of digits as the date": _mail("Date: " + "9" * MB),
    "1 MB of digits as the sender": _mail("From: " + "9" * MB),
    "1 MB of words in the subject": _mail("Subject: " + "a " * 500_000),
    "nested comments in the sender": _mail("From: " + "(" * 100_000),
    "100,000 addresses": _mail("From: " + "a@b.example, " * 100_000),
    "quotes in the sender": _mail("From: " + '"' * 300_000),
    "a group without end": _mail("From: " + "a:" * 100_000),
    "dots in the sender": _mail("From: " + "a." * 300_000 + "@b"),
    "100,000 encoded words": _mail("Subject: " + "=?utf-8?q?a?= " * 100_000),
    "encoded words, never closed": _mail("Subject: " + "=?utf-8?q?" * 100_000),
    "a message-id of 1 MB": _mail("Message-ID: <" + "a." * 500_000 + "@b>"),
    "parameters without end": _mail("Content-Type: text/plain" + "; a=b" * 100_000),
    "parameters in pieces": _mail("Content-Type: text/plain" + "".join(f"; a*{n}=b" for n in range(50_000))),
    "100,000 headers": _mail("".join(f"X-{n}: a\n" for n in range(100_000)) + "X: a"),
    "10,000 nested parts": _nested(10_000, 10),
    "300 nested parts, 300,000 lines": _nested(300, 300_000),
    "HTML: 1 MB of <": _mail(body="<" * MB, kind="text/html"),
    "HTML: 1 MB of <a": _mail(body="<a " * 300_000, kind="text/html"),
    "HTML: comments": _mail(body="<!--" * 250_000, kind="text/html"),
    "HTML: declarations": _mail(body="<!a" * 300_000, kind="text/html"),
    "HTML: ends": _mail(body="</a" * 300_000, kind="text/html"),
    "HTML: quotes": _mail(body='<a b="' * 150_000, kind="text/html"),
    "HTML: instructions": _mail(body="<?" * 500_000, kind="text/html"),
    "HTML: a script": _mail(body="<script>" + "</" * 500_000, kind="text/html"),
    "HTML: entities": _mail(body="&a" * 500_000, kind="text/html"),
    "HTML: sections": _mail(body="<![" * 300_000, kind="text/html"),
    "lines of one character": _mail(body="x\n" * 2 * MB),
    "40 MB": _mail(body="hello " * 7 * MB),
    "base64 of 20 MB": _mail("Content-Transfer-Encoding: base64", "QUFB" * 5 * MB),
    "punycode": _mail("Content-Type: text/plain; charset=punycode", "a" * MB + "-" + "z" * 100_000),
}


def _mails() -> list[Bomb]:
    def play(folder: Path, content: bytes) -> str:
        doors.mailbox(folder, content, b"From: b@example.com\nSubject: good\n\nfine")
        return doors.called(mail.search, {}, folder)

    return [Bomb("mail.search", n, lambda at, _, c=c: play(at, c)) for n, c in MAILS.items()]  # type: ignore[misc]


HOSTILE = {
    "digits": "9" * MB,
    "spaces": " " * MB + "x",
    "letters": "a" * MB,
    "words": "a " * (MB // 2),
    "<": "<" * MB,
    "< and spaces": "<" + " " * MB + "x",
    '"': '"' * MB,
    "dots": "." * MB,
    "sentences": "Aa. " * (MB // 4),
    "{{": "{{" * (MB // 2),
    "{{ and spaces": "{{ " * (MB // 3),
    "brackets": "[" * MB,
    "lines": "ab\n" * (MB // 3),
    "fences": "```" + " " * MB,
    "many fences": "``` " * (MB // 4),
    "quotations": "“aaaaa " * (MB // 7),
    "separated digits": "1,111" * (MB // 5),
    "an address": "a@" + "a-" * (MB // 2),
    "addresses": "a.b@c" * (MB // 5),
    "phone": "+1" + " (" * (MB // 2),
    "tool tags": "<tool_call " * (MB // 11),
    "closed tool tags": "</tool_call> " * (MB // 13),
    "thoughts": "<think>" * (MB // 7),
    "zero width": "\u200d" * (MB // 3),
    "combining": "e" + "\u0301" * (MB // 2),
    "colons": "a:" * (MB // 2),
    "amounts": "$" * MB,
    "redacted": "[REDACTED " * (MB // 10),
}
Reader = Callable[[str], object]
SHORT = 100_000  # of what a person sends: longer requests are refused at the door
READERS: dict[str, tuple[int, Reader]] = {
    "what a prompt is told": (MB, neutral),
    "a reply with calls in words": (MB, lambda text: [*blocks(text, "n")]),
    "a reply shown": (MB, lambda text: shown(text, ended=False)),
    "a conversation in words": (MB, escaped),
    "a reply that is JSON": (MB, lambda text: read_json(text)),
    "a request that speaks of its user": (SHORT, speaks_of_user),
    "a request that says something": (SHORT, lambda text: says(text, "I like tea")),
    "exact words": (SHORT, exact_words),
}


def _texts() -> list[Bomb]:
    """Every text through everything that reads texts."""
    bombs = []
    for name, content in HOSTILE.items():
        for reader, (longest, read) in READERS.items():
            bombs.append(Bomb(reader, name, lambda _, __, r=read, c=content[:longest]: _read(r, c)))  # type: ignore[misc]
        for kind in ("amount", "date", "email", "url", "number", "phone"):
            args = {"text": content, "kind": kind}
            bombs.append(
                Bomb(f"text.extract {kind}", name, lambda at, _, a=args: doors.called(text.extract, a, at))
            )  # type: ignore[misc]
        bombs.append(
            Bomb(
                "text.summarize", name, lambda at, _, c=content: doors.called(text.summarize, {"text": c}, at)
            )  # type: ignore[misc]
        )
        bombs.append(
            Bomb("a request to the embedded planner", name, lambda at, _, c=content: _asked(at, c[:SHORT]))
        )  # type: ignore[misc]
    bombs += [
        Bomb("files.search", "5 MB of matches", lambda at, _: _searched(at, "a\n" * 2_400_000)),
        Bomb("documents.create", "a formula of 1 MB", lambda at, _: _document(at, " " * MB + "=")),
        Bomb("mail.send", "an address of 1 MB", lambda at, _: _addressed(at, "a" * MB + "@example.com")),
        Bomb(
            "mail.send",
            "an address of dots",
            lambda at, _: _addressed(at, "a." * (MB // 2) + "@" + "a." * (MB // 2)),
        ),
        Bomb(
            "memory.search",
            "50,000 words",
            lambda at, _: doors.planned(at, ("memory.search", {"query": "ab " * 50_000})),
        ),
    ]
    return bombs


def _read(read: Reader, content: str) -> str:
    try:
        return doors.spelled(read(content))
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def _asked(folder: Path, content: str) -> str:
    return doors.run(folder, request=f"Summarize this: {content}", providers={}) if content.strip() else ""


def _searched(folder: Path, content: str) -> str:
    doors.put(folder, {"a.txt": content})
    return doors.called(files.search, {"query": "a"}, folder)


def _document(folder: Path, cell: str) -> str:
    return doors.called(documents.create, {"path": "a.csv", "rows": [[cell]]}, folder)


def _addressed(folder: Path, address: str) -> str:
    doors.put(folder, {"planwright.toml": '[mail]\nhost = "127.0.0.1"\nport = 1\nfrom = "a@example.com"\n'})
    return doors.called(smtp.send, {"to": [address], "text": "x"}, folder)


def _json() -> list[Bomb]:
    def web(folder: Path, port: int, name: str) -> str:
        doors.put(folder, {"planwright.toml": f'[egress]\nallow = ["127.0.0.1:{port}"]\n'})
        return doors.called(http.request, {"url": f"http://127.0.0.1:{port}/{name}"}, folder)

    def tool(folder: Path, name: str, **args: Any) -> str:
        doors.mcp_server(folder, name)
        call = {"name": "bomb__look", "args": args, "id": "c1"}
        return doors.run(folder, turns=[{"content": "", "tool_calls": [call]}])

    bombs = [
        Bomb("http.request", name, lambda at, port, n=name: web(at, port, n.replace(" ", "%20")))  # type: ignore[misc]
        for name in TEXTS
    ]
    bombs += [Bomb("an MCP result", name, lambda at, _, n=name: tool(at, n)) for name in TEXTS]  # type: ignore[misc]
    bombs.append(
        Bomb("an MCP schema", "an evil pattern", lambda at, _: tool(at, "pattern", word="a" * 40 + "!"))
    )
    for name, content in TEXTS.items():
        reply = '{"goal": "g", "steps": ' + content + "}"
        bombs.append(Bomb("a plan", name, lambda at, _, r=reply: doors.run(at, plan=r)))  # type: ignore[misc]
        data = content if name != "digits" else "9" * 900_000
        plan = (
            '{"goal": "g", "steps": [{"id": "s1", "capability": "memory.search", "params": {"query": '
            + data
            + "}}]}"
        )
        bombs.append(Bomb("the params of a plan", name, lambda at, _, p=plan: doors.run(at, plan=p)))  # type: ignore[misc]
        bombs.append(
            Bomb(
                "a file that is read",
                name,
                lambda at, _, c=content: doors.planned(
                    at, ("files.read", {"path": "a.json"}), files={"a.json": c}
                ),
            )  # type: ignore[misc]
        )
    for name, content in {"40,000 levels": DEEP[60_000:-60_000]}.items():
        reply = '{"goal": "g", "steps": ' + content + "}"
        bombs.append(Bomb("a plan", name, lambda at, _, r=reply: doors.run(at, plan=r)))  # type: ignore[misc]
    bombs += [
        Bomb(".mcp.json", "100,000 levels", lambda at, _: _opened(at, ".mcp.json", DEEP)),
        Bomb(
            ".mcp.json",
            "no JSON of 1 MB",
            lambda at, _: _opened(
                at, ".mcp.json", '{"mcpServers": {"a": {"command": 1, "x": "' + "[" * MB + '"}}}'
            ),
        ),
        Bomb("policy.toml", "100,000 levels", lambda at, _: _opened(at, "policy.toml", "a = " + DEEP)),
        Bomb(
            "planwright.toml", "100,000 levels", lambda at, _: _opened(at, "planwright.toml", "a = " + DEEP)
        ),
    ]
    return bombs


def _opened(folder: Path, name: str, content: str) -> str:
    try:
        return doors.run(folder, files={name: content})
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def _templates() -> list[Bomb]:
    braces = {
        "100,000 {{": "{{" * 100_000,
        "100,000 references": "{{steps.s1.output.text}} " * 100_000,
        "100,000 that are none": "{{ x y }} " * 100_000,
        "references that double": "{{steps.s1.output.text}}" * 2000,
    }
    files_of = {"a.txt": "x" * 100_000}
    return [
        Bomb(
            "references",
            name,
            lambda at, _, c=c: doors.planned(  # type: ignore[misc]
                at, ("files.read", {"path": "a.txt"}), ("text.summarize", {"text": c}), files=files_of
            ),
        )
        for name, c in braces.items()
    ]


def _models() -> list[Bomb]:
    """Replies over the wire, whole and in 2,000 pieces."""
    bombs = []
    for name in TEXTS:
        for stream in (False, True):
            for way in ("plan", "args"):
                what = "a plan" if way == "plan" else "tool arguments"
                room = f"{what} over the wire{', in pieces' if stream else ''}"

                def play(folder: Path, port: int, kind: str = f"{way} {name}", stream: bool = stream) -> str:
                    mode = "always" if kind.startswith("plan") else "never"
                    flags = doors.provider(port, kind, stream=stream)
                    return doors.run(
                        folder, **{**flags, "planning": {"mode": mode}, "failover": {"retries": 0}}
                    )

                bombs.append(Bomb(room, name, play))
    return bombs
