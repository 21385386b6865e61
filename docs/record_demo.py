"""`make docs`: run `planwright demo` at a terminal, and draw what it shows into docs/pictures/demo.svg.

The run is a real one: times, ports and keys differ from one recording to the next. Only the path of the
folder that it is recorded in is left out.
"""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).parent / "pictures" / "demo.svg"
COLUMNS, ROWS = 100, 60
QUESTION = b"and why: "
THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        *((72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)),
        *((88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)),
    ],
)
_ENVIRONMENT = {"PATH": os.defpath, "TERM": "xterm-256color"}
# As rich draws it, but for fonts from elsewhere: any monospaced font does.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="planwright demo">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px }}
.{unique_id}-title {{ font: 600 18px sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def record(folder: Path) -> str:
    """Run the demo at a terminal, approve all that it asks, and return what the terminal was shown."""
    child, terminal = pty.fork()
    if child == 0:
        termios.tcsetwinsize(0, (ROWS, COLUMNS))
        os.chdir(folder)
        planwright = Path(sys.executable).with_name("planwright")
        os.execve(planwright, ["planwright", "demo"], _ENVIRONMENT)
    written, answered = b"", 0
    while data := _read(terminal):
        written += data
        if written.count(QUESTION) > answered:
            os.write(terminal, b"y\n")
            answered += 1
    os.close(terminal)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit(written.decode())
    return written.decode()


def _read(terminal: int) -> bytes:
    """Read what is there; nothing when the other end is closed, which Linux calls an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def screen(written: str) -> str:
    """Return the rows that stand at the end, with their colours: live rows were written over."""
    rows, row = [""], 0
    for part in re.split(r"(\n|\x1b\[\d*A|\x1b\[2K|\x1b\[\?25[lh])", written.replace("\r", "")):
        if part == "\n":
            row += 1
            rows += [""] * (row == len(rows))
        elif part == "\x1b[2K":
            rows[row] = ""
        elif move := re.fullmatch(r"\x1b\[(\d*)A", part):
            row -= int(move[1] or 1)
        elif not part.startswith("\x1b[?25"):
            rows[row] += part
    return "\n".join(row for row in rows if Text.from_ansi(row).plain.strip())


def picture(rows: str) -> str:
    """Draw the rows of a terminal as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text("$ planwright demo", style="bold"))
    console.print(Text.from_ansi(rows))
    return console.export_svg(title="planwright demo", theme=THEME, code_format=FRAME, unique_id="demo")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as workspace:
        rows = screen(record(Path(workspace))).replace(f"{workspace}/", "")
    PICTURE.write_text(picture(rows), "utf-8")
