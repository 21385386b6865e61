"""How the work of reading a text grows with the text: a ratio, which a slow machine does not change."""

from collections.abc import Callable
from time import thread_time_ns

STEEPEST = (
    3  # for a text twice as long: the work is 2 x as much where it is linear, 4 x where it is quadratic
)
TRIES = 8  # what is slow by chance is not slow each time


def is_steep(read: Callable[[str], object], text: str) -> bool:
    """Say whether reading a text takes more than linear time, measured against its first half."""
    return all(_work(read, text) > STEEPEST * _work(read, text[: len(text) // 2]) for _ in range(TRIES))


def _work(read: Callable[[str], object], text: str) -> int:
    """Measure the time of this thread alone: other processes do not count."""
    began = thread_time_ns()
    read(text)
    return thread_time_ns() - began + 1
