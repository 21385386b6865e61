"""Twenty requests to a warehouse, and the words in which a model searches for each tool."""

from __future__ import annotations

from benchmarks.undeclared_model import From, Task, asked, call, task

WANTED = {
    "list_items": "table of the whole stock",
    "show_item": "show an item",
    "search_items": "find items by name",
    "stock_count": "how many of an item are there",
    "unit_price": "what does an item cost",
    "last_counted": "when was an item counted",
    "never_counted": "items that were never counted",
    "value_by_bay": "value of the stock by bay",
    "price_statistics": "average of the prices",
    "open_orders": "orders not shipped yet",
    "get_order": "look up an order",
    "shortages": "items that are short",
    "pick_list": "items to pick in a bay",
    "add_stock": "put goods on the shelf",
    "remove_stock": "take goods off the shelf",
    "set_price": "change a price",
    "move_item": "move item to a bay",
    "record_count": "record a count of an item",
    "add_item": "create a new item",
    "discontinue_item": "delete an item",
    "ship_order": "ship an order",
    "cancel_order": "delete an order",
    "reorder": "order more from the supplier",
}
TASKS: tuple[Task, ...] = (
    task(
        "What do we have in stock right now?",
        call("list_items"),
        told=["0.75", "null", "2026-02-14T00:00:00"],
    ),
    task("How many copper wires are left?", call("stock_count", sku="C-20"), told=["0"]),
    task(
        "Was kostet das Epoxidharz, und wann wurde es zuletzt gezählt?",
        [call("unit_price", sku="E-40"), call("last_counted", sku="E-40")],
        told=["null"],
    ),
    task("Which items have never been counted?", call("never_counted"), told=["Felt pad", "Epoxy resin"]),
    task("Anything with 'hinge' in its name?", call("search_items", text="hinge"), told=["D-30"]),
    task(
        "What's each bay worth, and what does the average item cost?",
        [call("value_by_bay"), call("price_statistics")],
        told=["222.0", "7.48"],
    ),
    task(
        "Do the weekly count of felt pads: there are 38",
        call("record_count", sku="F-50", quantity=38),
        end={"items.F-50.count": "38", "items.F-50.counted": "2026-03-02 00:00:00"},
        told=["2026-03-02T00:00:00"],
    ),
    task(
        "Could you put 20 more oak boards on the shelf?",
        call("add_stock", sku="B-10", quantity=20),
        end={"items.B-10.count": "32"},
        told=["32"],
    ),
    task(
        "Price the felt pads at 0.40",
        call("search_items", text="felt"),
        call("set_price", sku=From(0, "data.0.0"), price=0.4),
        end={"items.F-50.price": "0.4"},
    ),
    task(
        "Mach den Türscharnieren Platz: die sollen ins Nordlager",
        call("move_item", sku="D-30", bay="north"),
        end={"items.D-30.bay": "north"},
    ),
    task(
        "Why not take three boards out for the sample? Note 'sample' as the reason",
        call("remove_stock", sku="B-10", quantity=3, reason="sample"),
        end={
            "items.B-10.count": "9",
            "moves.0.sku": "B-10",
            "moves.0.quantity": "-3",
            "moves.0.reason": "sample",
        },
    ),
    task(
        "Is order 701 due tomorrow? If it is, ship it",
        call("get_order", order=701),
        call("ship_order", order=701),
        end={"orders.701.shipped": "2026-03-02 00:00:00", "items.B-10.count": "8"},
        told=["2026-03-03T00:00:00"],
    ),
    task(
        "ok do it",
        call("cancel_order", order=704),
        after=asked(
            "What is order 704, and can we serve it?",
            [call("get_order", order=704), call("stock_count", sku="E-40")],
            answer="Nine of the resin, we have seven. Shall I cancel it?",
        ),
        end=dict.fromkeys(f"orders.704.{name}" for name in ("sku", "quantity", "due", "shipped")),
    ),
    task(
        "Ja, bitte",
        call("reorder", sku="C-20", quantity=30),
        after=asked(
            "Was fehlt uns für die offenen Aufträge?",
            call("shortages"),
            answer="30 Rollen Kupferdraht. Soll ich nachbestellen?",
        ),
        end={"mails.0": "please send 30 of C-20"},
        told=["30"],
    ),
    task(
        "Have the epoxy resin taken out of our range for good",
        call("discontinue_item", sku="E-40"),
        end=dict.fromkeys(f"items.E-40.{name}" for name in ("name", "count", "price", "bay", "counted")),
        told=["4"],
    ),
    task(
        "New item: G-60, maple board, north bay, no price yet",
        call("add_item", sku="G-60", name="Maple board", bay="north"),
        end={
            "items.G-60.name": "Maple board",
            "items.G-60.count": "0",
            "items.G-60.price": "nan",
            "items.G-60.bay": "north",
            "items.G-60.counted": "NaT",
        },
    ),
    task(
        "First look up what is short, then reorder 30 of the first of it, and finally write down that we"
        " counted the wire today and found none",
        call("shortages"),
        call("reorder", sku=From(0, "0.sku"), quantity=30),
        call("record_count", sku="C-20", quantity=0),
        end={"mails.0": "please send 30 of C-20", "items.C-20.counted": "2026-03-02 00:00:00"},
    ),
    task(
        "Show me the open orders, then ship 701, and after that show me what is to be picked in the cold bay"
        " step by step",
        call("open_orders"),
        call("ship_order", order=701),
        call("pick_list", bay="cold"),
        end={"orders.701.shipped": "2026-03-02 00:00:00", "items.B-10.count": "8"},
        told=["E-40"],
    ),
    task("¿Qué hay que recoger en la nave norte?", call("pick_list", bay="north"), told=['["B-10","C-20"]']),
    task(
        "Tell me all about D-30 and what the stock in it is worth",
        [call("show_item", sku="D-30"), call("value_by_bay")],
        told=["Door hinge", "187.5"],
    ),
)
