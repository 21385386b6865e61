"""Twenty requests to a library, and the words in which a model searches for each tool."""

from __future__ import annotations

from benchmarks.undeclared_model import From, Task, asked, call, task

WANTED = {
    "search_books": "find books by title or author",
    "get_book": "look up a book by its number",
    "overdue_books": "books that are late",
    "find_member": "look up a member by name",
    "loans_of": "books a member has borrowed",
    "authors": "all authors",
    "ratings": "ratings of books",
    "holds_on": "who is waiting for a book",
    "fines_of": "what a member owes",
    "loan_period": "how long may a book be kept",
    "shelf_map": "plan of a shelf",
    "count_by_shelf": "number of books on each shelf",
    "lend_book": "lend a book to a member",
    "take_back": "return a book",
    "extend_loan": "renew a loan",
    "place_hold": "reserve a book",
    "drop_hold": "cancel a reservation",
    "add_books": "create books in the catalogue",
    "withdraw_book": "delete a book from the catalogue",
    "enrol_member": "create a new member",
    "waive_fines": "cancel the fines of a member",
    "write_to": "send a letter to a member",
    "reshelve": "move a book to another shelf",
}
TASKS: tuple[Task, ...] = (
    task(
        "Haben wir etwas von Carl Sagan?", call("search_books", text="sagan"), told=["Cosmos", "2026-02-20"]
    ),
    task("What is overdue?", call("overdue_books"), told=['"due":"2026-02-20"']),
    task(
        "Welche Bücher hat Nora zu Hause, und was schuldet sie?",
        call("find_member", name="nora"),
        [call("loans_of", member=From(0, "name")), call("fines_of", member=From(0, "name"))],
        told=['["Cosmos"]', '["Nora Falk",3.5]'],
    ),
    task("How are our books rated?", call("ratings"), told=['"2":null', '"3":4.9']),
    task(
        "How long can one keep a children's book, and where's the plan of that shelf?",
        [call("loan_period", shelf="children"), call("shelf_map", shelf="children")],
        told=["P14D", "plans/children.svg"],
    ),
    task("Is there a book with the number 9?", call("get_book", number=9), told=["null"]),
    task(
        "Leih Hugo bitte das Buch Momo aus, für zwei Wochen",
        call("search_books", text="Momo", shelf="children"),
        call("lend_book", number=From(0, "0.number"), member="Hugo Lenz", days=14),
        end={"books.3.lent_to": "Hugo Lenz", "books.3.due": "2026-03-16"},
    ),
    task(
        "Nora has brought Cosmos back",
        call("take_back", number=2),
        end={"books.2.lent_to": "None", "books.2.due": "None"},
    ),
    task(
        "Would you let Pia keep Jim Knopf until the end of March?",
        call("search_books", text="Jim Knopf"),
        call("extend_loan", number=From(0, "0.number"), until="2026-03-31"),
        end={"books.5.due": "2026-03-31"},
        told=["2026-03-31"],
    ),
    task(
        "Is Cosmos free? If not, reserve it for Pia",
        call("get_book", number=2),
        call("place_hold", number=2, member="Pia Roth"),
        end={"holds.2": "['Hugo Lenz', 'Pia Roth']"},
        told=["2"],
    ),
    task(
        "Do the catalogue entries for Dune by Frank Herbert and Emil by Erich Kästner, the second for"
        " children",
        call(
            "add_books",
            entries=[
                {"title": "Dune", "author": "Frank Herbert"},
                {"title": "Emil", "author": "Erich Kästner", "shelf": "children"},
            ],
        ),
        end={
            **{
                f"books.6.{k}": v
                for k, v in {
                    "number": "6",
                    "title": "Dune",
                    "author": "Frank Herbert",
                    "shelf": "fiction",
                    "rating": "None",
                    "lent_to": "None",
                    "due": "None",
                }.items()
            },
            **{
                f"books.7.{k}": v
                for k, v in {
                    "number": "7",
                    "title": "Emil",
                    "author": "Erich Kästner",
                    "shelf": "children",
                    "rating": "None",
                    "lent_to": "None",
                    "due": "None",
                }.items()
            },
        },
        told=["[6,7]"],
    ),
    task(
        "Have Hugo's fines waived",
        call("waive_fines", member="Hugo Lenz"),
        end={"members.Hugo Lenz.fines": "0.0"},
        told=["12.25"],
    ),
    task(
        "yes please",
        call("drop_hold", number=2, member="Hugo Lenz"),
        after=asked(
            "Who waits for Cosmos?",
            call("holds_on", number=2),
            answer="Only Hugo Lenz. Do you want me to strike him off?",
        ),
        end={"holds.2": None},
    ),
    task(
        "Gerne!",
        call("write_to", member="Nora Falk", text="Cosmos is overdue since 20 February."),
        after=asked(
            "Welche Bücher sind überfällig?",
            call("overdue_books"),
            answer="Nur Cosmos, bei Nora Falk. Soll ich ihr schreiben?",
        ),
        end={"letters.0": "Nora Falk: Cosmos is overdue since 20 February."},
    ),
    task(
        "Jim Knopf belongs with the children's books",
        call("search_books", text="jim knopf"),
        call("reshelve", number=From(0, "0.number"), shelf="children"),
        end={"books.5.shelf": "children"},
    ),
    task(
        "¿Cuántos libros hay en cada estante y de qué autores?",
        [call("count_by_shelf"), call("authors")],
        told=['"children":1', '"fiction":3', "Banana Yoshimoto"],
    ),
    task(
        "Lend Cosmos to Pia Roth",
        call("lend_book", number=2, member="Pia Roth"),
        told=["Cosmos is lent to Nora Falk until 2026-02-20"],
        raises=True,
    ),
    task(
        "First enrol Uwe Stein, then lend him The Lake, and finally write him that it is due in four weeks",
        call("enrol_member", name="Uwe Stein"),
        call("lend_book", number=1, member=From(0, "name")),
        call("write_to", member=From(0, "name"), text="It is due in four weeks."),
        end={
            "members.Uwe Stein.card": "e3a5fc35-8939-5212-b219-03acd3bd5cf0",
            "members.Uwe Stein.name": "Uwe Stein",
            "members.Uwe Stein.mail": "None",
            "members.Uwe Stein.fines": "0.0",
            "books.1.lent_to": "Uwe Stein",
            "books.1.due": "2026-03-30",
            "letters.0": "Uwe Stein: It is due in four weeks.",
        },
    ),
    task(
        "Look up number 4, then take it out of the catalogue, and after that list how many are left on each"
        " shelf",
        call("get_book", number=4),
        call("withdraw_book", number=From(0, "number")),
        call("count_by_shelf"),
        end=dict.fromkeys(
            f"books.4.{name}" for name in ("number", "title", "author", "shelf", "rating", "lent_to", "due")
        ),
        told=['"fiction":2'],
    ),
    task(
        "Schick Hugo und Nora je eine Erinnerung an ihre Gebühren",
        [call("fines_of", member="Hugo Lenz"), call("fines_of", member="Nora Falk")],
        [
            call("write_to", member="Hugo Lenz", text="12.25"),
            call("write_to", member="Nora Falk", text="3.50"),
        ],
        end={"letters.0": "Hugo Lenz: 12.25", "letters.1": "Nora Falk: 3.50"},
    ),
)
