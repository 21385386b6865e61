"""What the bombs of `benchmarks/bomb_table.py` are made of, by the room that reads it."""

from __future__ import annotations

from typing import Any

MB = 1_000_000

CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "nested all": (
        "args.to.all(a, args.to.all(b, args.to.all(c, args.to.all(d, a != 'x' || b != c))))",
        {"to": [f"p{n}@acme.example" for n in range(100)], "text": "x"},
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
