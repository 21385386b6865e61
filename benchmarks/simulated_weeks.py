"""One seed of workers that keep schedules and end sessions, while clocks are a week off, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.simulated_machines import TURNS_S, Machine, WrongClock
from benchmarks.simulated_time import World, step
from benchmarks.simulated_trial import Played, drawn_from
from benchmarks.simulated_workers import Office, Process

LEAST_S, MOST_S = 6 * 3600.0, 24 * 3600.0
QUEUE_EVERY_S, LATE_LOOK_S = 1800.0, 300.0
REQUESTS = ("read", "put aside", "wipe", "wipe", "work")
STEPS = 3_000_000


def play_weeks(seed: int, folder: Path) -> Played:
    """Play one seed in a folder made for it."""
    folder.mkdir(parents=True)
    with drawn_from(seed):
        return _play(seed, folder)


def _play(seed: int, folder: Path) -> Played:
    world = World(seed)
    chance = world.chance
    on_server = chance.random() < 0.5
    machines = [Machine(world, f"host {n + 1}") for n in range(chance.randint(2, 3) if on_server else 1)]
    office = Office(world, folder, on_server, WrongClock(world), machines)
    played = Played(seed, "hosts of a server" if on_server else "processes of a machine")
    for _ in range(chance.randint(1, 3)):
        _begin(office)
    _let_run(office, played, chance.uniform(LEAST_S, MOST_S))
    ends = office.ends
    for process in office.processes:
        process.close() if process.alive else None
    ends.close()
    played.status = "as it should" if not ends.wrong else "wrong"
    played.wrong, played.seconds = ends.wrong, round(world.now, 3)
    played.workers, played.effects = len(office.processes), ends.ended
    played.counts = {
        **office.counts,
        "ended by time": ends.ended,
        **{f"{name} taken": len(taken.times) for name, taken in ends.taken.items()},
    }
    played.spans = {
        "earliest": round(ends.earliest_s, 1),
        "latest": round(ends.latest_s, 1),
        "most silent": round(ends.most_silent, 3),
    }
    played.trace = [*world.trace, *ends.wrong]
    return played


def _let_run(office: Office, played: Played, length_s: float) -> None:
    """Take steps until the time is over, while people queue sessions and clocks are turned."""
    world, chance = office.world, office.world.chance
    every(world, QUEUE_EVERY_S, length_s, lambda: _ask(office))
    every(world, LATE_LOOK_S, length_s + 1e7, office.ends.look_for_late)
    for _ in range(chance.randint(2, 9)):
        world.later(chance.uniform(0, length_s), lambda: _disturb(office))
    world.later(length_s, lambda: None)
    began = world.now
    while world.now - began < length_s:
        at_work = office.at_work
        played.steps += 1
        step(world, [process.loop for process in at_work])
        office.ends.went_by(bool(at_work))
        if played.steps > STEPS:
            office.ends.wrong.append("it does not end")
            return
        _look_after(office)


def every(world: World, seconds: float, until: float, action: Callable[[], None]) -> None:
    """Let something happen again and again, at moments that the seed draws."""

    def again() -> None:
        action()
        if world.now < until:
            world.later(world.chance.uniform(0.5, 1.5) * seconds, again)

    world.later(world.chance.uniform(0, seconds), again)


def _look_after(office: Office) -> None:
    """Note a worker that broke off: that is a finding."""
    for process in office.processes:
        if process.alive and process.work.done():
            error = process.work.exception()
            office.ends.wrong.append(f"a worker ended: {type(error).__name__}: {error}")
            process.kill()


def _ask(office: Office) -> None:
    """Let people queue a session, or answer a gate, at some process that is there."""
    chance, at_work = office.world.chance, office.at_work
    if not at_work:
        return
    if chance.random() < 0.3:
        chance.choice(at_work).answer()
    else:
        chance.choice(at_work).queue(chance.choice(REQUESTS), chance.uniform(2400, 20_000))


def _begin(office: Office) -> None:
    """Let a process begin on a machine that is on."""
    on = [machine for machine in office.machines if machine.on]
    if on:
        machine = office.world.chance.choice(on)
        office.ends.begins(machine.boot, office.on_server)
        Process(office, machine)


def _disturb(office: Office) -> None:
    """Do one thing to a clock, a machine or a process."""
    world = office.world
    chance = world.chance
    action = chance.choice(ACTIONS)
    if not office.at_work:  # a clock that is turned while nothing runs looks like time off
        action = _start_one
    world.note(f"trouble: {action.__name__.strip('_')}")
    office.count(action.__name__.strip("_").replace("_", " "))
    action(office)


def _turn(office: Office) -> float:
    chance = office.world.chance
    by_s = chance.choice(TURNS_S) if chance.random() < 0.7 else chance.uniform(-7 * 86_400, 7 * 86_400)
    office.clock.turn(by_s)
    office.ends.turned()
    return by_s


def _turn_for_a_moment(office: Office) -> None:
    by_s, left = _turn(office), office.world.chance.uniform(1, 540)

    def back() -> None:
        if office.at_work:
            office.clock.turn(-by_s)
            office.ends.turned()
        else:
            office.world.later(60, back)

    office.world.later(left, back)


def _turn_for_good(office: Office) -> None:
    _turn(office)


def _let_drift(office: Office) -> None:
    """Let the clock go fast, slow, or stand still, for some hours; then it is set right."""
    chance = office.world.chance
    office.clock.go(chance.choice((-1.0, -0.02, 0.02, 1e-4, -1e-4, 0.5)))
    office.ends.turned()

    def right() -> None:
        if office.at_work:
            office.clock.set_right()
            office.ends.turned()
        else:
            office.world.later(60, right)

    office.world.later(chance.uniform(60, 4 * 3600), right)


def _set_right(office: Office) -> None:
    office.clock.set_right()
    office.ends.turned()


def _restart(office: Office) -> None:
    """Switch a machine off, with all that runs on it, and on again after seconds, hours or days."""
    world = office.world
    machine = world.chance.choice([machine for machine in office.machines if machine.on])
    machine.on = False
    for process in office.processes:
        if process.alive and process.machine is machine:
            process.kill()

    def on() -> None:
        machine.start()
        world.later(world.chance.uniform(1, 120), lambda: _begin(office))

    world.later(world.chance.choice((20.0, 300.0, 3600.0, 20_000.0, 7 * 86_400.0)), on)


def _turn_and_restart(office: Office) -> None:
    """Switch a machine off before anybody believes the clock, or turn the clock soon after a start."""
    chance = office.world.chance
    first, then = (_turn_for_good, _restart) if chance.random() < 0.5 else (_restart, _turn_for_a_moment)
    first(office)

    def again() -> None:
        if office.at_work:
            then(office)
        else:
            office.world.later(60, again)

    office.world.later(chance.uniform(1, 700), again)


def _kill_one(office: Office) -> None:
    world = office.world
    world.chance.choice(office.at_work).kill()
    world.later(world.chance.uniform(1, 900), lambda: _begin(office))


def _pause_one(office: Office) -> None:
    """Stop a process for a while, as Ctrl-Z does."""
    world = office.world
    process = world.chance.choice(office.at_work)
    process.paused = True

    def wake() -> None:
        process.paused = False

    world.later(world.chance.uniform(1, 3600), wake)


def _start_one(office: Office) -> None:
    _begin(office)


ACTIONS: tuple[Callable[[Office], None], ...] = (
    *(_turn_for_a_moment, _turn_for_a_moment, _turn_for_good, _turn_for_good, _let_drift, _set_right),
    *(_restart, _restart, _turn_and_restart, _turn_and_restart, _kill_one, _pause_one, _start_one),
)
