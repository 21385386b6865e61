"""Paths that lead out of a workspace, or look as if they did, and the workspace they are tried in."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

SECRET = "the-secret-nobody-may-see"
_STORES = (".planwright", ".git", ".langgraph_api")

# Each of these has to be refused, to read and to write, whatever the capability.
OUTSIDE: list[str] = [
    # up
    "..", "../", "../secret.txt", "../../secret.txt", "../../../../../../../../etc/passwd", "notes/..",
    "notes/../..", "notes/../../secret.txt", "./../secret.txt", "notes/./../../secret.txt", "..//secret.txt",
    "notes/sub/../../../secret.txt", ".../../secret.txt", "notes/../notes/../../secret.txt",
    "./././../secret.txt",
    "../root/../secret.txt", "../outside/secret.txt", "notes//..//..//secret.txt", "notes/sub/../../..",
    "../secret.txt/", "../secret.txt/.", "../root", "../root/notes/a.txt", "new/../../made.txt",
    # absolute
    "/", "//", "///", "/secret.txt", "//secret.txt", "/etc/passwd", "/etc/shadow", "//etc//passwd",
    "/./etc/passwd", "/proc/self/environ", "/proc/self/cwd/secret.txt", "/proc/self/root/etc/passwd",
    "/proc/self/fd/0", "/proc/1/environ", "/proc/thread-self/root/etc/passwd", "/dev/stdin", "/dev/zero",
    "/dev/null", "/dev/tty", "/dev/fd/0", "/dev/urandom", "/sys/kernel/notes", "/tmp", "/root/.ssh/id_rsa",
    "{root}/notes/a.txt", "{root}", "{outside}/secret.txt", "{outside}", "{root}/../secret.txt",
    # home, drives and shares
    "~", "~/", "~/secret.txt", "~root", "~root/.ssh/id_rsa", "~nobody/x", "~\0", "..\\secret.txt",
    "notes\\a.txt", "notes\\..\\..\\secret.txt", "C:\\secret.txt", "c:\\windows\\win.ini", "\\\\host\\share",
    "\\\\?\\C:\\secret.txt", "\\secret.txt", "notes/..\\..\\secret.txt",
    # characters no name has
    "\0", "a\0b", "notes/a.txt\0", "notes\0/../..", "notes/a.txt\0.md", "\0../secret.txt", "\ud83e",
    "notes/\ud83e.txt", "../\udcff", "\udc2e\udc2e/secret.txt",
    # links, to files and folders, inside and outside, broken and circular
    "link.txt", "./link.txt", "notes/link.txt", "link-to-folder", "link-to-folder/",
    "link-to-folder/secret.txt",
    "link-to-folder/new.txt", "link-to-folder/x/y.txt", "link-to-root/etc/passwd", "link-to-root",
    "link-to-itself", "link-to-itself/x", "link-inside", "link-inside/a.txt", "dangling", "dangling/x",
    "notes/sub/link-up", "notes/sub/link-up/secret.txt", "link-to-proc/environ",
    "link-to-proc/root/etc/passwd",
    "link-to-proc/cwd/x", "link-to-link", "link-to-link/secret.txt", "link-to-device", "link-to-pipe",
    "link-to-store", "link-to-store/planwright.db", "link-out.db", "link-out.md", "notes/../link.txt",
    "link-to-folder/../secret.txt", "link-to-folder/root/notes/a.txt",
    # what belongs to the program, to git, to the server, in spellings file systems may take for the same
    *(name for store in _STORES for name in (store, f"{store}/", f"./{store}", f"{store}/planwright.db",
      f".//{store}/x.md", f"{store}/new/x.md", f"notes/{store}/x.md", store.upper(), f"{store.upper()}/x.md",
      store.title(), f"{store}.", f"{store} ", f"{store}. ./x.md", f"{store}\u200c/x.md",
      f"\u200d{store}/x.md",
      f"{store[:3]}\u00ad{store[3:]}/x.md", f"{store[:2]}\ufeff{store[2:]}")),
    ".ｐｌａｎｗｒｉｇｈｔ", ".ｐlanwright/planwright.db", "．git/config",
    ".ｇｉｔ/config", ".gıt/../.git/config",
    "planwright.toml", "./planwright.toml", "PLANWRIGHT.TOML", "planwright.toml.", "Planwright.toml ",
    "notes/planwright.toml", ".mcp.json", ".MCP.json", ".env", ".ENV", ".env/x", "notes/.env",
    # too long
    "x" * 201, "notes/" + "x" * 300, "x/" * 3000 + "y", "../" * 2000 + "etc/passwd", "ü" * 150, "a/" * 600,
]  # fmt: skip

# These may be names inside, or be refused; nothing may come of them outside.
HARMLESS: list[str] = [
    "", ".", "./", "...", "....", "..new", "new..", "notes/...", "notes/..a/b.md", ".. ", "..\t", " ..",
    "notes/.. /secret.txt", "notes/..\u200b/secret.txt", "‥/secret.txt", "．．/secret.txt", "。。/secret.txt",
    "․․/secret.txt", "﹒﹒/secret.txt", "..／secret.txt", "..∕secret.txt", "..⁄secret.txt", "..⧸secret.txt",
    "..%2fsecret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt", "..%c0%afsecret.txt", "..%00/secret.txt",
    "..;/secret.txt", "..|secret.txt", "$HOME/secret.txt", "${HOME}", "$(id)", "`id`", "a;id", "*", "?",
    "[a]",
    "{a,b}", "-rf", "--help", "a b", " a", "a ", "a.", "notes/a.txt ", "notes/a.txt.", "notes/a.txt/",
    "notes/a.txt/b", "notes/a.txt/../a.txt".replace("/..", "/...."), "notes", "notes/", "missing",
    "missing/a.txt",
    "a\nb", "a\rb", "a\tb", "a\x1b[31mb", "\u202etxt.a", "\u2066a", "e\u0301", "\u00e9", "CON", "NUL",
    "aux.txt",
    "file:///etc/passwd", "file:notes/a.txt", "file:../secret.db?mode=rw", "http://127.0.0.1/x",
    "x.db?mode=rw",
    ":memory:", "::$DATA", "a:b", "notes/a.txt:stream", "pipe", "pipe.db", "pipe.md", "notes/pipe", "socket",
    "hard.txt", "hard.db", "hard.md", "closed/a.txt", "big.txt", "x.db", "notes/x.db", "policy.toml",
]  # fmt: skip


def build(outside: Path) -> None:
    """Build the workspace `outside/root`, and around it what is nobody's business."""
    root = outside / "root"
    for folder in ("notes/sub", "closed", "mail", *(f"{store}/sub" for store in _STORES)):
        (root / folder).mkdir(parents=True)
    (outside / "secret.txt").write_text(SECRET)
    (outside / "secret.md").write_text(SECRET)
    _database(outside / "secret.db", SECRET)
    for path in (root / "x.db", root / "notes" / "x.db"):
        _database(path, "inside")
    for store in _STORES:
        (root / store / "planwright.db").write_text(SECRET)
        (root / store / "config").write_text(SECRET)
    for name in (".env", ".mcp.json", "notes/.env"):
        (root / name).write_text(SECRET)
    for name in ("notes/a.txt", "notes/sub/b.txt", "closed/a.txt", "policy.toml"):
        (root / name).write_text(f"content of {name}")
    _links(root, outside)
    for name in ("pipe", "pipe.db", "pipe.md", "notes/pipe"):
        os.mkfifo(root / name)
    for ending in ("txt", "db", "md"):
        os.link(outside / f"secret.{ending}", root / f"hard.{ending}")


def _links(root: Path, outside: Path) -> None:
    for name, aim in {
        "link.txt": outside / "secret.txt",
        "notes/link.txt": Path("../../secret.txt"),
        "link-out.db": outside / "secret.db",
        "link-out.md": outside / "secret.md",
        "link-to-folder": outside,
        "link-to-root": Path("/"),
        "link-to-itself": Path("link-to-itself"),
        "link-inside": Path("notes"),
        "dangling": Path("nowhere"),
        "notes/sub/link-up": Path("../../.."),
        "link-to-proc": Path("/proc/self"),
        "link-to-link": Path("link-to-folder"),
        "link-to-device": Path("/dev/zero"),
        "link-to-pipe": Path("pipe"),
        "link-to-store": Path(".planwright"),
    }.items():
        (root / name).symlink_to(aim)


def _database(path: Path, word: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (x)")
        db.execute("INSERT INTO t VALUES (?)", (word,))


def outside_of(root: Path) -> dict[str, str]:
    """Hash every file around the workspace, and those in it that are the program's own."""
    found: dict[str, str] = {}
    for place, folders, names in os.walk(root.parent):
        here = Path(place)
        if here == root:
            folders[:] = [name for name in folders if name in _STORES]
            names = [name for name in names if name in (".env", ".mcp.json", "planwright.toml")]
        for name in (*folders, *names):
            path = here / name
            plain = path.is_file() and not path.is_symlink()
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if plain else "no file"
    return found
