"""Pages that are served on this machine right now: what makes another link to them, for their owner alone.

The token of a start is in no command, address or window. It is in a file of mode 0600 while its page is
served, in a folder of the owner beside all workspaces, so that `planwright web --link` can make a ticket. A
lock on the file says that the page is there: it goes with its process, however that ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import html
import socket
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from planwright.domain.errors import SetupError
from planwright.domain.hashing import sha256
from planwright.security.tickets import make_ticket, own_host
from planwright.settings.settings import Settings, state_folder
from planwright.store.private_files import open_private, read_private, write_private

PAGES = "pages"
NAMED_ADDRESSES = ("127.0.0.1", "::1")
"""What names below `localhost` stand for in a browser (RFC 6761, 6.3)."""
ID_LETTERS = 32
_REDIRECT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}">\n'


class ServedPage(BaseModel):
    """A page that is served on this machine, and the token of its start."""

    model_config = ConfigDict(frozen=True)
    origin: str
    """Scheme, host and port of the page, and the path under which it is mounted."""
    token: str
    """Token of the start; it makes tickets."""

    def link(self) -> str:
        """Make a link that signs in once."""
        return f"{self.origin}/sign-in?ticket={make_ticket(self.token)}"


def page_here(port: int, token: str, root: str = "", host: str = "") -> ServedPage:
    """Name a page of this machine: over TLS by the `host` of its certificate, else by a host of its own."""
    where = f"https://{host}:{port}" if host else f"http://{own_host(token)}:{port}"
    return ServedPage(origin=where + root, token=token)


def hold_port(host: str, port: int) -> socket.socket | None:
    """Hold a port at the other address that a name below `localhost` has, so that nobody else answers there.

    Chromium 156 asks ::1 first, and goes on to 127.0.0.1 where nothing listens: whoever did would be sent the
    link and the cookie. None where this machine has no such address. Raises OSError where somebody has it.
    """
    other = next(address for address in NAMED_ADDRESSES if address != host)
    try:
        holder = socket.socket(socket.AF_INET6 if ":" in other else socket.AF_INET)
    except OSError:  # no such family
        return None
    try:
        holder.bind((other, port))  # without SO_REUSEADDR: with it others may, too (socket(7))
    except OSError as error:
        holder.close()
        if error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return holder


@contextlib.contextmanager
def announced(settings: Settings, page: ServedPage) -> Iterator[None]:
    """Let `planwright web --link` find a page for as long as it is served. Raises SetupError."""
    path = _folder(settings) / f"{sha256(page.token)[:ID_LETTERS]}.json"
    with contextlib.ExitStack() as while_served:
        try:
            file = while_served.enter_context(open_private(path, "a+", encoding="utf-8"))
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(page.model_dump_json())
            file.flush()
        except OSError as error:
            cause = f"{path} cannot be written: {error.strerror}"
            raise SetupError(cause, "make its folder writable, or set XDG_STATE_HOME to one") from error
        while_served.callback(path.unlink, missing_ok=True)
        yield


def served_pages(settings: Settings) -> list[ServedPage]:
    """List the pages of a workspace that are served right now."""
    pages = []
    for path in sorted(_folder(settings).glob("*.json")):
        with contextlib.suppress(FileNotFoundError), path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # somebody has it: its page is served
                with contextlib.suppress(ValidationError):
                    pages.append(ServedPage.model_validate_json(read_private(path)))
    return pages


@contextlib.contextmanager
def opening_file(settings: Settings, link: str) -> Iterator[Path]:
    """Keep a file that leads to a link, for a browser: what it is opened with, every process can read."""
    path = _folder(settings) / f"{sha256(link)[:ID_LETTERS]}.html"
    write_private(path, _REDIRECT.format(html.escape(link)))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _folder(settings: Settings) -> Path:
    return state_folder() / PAGES / sha256(str(settings.store_folder.resolve()))[:ID_LETTERS]
