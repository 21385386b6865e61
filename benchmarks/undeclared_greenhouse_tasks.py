"""Twenty requests to a greenhouse, and the words in which a model searches for each tool."""

from __future__ import annotations

from benchmarks.undeclared_model import From, Task, asked, call, task

WANTED = {
    "temperatures": "temperatures of this morning",
    "sensor_series": "readings of a sensor",
    "mean_temperature": "average temperature of a bed",
    "silent_sensors": "broken sensors",
    "correlation": "how alike do the beds warm up",
    "bed": "what grows in a bed",
    "beds": "list of all beds",
    "watch": "read a sensor hour by hour",
    "troubles": "what is wrong with a bed",
    "age_of": "how old are the plants",
    "share_of": "share of a kind of plants",
    "windows": "are the windows open",
    "alarm_limits": "limits of alarms",
    "water": "water a bed",
    "set_valve": "open the valve of a bed",
    "set_windows": "open the windows",
    "set_alarm": "change the limit of an alarm",
    "fertilize": "give fertilizer to beds",
    "plant": "add plants to a bed",
    "pull_out": "remove plants from a bed",
    "note_harvest": "record the harvest",
    "lamps_until": "switch on the lamps",
    "call_out": "notify people",
}
TASKS: tuple[Task, ...] = (
    task("How warm was it this morning?", call("temperatures"), told=["16.2", "null", "2026-03-02T06:00:00"]),
    task("¿Qué sensores no han dicho nada hoy?", call("silent_sensors"), told=['["bed_c"]']),
    task(
        "What's the average in bed c, and in bed b?",
        [call("mean_temperature", bed="c"), call("mean_temperature", bed="b")],
        told=["null", "18.25"],
    ),
    task(
        "Give me the raw readings of bed a and how the beds go together",
        [call("sensor_series", bed="a"), call("correlation")],
        told=["[18.5,17.9,null,16.2]", "columns"],
    ),
    task("Is something wrong with bed d?", call("troubles", bed="d"), told=["KeyError"], raises=True),
    task(
        "How old are the tomatoes, and what share of all plants are they?",
        [call("age_of", kind="tomato"), call("share_of", kind="tomato")],
        told=["P30D", "3/13"],
    ),
    task(
        "Read bed b for two hours",
        call("watch", bed="b"),
        told=['[["2026-03-02T06:00:00Z",19.0],["2026-03-02T07:00:00Z",null]]'],
    ),
    task(
        "Riega la albahaca diez minutos",
        call("beds"),
        call("water", bed=From(0, "b.name"), minutes=10),
        end={"log.0": "water b 10"},
        told=["PT10M"],
    ),
    task("Do the windows: half open, please", call("set_windows", level=1), end={"windows": "HALF"}),
    task(
        "Would you check which beds are dry and open the valve of bed b fully if it is?",
        [call("troubles", bed="a"), call("troubles", bed="b")],
        call("set_valve", bed="b", level=2),
        end={"beds.b.valve": "2"},
    ),
    task(
        "Have the alarm of bed a taken off",
        call("alarm_limits"),
        call("set_alarm", sensor="bed_a"),
        end={"alarms.bed_a": None},
        told=["12.0"],
    ),
    task(
        "Set one at 14.5 degrees for bed b instead of a's",
        [call("set_alarm", sensor="bed_a"), call("set_alarm", sensor="bed_b", limit=14.5)],
        end={"alarms.bed_a": None, "alarms.bed_b": "14.5"},
    ),
    task(
        "Dünge die Beete a und b mit 15 g Hornspänen",
        call("fertilize", dose={"product": "Hornspäne", "grams": 15, "beds": ["b", "a"]}),
        end={"doses.0": "Hornspäne 15 g on a", "doses.1": "Hornspäne 15 g on b"},
    ),
    task(
        "Put 20 lettuces into bed c",
        call("plant", bed="c", kind="lettuce", count=20),
        end={"beds.c.plants": "['20 lettuce 02.03.']"},
        told=["lettuce"],
    ),
    task(
        "Sí, hazlo",
        call("pull_out", bed="b", kind="basil"),
        after=asked(
            "¿Cómo está la albahaca?",
            [call("bed", name="b"), call("troubles", bed="b")],
            answer="Seca y con frío. ¿La arranco?",
        ),
        end={"beds.b.plants": "[]"},
        told=["40"],
    ),
    task(
        "Yes, both of them",
        call("call_out", names=["Ida", "Joel"], text="sensor c is silent"),
        after=asked(
            "Which sensor is silent?",
            call("silent_sensors"),
            answer="That of bed c. Should I page Ida and Joel?",
        ),
        end={"log.0": "page Ida: sensor c is silent", "log.1": "page Joel: sensor c is silent"},
    ),
    task(
        "We picked 14 tomatoes and 3 bunches of basil",
        call("note_harvest", amounts={"tomato": 14, "basil": 3}),
        end={"harvest.tomato": "14", "harvest.basil": "3"},
    ),
    task(
        "Lights on until eight tonight (UTC)",
        call("lamps_until", end="2026-03-02T20:00:00Z"),
        end={"lamps": "2026-03-02 20:00:00+00:00"},
    ),
    task(
        "First look at what is wrong with bed b, then water it for five minutes, and finally shut its valve"
        " and tell me how the windows are",
        call("troubles", bed="b"),
        call("water", bed="b", minutes=5),
        call("set_valve", bed="b", level=0),
        call("windows"),
        end={"log.0": "water b 5"},
    ),
    task(
        "Step by step: list the beds, then pull the tomatoes out of bed a, and after that plant 8 peppers"
        " there as of yesterday at seven",
        call("beds"),
        call("pull_out", bed=From(0, "a.name"), kind="tomato"),
        call("plant", bed="a", kind="pepper", count=8, planted="2026-03-01T07:00:00Z"),
        end={"beds.a.plants": "['8 pepper 01.03.']"},
    ),
)
