"""What a terminal shows once it has obeyed everything it was sent: enough of one for rich's live display."""

from __future__ import annotations

import re

_PART = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|(\r|\n)|([^\x1b\r\n]+)")


def picture(sent: str) -> list[str]:
    """Return the rows of screen and scrollback, without trailing blanks. Fails on a code it does not know."""
    rows, row, column = [""], 0, 0
    for part in _PART.finditer(sent):
        count, code, control, text = part.groups()
        if text:
            rows[row] = rows[row][:column].ljust(column) + text + rows[row][column + len(text) :]
            column += len(text)
        elif control == "\n":
            row, column = row + 1, 0
            rows += [""] * (row == len(rows))
        elif control == "\r":
            column = 0
        elif code == "A":
            row = max(row - int(count or 1), 0)
        elif code == "K":
            rows[row] = rows[row][:column] if count in ("", "0") else ""
        else:
            assert code in ("m", "h", "l") or code is None, part[0]
    return [shown.rstrip() for shown in rows]


def colours(sent: str) -> list[str]:
    """List the codes in what was sent that set a colour."""
    styles = (style for found in re.findall(r"\x1b\[([0-9;]*)m", sent) for style in found.split(";"))
    return [style for style in styles if re.fullmatch(r"[349][0-8]|10[0-7]", style)]
