"""A greenhouse: methods over sensors and beds; arrays and tables with NaN, durations, flags, fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Flag, IntEnum, auto
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from benchmarks.undeclared_model import World

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
NAN = float("nan")


class Trouble(Flag):
    """What is wrong with a bed."""

    DRY = auto()
    COLD = auto()
    PESTS = auto()


class Level(IntEnum):
    """How far a valve or a window is open."""

    SHUT = 0
    HALF = 1
    FULL = 2


class Dose(BaseModel):
    """A portion of fertilizer."""

    product: str
    grams: float
    beds: set[str]


@dataclass
class Plant:
    """What grows in a bed."""

    kind: str
    planted: datetime
    count: int


@dataclass
class Bed:
    """A bed with its plants."""

    name: str
    moisture: float
    plants: list[Plant] = field(default_factory=list)
    valve: Level = Level.SHUT


class Greenhouse:
    """The greenhouse at six in the morning."""

    def __init__(self) -> None:
        self._beds = {
            "a": Bed("a", 0.31, [Plant("tomato", START - timedelta(days=30), 12)]),
            "b": Bed("b", 0.12, [Plant("basil", START - timedelta(days=12), 40)]),
            "c": Bed("c", NAN, []),
        }
        self._readings = pd.DataFrame(
            {"bed_a": [18.5, 17.9, NAN, 16.2], "bed_b": [19.0, NAN, NAN, 17.5], "bed_c": [NAN] * 4},
            index=pd.date_range(START, periods=4, freq="h", name="time"),
        )
        self._alarms: dict[str, float] = {"bed_a": 12.0}
        self._windows = Level.SHUT
        self._lamps_until: datetime | None = None
        self._log: list[str] = []
        self._doses: list[str] = []
        self._harvest: Counter[str] = Counter()

    def temperatures(self) -> pd.DataFrame:
        """Temperatures of this morning by hour and bed; NaN where a sensor was silent."""
        return self._readings

    def sensor_series(self, bed: str) -> np.ndarray[Any, Any]:
        """What the sensor of one bed has measured, as an array."""
        series: np.ndarray[Any, Any] = self._readings[f"bed_{bed}"].to_numpy()
        return series

    def mean_temperature(self, bed: str) -> np.float32:
        """Mean temperature of a bed; NaN without a reading."""
        return np.float32(self._readings[f"bed_{bed}"].mean())

    def silent_sensors(self) -> set[str]:
        """Sensors that have never said anything this morning."""
        return {str(name) for name in self._readings.columns if self._readings[name].isna().all()}

    def correlation(self) -> pd.DataFrame:
        """How alike the beds warm up."""
        return self._readings.corr()

    def bed(self, name: str) -> Bed:
        """One bed with its plants."""
        return self._beds[name]

    def beds(self) -> dict[str, Bed]:
        """All beds by name."""
        return self._beds

    def watch(self, bed: str, hours: int = 2) -> Generator[tuple[datetime, float], None, str]:
        """Read a sensor hour by hour."""
        for time, value in self._readings[f"bed_{bed}"].head(hours).items():
            yield pd.Timestamp(str(time)).to_pydatetime(), float(value)
        return "end"

    def troubles(self, bed: str) -> Trouble:
        """What is wrong with a bed."""
        found = Trouble(0)
        if self._beds[bed].moisture < 0.2:
            found |= Trouble.DRY
        if bool((self._readings[f"bed_{bed}"] < 17).any()):
            found |= Trouble.COLD
        return found

    def age_of(self, kind: str) -> timedelta:
        """How long plants of a kind have been here."""
        plants = (plant for bed in self._beds.values() for plant in bed.plants if plant.kind == kind)
        return START - next(plants).planted

    def share_of(self, kind: str) -> Fraction:
        """Which part of all plants is of a kind."""
        counts = Counter({p.kind: p.count for bed in self._beds.values() for p in bed.plants})
        return Fraction(counts[kind], counts.total())

    def windows(self) -> Level:
        """How far the windows are open."""
        return self._windows

    def alarm_limits(self) -> dict[str, float]:
        """Below which temperature an alarm is raised, by sensor."""
        return self._alarms

    def water(self, bed: str, minutes: float) -> timedelta:
        """Water a bed for so many minutes."""
        self._log.append(f"water {bed} {minutes:g}")
        return timedelta(minutes=minutes)

    def set_valve(self, bed: str, level: Level) -> Bed:
        """Open or shut the valve of a bed."""
        self._beds[bed].valve = Level(level)
        return self._beds[bed]

    def set_windows(self, level: Level) -> Level:
        """Open or shut the windows."""
        self._windows = Level(level)
        return self._windows

    def set_alarm(self, sensor: str, limit: float | None = None) -> dict[str, float]:
        """Set below which temperature a sensor raises an alarm; none takes it off."""
        self._alarms.pop(sensor, None)
        if limit is not None:
            self._alarms[sensor] = limit
        return self._alarms

    def fertilize(self, dose: Dose) -> list[str]:
        """Give a dose to some beds."""
        self._doses += [f"{dose.product} {dose.grams:g} g on {bed}" for bed in sorted(dose.beds)]
        return self._doses

    def plant(self, bed: str, kind: str, count: int, planted: datetime | None = None) -> Bed:
        """Put plants into a bed."""
        self._beds[bed].plants.append(Plant(kind, planted or START, count))
        return self._beds[bed]

    def pull_out(self, bed: str, kind: str) -> int:
        """Clear a bed of one kind of plants; returns how many there were."""
        gone = sum(plant.count for plant in self._beds[bed].plants if plant.kind == kind)
        self._beds[bed].plants = [plant for plant in self._beds[bed].plants if plant.kind != kind]
        return gone

    def note_harvest(self, amounts: dict[str, int]) -> Counter[str]:
        """Note what was picked, by kind."""
        self._harvest.update(amounts)
        return self._harvest

    def lamps_until(self, end: datetime) -> datetime:
        """Switch the lamps on until a time."""
        self._lamps_until = end
        return end

    def call_out(self, names: Iterable[str], text: str) -> None:
        """Page some people."""
        self._log += [f"page {name}: {text}" for name in names]

    def state(self) -> dict[str, Any]:
        """All that can be changed here."""
        beds = {
            name: {**asdict(bed), "plants": [f"{p.count} {p.kind} {p.planted:%d.%m.}" for p in bed.plants]}
            for name, bed in self._beds.items()
        }
        return {
            "beds": beds,
            "alarms": dict(self._alarms),
            "windows": self._windows.name,
            "lamps": self._lamps_until,
            "log": dict(enumerate(self._log)),
            "doses": dict(enumerate(self._doses)),
            "harvest": dict(self._harvest),
        }


READS = frozenset(
    "temperatures sensor_series mean_temperature silent_sensors correlation bed beds watch troubles age_of"
    " share_of windows alarm_limits".split()
)


def greenhouse() -> World:
    """Open the greenhouse."""
    place = Greenhouse()
    tools = [
        getattr(place, name) for name in vars(Greenhouse) if not name.startswith("_") and name != "state"
    ]
    return World("greenhouse", tools, READS, place.state)
