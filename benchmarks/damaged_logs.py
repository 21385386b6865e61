"""Ways in which a write-ahead log gets damaged or shortened while nobody has its file open."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

HEADER, FRAME = 32, 24 + 4096
Damage = Callable[[Path, random.Random], str]
"""Changes a log by the dice, and says how."""


def flip(log: Path, dice: random.Random) -> str:
    """Change some bytes, anywhere."""
    data = bytearray(log.read_bytes())
    places = [dice.randrange(len(data)) for _ in range(dice.choice((1, 1, 2, 8, 64)))]
    for place in places:
        data[place] ^= dice.randrange(1, 256)
    log.write_bytes(data)
    return f"flipped {places[:4]}"


def flip_late(log: Path, dice: random.Random) -> str:
    """Change a byte of one of the newest frames: no more than the last commits are lost."""
    data = bytearray(log.read_bytes())
    place = max(HEADER, len(data) - dice.randrange(1, 12 * FRAME))
    data[place] ^= dice.randrange(1, 256)
    log.write_bytes(data)
    return f"flipped late {place} of {len(data)}"


def cut(log: Path, dice: random.Random) -> str:
    """Cut it short, anywhere."""
    return _cut(log, dice.randrange(log.stat().st_size))


def cut_frames(log: Path, dice: random.Random) -> str:
    """Cut it short behind a frame, so that no checksum shows it."""
    frames = (log.stat().st_size - HEADER) // FRAME
    return _cut(log, HEADER + FRAME * (frames - dice.randrange(1, min(frames, 40) + 1)))


def zero(log: Path, dice: random.Random) -> str:
    """Fill a stretch with zeros, as a disk does that lost a block."""
    data = bytearray(log.read_bytes())
    place, size = len(data), dice.choice((16, 512, 4096))
    while not any(data[place : place + size]):  # much of a page is unused
        place = dice.randrange(len(data))
    data[place : place + size] = bytes(len(data[place : place + size]))
    log.write_bytes(data)
    return f"zeros at {place}"


def spoil_header(log: Path, dice: random.Random) -> str:
    """Change the header: nothing of it is read."""
    data = bytearray(log.read_bytes())
    place = dice.randrange(HEADER)
    data[place] ^= dice.randrange(1, 256)
    log.write_bytes(data)
    return f"header at {place}"


def swap(log: Path, dice: random.Random) -> str:
    """Put one frame in the place of another."""
    data = bytearray(log.read_bytes())
    frames = (len(data) - HEADER) // FRAME
    first, second = (HEADER + FRAME * dice.randrange(frames) for _ in range(2))
    data[first : first + FRAME], data[second : second + FRAME] = (
        data[second : second + FRAME],
        data[first : first + FRAME],
    )
    log.write_bytes(data)
    return f"frames at {first} and {second} swapped"


def lose(log: Path, dice: random.Random) -> str:
    """Lose the whole log, or all that is in it."""
    if dice.random() < 0.5:
        log.unlink()
        return "gone"
    return _cut(log, 0)


DAMAGES: tuple[Damage, ...] = (
    flip,
    flip_late,
    flip_late,
    cut,
    cut_frames,
    cut_frames,
    zero,
    spoil_header,
    swap,
    lose,
)


def _cut(log: Path, size: int) -> str:
    before = log.stat().st_size
    with log.open("rb+") as file:
        file.truncate(size)
    return f"cut to {size} of {before}"
