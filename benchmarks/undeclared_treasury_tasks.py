"""Twenty requests to a treasurer, and the words in which a model searches for each tool."""

from __future__ import annotations

from benchmarks.undeclared_model import From, Task, asked, call, task

WANTED = {
    "balance": "how much money is there",
    "bookings_in": "bookings of a month",
    "booking": "look up a booking",
    "unpaid_fees": "who has not paid",
    "fee_of": "what does a member pay",
    "ledger_table": "table of the ledger by month",
    "bookings_by_kind": "number of bookings of each kind",
    "biggest_gift": "largest donation",
    "receipt": "picture of a receipt",
    "account_number": "number of the bank account",
    "settings_of_club": "name and currency of the club",
    "treasurer": "who looks after the money",
    "closed_months": "which months are closed",
    "book_payment": "record a payment",
    "reverse_booking": "cancel a booking",
    "change_fee": "update the fee of a member",
    "remove_member": "delete a member",
    "close_month": "close a month",
    "send_reminders": "remind members of their fee",
    "send_statement": "mail a statement",
    "attach_receipt": "store a receipt for a booking",
}
TASKS: tuple[Task, ...] = (
    task("How much money do we have?", call("balance"), told=["259.50", "13.37", "2026-03-02"]),
    task(
        "Wer hat den Beitrag noch nicht bezahlt?",
        call("unpaid_fees"),
        told=['[["Eva Sorge","60.00"],["Leo Katz","30.50"]]'],
    ),
    task("What was booked in February?", call("bookings_in", month="2026-02"), told=["-150.25", '"gift"']),
    task("Show me the year by month and kind", call("ledger_table"), told=["null", "-150.25"]),
    task(
        "What's our account number, and who is the treasurer?",
        [call("account_number"), call("treasurer")],
        told=["1000000000000000000000000000007", "Olga Prinz"],
    ),
    task(
        "Which kinds of bookings do we have, and who gave most?",
        [call("bookings_by_kind"), call("biggest_gift")],
        told=['"rent":2', "Eva Sorge"],
    ),
    task("Zeig mir den Beleg zu Buchung 2", call("receipt", number=2)),
    task(
        "Since when does the club exist, and in what currency do we count?",
        call("settings_of_club"),
        told=["1921-05-01", "EUR", "Chess club"],
    ),
    task("Is there a booking 12?", call("booking", number=12), told=["none"]),
    task(
        "Leo has paid his 30.50 today",
        call("fee_of", member="Leo Katz"),
        call("book_payment", who="Leo Katz", amount=From(0), kind="fee"),
        end={"bookings.5": "2026-03-02 Leo Katz 30.50 fee"},
        told=['"30.50"'],
    ),
    task(
        "Could you reverse booking 4? It was entered twice",
        call("booking", number=4),
        call("reverse_booking", number=4),
        end={"bookings.5": "2026-03-02 Town hall 150.25 rent"},
        told=['"150.25"'],
    ),
    task(
        "Setz den Beitrag von Eva bitte auf 75 Euro",
        call("change_fee", member="Eva Sorge", amount="75.00"),
        end={"fees.Eva Sorge": "75.00"},
    ),
    task(
        "Book the rent of January, 150.25, once more on the 31st",
        call("book_payment", who="Town hall", amount="-150.25", kind="rent", day="2026-01-31"),
        told=["2026-01 is closed"],
        raises=True,
    ),
    task(
        "Do the reminders for everybody who owes us",
        call("unpaid_fees"),
        call(
            "send_reminders",
            reminders=[
                {"member": "Eva Sorge", "amount": "60.00"},
                {"member": "Leo Katz", "amount": "30.50", "level": 2},
            ],
        ),
        end={"sent.0": "Eva Sorge: 60.00 (1)", "sent.1": "Leo Katz: 30.50 (2)"},
    ),
    task(
        "Ja, mach das",
        call("close_month", month="2026-02"),
        after=asked(
            "Ist der Februar schon abgeschlossen?",
            call("closed_months"),
            answer="Nein, nur der Januar. Soll ich ihn abschließen?",
        ),
        end={"closed.2026-02": "True"},
    ),
    task(
        "yep",
        call("remove_member", member="Leo Katz"),
        after=asked(
            "What does Leo Katz pay?",
            call("fee_of", member="Leo Katz"),
            answer="30.50 a year. You said he has left: shall I strike him off?",
        ),
        end={"fees.Leo Katz": None},
    ),
    task(
        "Mándale a Olga el extracto de febrero",
        call("treasurer"),
        call("send_statement", month="2026-02", to=From(0, "name")),
        end={"sent.0": "statement 2026-02 to Olga Prinz"},
    ),
    task(
        "Keep this receipt for booking 3: 'paid, thanks'",
        call("attach_receipt", number=3, picture="paid, thanks"),
        end={"receipts.3": "12"},
    ),
    task(
        "First list what was booked in February, then reverse number 4 of it, and finally close the month of"
        " February",
        call("bookings_in", month="2026-02"),
        call("reverse_booking", number=From(0, "1.number")),
        call("close_month", month="2026-02"),
        end={"bookings.5": "2026-03-02 Town hall 150.25 rent", "closed.2026-02": "True"},
    ),
    task(
        "Look up who has not paid, then remind the first of them, and after that send the statement of"
        " February to Ben",
        call("unpaid_fees"),
        call("send_reminders", reminders=[{"member": "Eva Sorge", "amount": "60.00"}]),
        call("send_statement", month="2026-02", to="Ben Adler"),
        end={"sent.0": "Eva Sorge: 60.00 (1)", "sent.1": "statement 2026-02 to Ben Adler"},
    ),
)
