"""Mails of random arguments, a real SMTP server that takes them, and a second reader of what it took.

The product reads its mails back with the email package's new parser; here the old one (compat32) reads
them, so that one parser's mistake is not judged by itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header
from email.message import Message
from email.policy import compat32
from email.utils import getaddresses
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

SENDER = "agent@planwright.example"
HEADERS = set(
    "from to cc subject date message-id mime-version content-type content-transfer-encoding".split()
)
PART_HEADERS = {"content-type", "content-transfer-encoding", "content-disposition", "mime-version"}
WORDS = (
    'offer order Größe 🧾 status, a(b) "quoted" <tag@x.example> ; : =?utf-8?q?x=0D=0ABcc=3A_m=40x.example?='
    " =?iso-8859-1?b?4Q==?= = ? _ 日本語 שלום \u202eabc \u2066x\u2069 \u200b \ufeff re: [x] \\ ' % =20 . .. "
    " https://example.com/a/very/long/path/that/goes/on/and/on/and/on/for/much/more/than/seventy-eight"
    " Bcc:mallory@example.com Content-Type:text/html --boundary"
    " From From: é.é ﷺ e\u0301 \U000e0041 \xa0 \u3000 \xad"
).split(" ")
BREAKS = (
    "\r\n",
    "\n",
    "\r",
    "\r\nBcc: m@x.example",
    "\n ",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "\0",
)
LOCALS = (
    "jo",
    "kim.lee",
    "A.B",
    "o'neil",
    "x+tag",
    "a!#$%&'*+-/=?^_`{|}~",
    "=?utf-8?q?a?=",
    "x" * 60,
    "-",
    "_",
)
ODD_LOCALS = (
    "j\u00f6",
    '"a b"',
    "a b",
    "a\r\nRCPT TO:<m@x.example>",
    "a,b",
    "a>b",
    "a..b",
    "",
    "@x:jo",
    "jo <k",
)
DOMAINS = ("example.com", "Example.COM", "xn--bcher-kva.example", "a.b.c.example", "y" * 60 + ".example")
ODD_DOMAINS = (
    "bücher.example",
    "ex．com",
    "[127.0.0.1]",
    "example.com\n",
    "x.example> NOTIFY=NEVER",
    "exa\u202emple.com",
)
NAMES = (
    "a.txt", "ü.pdf", "two words.txt", "a;b.txt", 'a"b.txt', "=?utf-8?q?x?=.txt", "x" * 200 + ".txt",
    "ü" * 100,
    "a%20b", "utf-8''x", "\u202etxt.exe", "mail.eml", "page.mht", " a ", "a  b", "日本 語 " * 8, "a\nb",
    "a\r\nBcc: m", "a.tar.gz", "a.html", "*", "x " * 60 + "y", "\x7f", "a\tb", "a=b,c(d)",
)  # fmt: skip


@dataclass
class Inbox:
    """What one SMTP server took: recipients and bytes; and how often anyone connected."""

    port: int = 0
    connections: int = 0
    taken: list[tuple[list[str], bytes]] = field(default_factory=list)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Keep a mail (a hook of aiosmtpd)."""
        content = envelope.content
        assert isinstance(content, bytes)
        self.taken.append((list(envelope.rcpt_tos), content))
        return "250 taken"

    def connect(self) -> SMTP:
        """Serve one connection."""
        self.connections += 1
        return SMTP(self, hostname="localhost", data_size_limit=0)


@asynccontextmanager
async def open_inbox() -> AsyncIterator[Inbox]:
    """Serve SMTP on a free port of the loopback."""
    inbox = Inbox()
    async with await asyncio.get_running_loop().create_server(inbox.connect, "127.0.0.1", 0) as server:
        inbox.port = server.sockets[0].getsockname()[1]
        yield inbox


def random_mail(rng: random.Random, workspace: Path) -> dict[str, Any]:
    """Draw the arguments of a mail; its attachments lie in the workspace afterwards."""
    return {
        "to": [_address(rng) for _ in range(rng.choice((1, 1, 1, 2, 5, 30)))],
        "cc": [_address(rng) for _ in range(rng.choice((0, 0, 1, 3)))],
        "bcc": [_address(rng) for _ in range(rng.choice((0, 0, 0, 1, 3)))],
        "subject": _line(rng, rng.choice((0, 1, 3, 8, 20, 60)))[:500],
        "text": _text(rng),
        "attachments": _attach(rng, workspace) if rng.random() < 0.3 else [],
    }


def differences(args: dict[str, Any], workspace: Path, taken: tuple[list[str], bytes]) -> list[str]:
    """List the parts of a mail that a reader would not read as the arguments say."""
    recipients, wire = taken
    mail = message_from_bytes(wire, policy=compat32)
    parts = mail.get_payload() if mail.is_multipart() else []
    assert isinstance(parts, list)
    body, files = (parts[0], parts[1:]) if parts else (mail, [])
    assert isinstance(body, Message)
    wanted = [(Path(path).name, (workspace / path).read_bytes()) for path in args["attachments"]]
    checks = {
        "recipients": recipients == list(dict.fromkeys(args["to"] + args["cc"] + args["bcc"])),
        "from": mail.get_all("From") == [SENDER],
        "to": _addresses(mail, "To") == args["to"],
        "cc": _addresses(mail, "Cc") == args["cc"],
        "subject": _decoded(mail) == args["subject"],
        "text": _lines(body.get_payload(decode=True)) == _lines(args["text"].encode()),
        "kind": body.get_content_type() == "text/plain" and body.get_content_charset() == "utf-8",
        "attachments": [
            (part.get_filename(), part.get_payload(decode=True))
            for part in files
            if isinstance(part, Message)
        ]
        == wanted,
        "headers": {name.lower() for name in mail} <= HEADERS and len(set(mail)) == len(mail),
        "part headers": all({name.lower() for name in part} <= PART_HEADERS for part in parts),
        "mangled": all(32 <= byte < 127 or byte in b"\r\n\t" for byte in wire),
    }
    return [name for name, good in checks.items() if not good]


def _address(rng: random.Random) -> str:
    odd = rng.random()
    local = rng.choice(ODD_LOCALS if odd < 0.01 else LOCALS if odd < 0.1 else LOCALS[:5])
    return f"{local}@{rng.choice(ODD_DOMAINS if 0.01 <= odd < 0.02 else DOMAINS)}"


def _line(rng: random.Random, count: int) -> str:
    line = rng.choice((" ", " ", " ", "  ", "")).join(rng.choice(WORDS) for _ in range(count))
    odd = rng.random()
    if odd < 0.05:
        line = rng.choice((" ", "\t", "  ")) + line
    elif odd < 0.1:
        line += rng.choice((" ", "\t", "  "))
    elif odd < 0.15:
        place = rng.randrange(len(line) + 1)
        line = line[:place] + rng.choice(BREAKS) + line[place:]
    elif odd < 0.2:
        line = "".join(
            chr(rng.choice((rng.randrange(32, 0x3000), rng.randrange(0x10000, 0x1FFFF)))) for _ in line
        )
    return line


def _text(rng: random.Random) -> str:
    lines = [_line(rng, rng.choice((0, 1, 5, 20, 200))) for _ in range(rng.choice((0, 1, 2, 6)))]
    return rng.choice(("\n", "\n", "\r\n", "\r", "\n.\n", "\r\n.\r\nQUIT\r\n")).join(lines)


def _attach(rng: random.Random, workspace: Path) -> list[str]:
    paths = []
    for number in range(rng.choice((1, 1, 2, 4))):
        folder = workspace / str(number)
        folder.mkdir(exist_ok=True)
        name = rng.choice(NAMES)
        (folder / name).write_bytes(
            rng.choice((b"", b"x\r\n.\r\n", _text(rng).encode(), rng.randbytes(3000)))
        )
        paths.append(f"{number}/{name}")
    return paths


def _addresses(mail: Message, name: str) -> list[str]:
    return [address for _, address in getaddresses([str(value) for value in mail.get_all(name, [])])]


def _decoded(mail: Message) -> str:
    value = str(mail["Subject"] or "").replace("\r\n", "\n").replace("\n ", " ")
    if "=?" not in value:
        return value
    parts = decode_header(str(mail["Subject"]))
    return "".join(part if isinstance(part, str) else part.decode(kind or "ascii") for part, kind in parts)


def _lines(text: object) -> bytes:
    assert isinstance(text, bytes)
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n")
