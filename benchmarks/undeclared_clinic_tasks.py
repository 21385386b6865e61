"""Twenty requests to a clinic, and the words in which a model searches for each tool."""

from __future__ import annotations

from benchmarks.undeclared_model import From, Task, asked, call, task

WANTED = {
    "appointments_on": "appointments of a day",
    "get_appointment": "look up an appointment by id",
    "free_slots": "free times of a doctor",
    "find_patient": "find patient by name",
    "patients_of": "patients of a doctor",
    "list_doctors": "list of doctors",
    "opening_hours": "opening hours",
    "waiting_list": "who is on the waiting list",
    "last_visit": "when was the last visit of a patient",
    "time_until": "time until an appointment",
    "amount_owed": "unpaid bill of a patient",
    "weight_history": "weights of a patient",
    "book_appointment": "book an appointment",
    "move_appointment": "reschedule appointment",
    "cancel_appointment": "delete appointment",
    "check_in": "mark a patient as arrived",
    "add_note": "write a note on an appointment",
    "join_waiting_list": "add to waiting list",
    "send_reminder": "remind a patient",
    "register_patient": "create a new patient",
    "change_phone": "update the phone number",
    "take_payment": "record a payment",
    "prescribe": "write a prescription",
}
MONDAY, TUESDAY = "2026-03-02", "2026-03-03"
LIND, OKAFOR = "Dr. Lind", "Dr. Okafor"
TASKS: tuple[Task, ...] = (
    task(
        "Who comes in today, the 2nd of March?",
        call("appointments_on", day=MONDAY),
        told=["2026-03-02T09:30:00", "booked"],
    ),
    task(
        "When is Dr. Lind free tomorrow morning?",
        call("free_slots", doctor=LIND, day=TUESDAY),
        told=["2026-03-03T09:00:00", "2026-03-03T11:30:00"],
    ),
    task("Is there an appointment A9?", call("get_appointment", appointment_id="A9"), told=["null"]),
    task(
        "How has Mara's weight changed since September?",
        call("find_patient", name="mara"),
        call("weight_history", patient=From(0, "name")),
        told=['"2025-12-01":null', "79.25"],
    ),
    task(
        "What does Karl Brandt still owe us, and when was he here last?",
        [call("amount_owed", patient="Karl Brandt"), call("last_visit", patient="Karl Brandt")],
        told=["120.00", "null"],
    ),
    task(
        "Check Mara in for her nine o'clock, please",
        call("appointments_on", day=MONDAY),
        call("check_in", appointment_id=From(0, "0.id")),
        end={"appointments.A1.status": "Status.ARRIVED"},
    ),
    task(
        "Can you move Karl's appointment to Thursday the 5th at ten?",
        call("move_appointment", appointment_id="A5", start="2026-03-05T10:00"),
        end={"appointments.A5.start": "2026-03-05 10:00:00"},
        told=["2026-03-05T10:00:00"],
    ),
    task(
        "Sag bitte den Termin A3 von Frau Duarte ab",
        call("cancel_appointment", appointment_id="A3"),
        end={"appointments.A3.status": "Status.CANCELLED"},
    ),
    task(
        "Do the reminders for Tuesday",
        call("appointments_on", day=TUESDAY),
        call("send_reminder", appointment_id=From(0, "0.id")),
        end={"sent.0": "reminder A5"},
    ),
    task(
        "Could you book Ines with Dr. Lind in his first free slot tomorrow?",
        call("free_slots", doctor=LIND, day=TUESDAY),
        call("book_appointment", patient="Ines Duarte", doctor=LIND, start=From(0, "0")),
        end={
            "appointments.A6.id": "A6",
            "appointments.A6.patient": "Ines Duarte",
            "appointments.A6.doctor": "Doctor.LIND",
            "appointments.A6.start": "2026-03-03 09:00:00",
            "appointments.A6.status": "Status.BOOKED",
            "appointments.A6.note": "None",
        },
        told=["Dr. Lind", "2026-03-03T09:00:00"],
    ),
    task(
        "Have Mara put on the waiting list for a blood test",
        call("join_waiting_list", patient="Mara Voss", reason="blood test"),
        end={"waiting.1": "('Mara Voss', 'blood test')"},
        told=["2"],
    ),
    task(
        "yes",
        call("cancel_appointment", appointment_id="A2"),
        after=asked(
            "Tom called: he can't make it today. Which one is his?",
            call("appointments_on", day=MONDAY),
            answer="It is A2, at 9:30. Shall I cancel it?",
        ),
        end={"appointments.A2.status": "Status.CANCELLED"},
    ),
    task(
        "Sure, go ahead",
        call("send_reminder", appointment_id="A4"),
        after=asked(
            "How long is it until A4?",
            call("time_until", appointment_id="A4"),
            answer="Two days and three hours. Should I send her a reminder?",
        ),
        end={"sent.0": "reminder A4"},
        told=["P2DT3H"],
    ),
    task("Wer ist auf der Warteliste?", call("waiting_list"), told=['[["Ana Ruiz","knee"]]']),
    task(
        "Mara's new number is 555-0177, would you note that down?",
        call("change_phone", patient="Mara Voss", phone="555-0177"),
        end={"patients.Mara Voss": "1984-05-09 555-0177 owes 42.50"},
    ),
    task(
        "¿Está abierta la clínica el domingo 8 de marzo?",
        call("opening_hours", day="2026-03-08"),
        told=["null"],
    ),
    task(
        "First find Ines, then take the 19.90 she owes, and finally note on A3 that she has paid",
        call("find_patient", name="Ines"),
        call("take_payment", patient=From(0, "name"), amount=From(0, "owes")),
        call("add_note", appointment_id="A3", text="has paid"),
        end={"patients.Ines Duarte": "2001-11-03 555-0144 owes 0.00", "appointments.A3.note": "has paid"},
    ),
    task(
        "Register Ana Ruiz, born 4 June 1990, then book her with Dr. Okafor on Wednesday at nine, and after"
        " that remind her",
        call("register_patient", name="Ana Ruiz", born="1990-06-04"),
        call("book_appointment", patient=From(0, "name"), doctor=OKAFOR, start="2026-03-04T09:00"),
        call("send_reminder", appointment_id=From(1, "id")),
        end={
            "patients.Ana Ruiz": "1990-06-04 None owes 0",
            "sent.0": "reminder A6",
            "appointments.A6.id": "A6",
            "appointments.A6.patient": "Ana Ruiz",
            "appointments.A6.doctor": "Doctor.OKAFOR",
            "appointments.A6.start": "2026-03-04 09:00:00",
            "appointments.A6.status": "Status.BOOKED",
            "appointments.A6.note": "None",
        },
    ),
    task(
        "Who are our doctors, and which patients see Dr. Okafor?",
        [call("list_doctors"), call("patients_of", doctor=OKAFOR)],
        told=['["Dr. Lind","Dr. Okafor"]', '["Ines Duarte","Mara Voss"]'],
    ),
    task(
        "Rezept für Karl Brandt: Ibuprofen, fünf Tage",
        call("prescribe", patient="Karl Brandt", medicine="Ibuprofen", days=5),
        end={"prescriptions.0": "Karl Brandt: Ibuprofen for 5 days"},
    ),
)
