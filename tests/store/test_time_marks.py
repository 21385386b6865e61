"""What time it is for a store, whatever its clocks show: played against the time that really goes by."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwright.store.time_marks import (
    JOIN_S,
    LOOK_S,
    NEAR_S,
    SETTLE_S,
    TICK_S,
    Reading,
    TimeMark,
    begun,
    is_of,
    joined,
    looked_at,
    taken_up,
)

WEEK, HOUR, EPOCH = 7 * 86_400.0, 3600.0, 1_800_000_000.0


@dataclass
class Session:
    """Something that is to end a while after it was opened."""

    real_s: float
    opened_s: float
    closes_s: float
    ttl_s: float


@dataclass
class Play:
    """One machine, the time that really goes by, and what its store makes of it."""

    real_s: float = 0
    wrong_s: float = 0
    boot: int = 1
    booted_s: float = 0
    mark: TimeMark = field(init=False)
    open: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mark = begun(self.reading)

    @property
    def reading(self) -> Reading:
        return Reading(EPOCH + self.real_s + self.wrong_s, self.real_s - self.booted_s, f"boot {self.boot}")

    @property
    def shown_wrong_s(self) -> float:
        """How far the time of day is from the real one."""
        return self.mark.now_s - EPOCH - self.real_s

    def begin(self, ttl_s: float) -> Session:
        counted_s = self.mark.counted_s
        self.open.append(Session(self.real_s, counted_s, counted_s + ttl_s, ttl_s))
        return self.open[-1]

    def left_s(self, session: Session) -> float:
        return session.closes_s - self.mark.counted_s

    def really_left_s(self, session: Session) -> float:
        return session.real_s + session.ttl_s - self.real_s

    def look(self) -> Play:
        before, reading = self.mark, self.reading
        if not is_of(before, reading):
            before = taken_up(before, reading)
        self.mark = looked_at(before, reading)
        if before.was_off and not self.mark.was_off:
            for session in self.open:
                session.closes_s = self.mark.sooner(session.opened_s, session.closes_s)
        return self

    def work(self, seconds: float) -> Play:
        """Let time go by while somebody looks every ten seconds."""
        ends = self.real_s + seconds
        while self.real_s < ends:
            self.real_s = min(ends, self.real_s + 10)
            self.look()
        return self

    def turn(self, seconds: float) -> Play:
        self.wrong_s += seconds
        return self.look()

    def off(self, seconds: float) -> Play:
        """Turn the machine off, and on again."""
        self.real_s += seconds
        self.boot, self.booted_s = self.boot + 1, self.real_s
        return self.look()


@pytest.mark.parametrize("turn", [WEEK, -WEEK, HOUR, -HOUR])
def test_a_clock_that_steps_for_a_moment_is_not_believed(turn: float) -> None:
    play = Play()
    session = play.begin(HOUR)
    play.work(60).turn(turn).work(SETTLE_S - 60)
    assert (play.shown_wrong_s, play.left_s(session)) == (0, play.really_left_s(session))
    assert play.turn(-turn).mark.off_s == 0
    assert (play.shown_wrong_s, play.left_s(session)) == (0, play.really_left_s(session))


@pytest.mark.parametrize("turn", [WEEK, -WEEK, HOUR, -HOUR])
def test_one_that_stands_is_believed_and_nothing_has_become_older(turn: float) -> None:
    play = Play()
    session = play.begin(HOUR)
    play.work(60).turn(turn).work(SETTLE_S)
    assert (play.shown_wrong_s, play.left_s(session)) == (turn, play.really_left_s(session))
    play.turn(-turn).work(SETTLE_S)
    assert (play.shown_wrong_s, play.left_s(session)) == (0, play.really_left_s(session))


@pytest.mark.parametrize("pace", [0.0, 0.5, 1.02, 2.0])
def test_a_clock_that_does_not_keep_step_is_never_followed_far(pace: float) -> None:
    play = Play()
    session = play.begin(HOUR)
    for _ in range(1000):
        play.wrong_s += 10 * (pace - 1)
        play.work(10)
    assert abs(play.shown_wrong_s) <= NEAR_S + 10_000 * 0.001
    assert play.left_s(session) == play.really_left_s(session)


def test_one_that_is_corrected_little_by_little_is_followed() -> None:
    play = Play()
    play.wrong_s = 1.5
    assert play.work(HOUR).shown_wrong_s == pytest.approx(1.5)


@pytest.mark.parametrize("off", [300.0, HOUR, WEEK])
def test_time_in_which_the_machine_was_off_counts_once_the_clock_has_stood(off: float) -> None:
    play = Play()
    session = play.begin(off / 2)
    play.work(60).off(off)
    new = play.begin(off / 2)
    assert play.shown_wrong_s == 0  # the time of day is right at once
    sure, maybe = play.mark.is_over, play.mark.may_be_over
    assert [sure(each.closes_s) for each in (session, new)] == [False, False]
    assert [maybe(each.opened_s, each.closes_s) for each in (session, new)] == [True, False]
    play.work(SETTLE_S)
    assert [play.left_s(each) for each in (session, new)] == [
        pytest.approx(play.really_left_s(each)) for each in (session, new)
    ]
    assert (play.mark.is_over(session.closes_s), play.mark.was_off) == (True, False)


def test_after_a_quick_start_it_counts_at_once() -> None:
    play = Play()
    session = play.begin(HOUR)
    play.work(60).off(JOIN_S - 1)
    assert (play.left_s(session), play.mark.was_off) == (play.really_left_s(session), False)


@pytest.mark.parametrize("turn", [WEEK, -WEEK])
def test_a_clock_that_is_wrong_at_a_start_and_set_right_ends_nothing_early(turn: float) -> None:
    play = Play()
    session = play.begin(2 * HOUR)
    play.wrong_s = turn
    play.off(HOUR).work(300)
    assert play.left_s(session) >= play.really_left_s(session)
    play.wrong_s = 0
    play.work(SETTLE_S + 10)
    assert play.left_s(session) == pytest.approx(play.really_left_s(session))
    assert play.shown_wrong_s == pytest.approx(0)


def test_one_that_is_turned_on_after_a_start_counts_as_what_it_said_first() -> None:
    play = Play()
    session = play.begin(2 * HOUR)
    play.off(HOUR).work(300).turn(WEEK).work(SETTLE_S)
    assert play.left_s(session) == pytest.approx(play.really_left_s(session))


@pytest.mark.parametrize("turn", [WEEK, -WEEK])
@pytest.mark.parametrize("set_right", [True, False])
def test_a_step_that_nobody_has_believed_yet_is_no_time_in_which_the_machine_was_off(
    turn: float, set_right: bool
) -> None:
    play = Play()
    session = play.begin(2 * HOUR)
    play.work(60).turn(turn).work(60).off(HOUR)
    if set_right:
        play.turn(-turn)
    play.work(SETTLE_S + 10)
    assert play.left_s(session) == pytest.approx(play.really_left_s(session))
    assert play.shown_wrong_s == pytest.approx(0 if set_right else turn)


@pytest.mark.parametrize("turn", [WEEK, -WEEK])
def test_a_clock_that_was_believed_and_is_set_right_while_the_machine_is_off_ends_nothing_early(
    turn: float,
) -> None:
    play = Play()
    session = play.begin(3 * HOUR)
    play.turn(turn).work(SETTLE_S + 10)
    play.wrong_s = 0
    play.off(HOUR).work(SETTLE_S + 10)
    assert play.left_s(session) == pytest.approx(play.really_left_s(session))
    assert play.shown_wrong_s == pytest.approx(0)


def test_a_machine_that_is_started_again_before_that_is_known_has_been_off_all_the_time() -> None:
    play = Play()
    session = play.begin(WEEK)
    play.work(60).off(WEEK).work(60).off(5)
    play.work(SETTLE_S)
    assert play.left_s(session) == pytest.approx(play.really_left_s(session))


def test_a_machine_that_was_put_back_is_another_boot() -> None:
    play = Play()
    session = play.begin(WEEK)
    play.work(HOUR)
    play.booted_s += HOUR - 10  # the same name, and ten seconds since its start
    assert not is_of(play.mark, play.reading)
    play.work(60)
    assert play.left_s(session) == play.really_left_s(session)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(("work", "turn", "off", "set right", "begin")),
        st.floats(-WEEK, WEEK),
        st.floats(1, 5000),
    ),
    max_size=25,
)


@given(ACTIONS)
def test_nothing_is_ever_taken_for_older_than_it_is(actions: list[tuple[str, float, float]]) -> None:
    """Only a clock that is turned while nothing runs is taken for time in which the machine was off."""
    play = Play()
    play.begin(WEEK)
    for action, turn, seconds in actions:
        before = play.mark.counted_s
        if action == "work":
            play.work(seconds)
        elif action == "turn":
            play.turn(turn)
        elif action == "off":
            play.off(seconds)
        elif action == "begin":
            play.begin(seconds)
        else:
            play.turn(-play.wrong_s)
        assert play.mark.counted_s >= before
        assert all(
            play.left_s(each) >= play.really_left_s(each) - (NEAR_S + LOOK_S + TICK_S) * play.boot
            for each in play.open
        )


def test_a_process_of_another_boot_has_the_same_time_of_day_and_never_counts_less() -> None:
    ours = Play().work(HOUR)
    theirs = taken_up(ours.mark, Reading(ours.reading.clock_s, 7.0, "boot 2"))
    assert (theirs.counted_s, theirs.was_off) == (ours.mark.counted_s, False)
    ours.turn(WEEK).work(SETTLE_S)
    mine = theirs.after(7.0 + SETTLE_S)
    there = Reading(ours.reading.clock_s, 7.0 + SETTLE_S, "boot 2")
    both = joined(mine, ours.mark, there)
    assert (both.now_s, both.boot) == (ours.mark.now_s, "boot 2")
    assert both.counted_s == ours.mark.counted_s
    assert joined(theirs, ours.mark, there).counted_s == ours.mark.counted_s


def test_one_that_was_off_goes_on_by_who_was_there_all_the_time() -> None:
    ours = Play().work(60)
    alone = taken_up(ours.mark, Reading(ours.reading.clock_s + WEEK, 7.0, "boot 2"))
    assert alone.was_off
    ours.work(HOUR)
    both = joined(alone, ours.mark, Reading(ours.reading.clock_s, 9.0, "boot 2"))
    assert (both.counted_s, both.was_off) == (ours.mark.counted_s, False)
    assert joined(both, alone, Reading(0, 9.0, "boot 2")) == both


def test_where_a_boot_has_no_name_the_clock_is_all_there_is() -> None:
    mark = begun(Reading(EPOCH, 5, "process a", named=False))
    later = taken_up(mark, Reading(EPOCH + WEEK, 3, "process b", named=False))
    assert (later.counted_s - mark.counted_s, later.was_off) == (WEEK, False)
