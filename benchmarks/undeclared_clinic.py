"""A clinic: methods over appointments and patients; times, dataclasses, enums, generators, None."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from benchmarks.undeclared_model import World

NOW = datetime(2026, 3, 2, 8, 0)
NAN = float("nan")


class Doctor(Enum):
    """Who works here."""

    LIND = "Dr. Lind"
    OKAFOR = "Dr. Okafor"


class Status(Enum):
    """How an appointment stands."""

    BOOKED = "booked"
    ARRIVED = "arrived"
    CANCELLED = "cancelled"


@dataclass
class Appointment:
    """A time that somebody has."""

    id: str
    patient: str
    doctor: Doctor
    start: datetime
    status: Status = Status.BOOKED
    note: str | None = None


@dataclass
class Patient:
    """Somebody who comes."""

    name: str
    born: date
    phone: str | None
    weights: dict[date, float]
    owes: Decimal
    last_visit: datetime | None = None


def _at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute)


class Clinic:
    """The clinic on a Monday morning, before it opens."""

    def __init__(self) -> None:
        self._appointments = {
            each.id: each
            for each in (
                Appointment("A1", "Mara Voss", Doctor.LIND, _at(2, 9)),
                Appointment("A2", "Tom Reyes", Doctor.LIND, _at(2, 9, 30), note="brings his X-ray"),
                Appointment("A3", "Ines Duarte", Doctor.OKAFOR, _at(2, 10)),
                Appointment("A4", "Mara Voss", Doctor.OKAFOR, _at(4, 11)),
                Appointment("A5", "Karl Brandt", Doctor.LIND, _at(3, 15)),
            )
        }
        weights = {date(2025, 9, 1): 81.5, date(2025, 12, 1): NAN, date(2026, 2, 2): 79.25}
        self._patients = {
            each.name: each
            for each in (
                Patient("Mara Voss", date(1984, 5, 9), "555-0101", weights, Decimal("42.50"), _at(1, 9)),
                Patient("Tom Reyes", date(1971, 1, 30), None, {}, Decimal("0.00")),
                Patient("Ines Duarte", date(2001, 11, 3), "555-0144", {}, Decimal("19.90")),
                Patient("Karl Brandt", date(1950, 7, 21), "555-0199", {}, Decimal("120.00")),
            )
        }
        self._waiting: deque[tuple[str, str]] = deque([("Ana Ruiz", "knee")])
        self._sent: list[str] = []
        self._prescriptions: list[str] = []

    def appointments_on(self, day: date) -> list[Appointment]:
        """The appointments of a day, the earliest first."""
        found = [each for each in self._appointments.values() if each.start.date() == day]
        return sorted(found, key=lambda each: each.start)

    def get_appointment(self, appointment_id: str) -> Appointment | None:
        """One appointment by its id, if there is one."""
        return self._appointments.get(appointment_id)

    def free_slots(self, doctor: Doctor, day: date) -> Iterator[datetime]:
        """Half hours in which a doctor is free between nine and noon."""
        taken = {a.start for a in self._appointments.values() if a.doctor is doctor}
        for half in range(6):
            slot = datetime.combine(day, time(9)) + timedelta(minutes=30 * half)
            if slot not in taken:
                yield slot

    def find_patient(self, name: str) -> Patient | None:
        """Look a patient up by name."""
        return next((each for each in self._patients.values() if name.lower() in each.name.lower()), None)

    def patients_of(self, doctor: Doctor) -> set[str]:
        """Names of those who see a doctor."""
        return {each.patient for each in self._appointments.values() if each.doctor is doctor}

    def list_doctors(self) -> list[Doctor]:
        """Who works at the clinic."""
        return list(Doctor)

    def opening_hours(self, day: date) -> tuple[time, time] | None:
        """When the clinic opens and closes; None on a day off."""
        return None if day.weekday() > 4 else (time(9), time(17, 30))

    def waiting_list(self) -> deque[tuple[str, str]]:
        """Who waits for a time, and what for."""
        return self._waiting

    def last_visit(self, patient: str) -> datetime | None:
        """When a patient was here last."""
        return self._patients[patient].last_visit

    def time_until(self, appointment_id: str) -> timedelta:
        """How long it is until an appointment."""
        return self._appointments[appointment_id].start - NOW

    def amount_owed(self, patient: str) -> Decimal:
        """What a patient has not paid yet."""
        return self._patients[patient].owes

    def weight_history(self, patient: str) -> dict[date, float]:
        """Weights of a patient by day, in kilograms."""
        return self._patients[patient].weights

    def book_appointment(self, patient: str, doctor: Doctor, start: datetime) -> Appointment:
        """Give a patient a time."""
        new = Appointment(f"A{len(self._appointments) + 1}", patient, doctor, start)
        self._appointments[new.id] = new
        return new

    def move_appointment(self, appointment_id: str, start: datetime) -> Appointment:
        """Move an appointment to another time."""
        self._appointments[appointment_id].start = start
        return self._appointments[appointment_id]

    def cancel_appointment(self, appointment_id: str) -> None:
        """Call an appointment off."""
        self._appointments[appointment_id].status = Status.CANCELLED

    def check_in(self, appointment_id: str) -> datetime:
        """Mark that a patient has arrived."""
        self._appointments[appointment_id].status = Status.ARRIVED
        return NOW

    def add_note(self, appointment_id: str, text: str) -> Appointment:
        """Write a note on an appointment."""
        self._appointments[appointment_id].note = text
        return self._appointments[appointment_id]

    def join_waiting_list(self, patient: str, reason: str) -> int:
        """Put a patient on the waiting list, and return their place."""
        self._waiting.append((patient, reason))
        return len(self._waiting)

    def send_reminder(self, appointment_id: str) -> bool:
        """Text the patient of an appointment when it is."""
        self._sent.append(f"reminder {appointment_id}")
        return True

    def register_patient(self, name: str, born: date, phone: str | None = None) -> Patient:
        """Open a file for somebody new."""
        self._patients[name] = Patient(name, born, phone, {}, Decimal(0))
        return self._patients[name]

    def change_phone(self, patient: str, phone: str) -> None:
        """Write down another phone number."""
        self._patients[patient].phone = phone

    def take_payment(self, patient: str, amount: Decimal) -> Decimal:
        """Book what a patient pays, and return what is left."""
        self._patients[patient].owes -= amount
        return self._patients[patient].owes

    def prescribe(self, patient: str, medicine: str, days: int) -> str:
        """Write a prescription."""
        self._prescriptions.append(f"{patient}: {medicine} for {days} days")
        return self._prescriptions[-1]

    def state(self) -> dict[str, Any]:
        """All that is kept here."""
        patients = {name: f"{p.born} {p.phone} owes {p.owes}" for name, p in self._patients.items()}
        kept: dict[str, Any] = {
            "appointments": {id_: asdict(each) for id_, each in self._appointments.items()},
            "patients": patients,
            "waiting": dict(enumerate(self._waiting)),
            "sent": dict(enumerate(self._sent)),
            "prescriptions": dict(enumerate(self._prescriptions)),
        }
        return kept


READS = frozenset(
    "appointments_on get_appointment free_slots find_patient patients_of list_doctors opening_hours"
    " waiting_list last_visit time_until amount_owed weight_history".split()
)


def clinic() -> World:
    """Open the clinic."""
    place = Clinic()
    tools = [getattr(place, name) for name in vars(Clinic) if not name.startswith("_") and name != "state"]
    return World("clinic", tools, READS, place.state)
