"""The embedded planner talks: greetings, thanks, and what it can do, without a plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|greetings|yo|servus|moin)(?: (?:there|planwright|again|all|everyone|you))*",
    re.IGNORECASE,
)
_HOW_ARE_YOU = re.compile(
    r"(?:so )?(?:how are you(?: doing| today| feeling)*|how(?:['’]s| is) it going|how do you do|what['’]?s up|are you (?:there|awake|ok|okay|alive|online|ready))",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:many |ok |okay |great |perfect |cool )?(?:thanks|thank you|thx|cheers|ta)(?: (?:a lot|so much|very much|again|for (?:your|the) help|planwright|a bunch|mate))*"
    r"|(?:that (?:was|is)|that['’]s|very|well|good|great|nice|perfect|excellent|awesome|brilliant|lovely|cool)(?: (?:great|good|perfect|all|helpful|nice|job|work|done|it|useful|really))*"
    r"|bye|goodbye|good night|see you(?: later| tomorrow)?|ok|okay|never ?mind|no(?: that['’]s all)?)",
    re.IGNORECASE,
)
_ABILITIES = re.compile(
    r"(?:(?:so |and )?what (?:all )?(?:can|could|do) (?:you|i|planwright)(?: actually| even| all)?(?: do| ask(?: you)?| help(?: me)? with| able to do| know| offer)?(?: for me| here| today| with (?:you|this)| exactly)*"
    r"|what (?:are|is) (?:you|your|planwright)(?: capabilities| skills| abilities| able to do| capable of| good (?:at|for))?|what (?:is|are) (?:your|the) (?:capabilities|skills|abilities|commands|features|tools|limits)"
    r"|who (?:are|is) (?:you|planwright|this|i talking to)|(?:can|could) you help(?: me)?|help(?: me)?|how (?:do|can|does) (?:i use )?(?:you|this|planwright)(?: work| help me| help)?"
    r"|what(?:['’]s| is) your name|are you (?:a |an )?(?:bot|robot|human|person|ai|real|llm|language model|machine)(?: or (?:a |an )?\w+)?|which (?:tools|capabilities) do you have|(?:introduce|tell me about) yourself)",
    re.IGNORECASE,
)

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "mail": ("search my mail for invoice", "find mails from Mara", "list my last three mails"),
    "tickets": ("list the open tickets", "show closed tickets", 'open a ticket titled "Broken printer"'),
    "calendar": ("what is in my calendar tomorrow?", "show my meetings this week", "meetings on 2026-12-01"),
    "files": ("list the files in notes", "read notes/roadmap.md", 'which notes mention "budget"?'),
    "channel": ('post "Back at two" to the team channel',),
    "memory": ("remember that the door code is 4711", "what do you remember about the door code?"),
    "datetime": ("what time is it in Berlin?",),
}
_NEEDS = {
    "mail": ("mail.search",),
    "tickets": ("tickets.list", "tickets.create"),
    "calendar": ("calendar.list",),
    "files": ("files.list", "files.read", "files.search"),
    "channel": ("channel.post",),
    "memory": ("memory.write", "memory.search"),
    "datetime": ("datetime.now",),
}
_DOMAIN_OF = {
    "mail": r"mails?|e-?mails?|inbox|mailbox|invoices?",
    "tickets": r"tickets?|issues?|bugs?",
    "calendar": r"calendar|meetings?|appointments?|agenda|events?",
    "files": r"files?|notes?|folders?|documents?|\w+\.(?:md|txt|csv)",
    "channel": r"team|channel|slack|post",
    "memory": r"remember|memory|forget",
    "datetime": r"time|date|day",
}


def reply_to(request: str) -> str | None:
    """Answer what asks for nothing to be done; None for everything else."""
    parts = [part.strip(" ,") for part in re.split(r"[.!?;]+|,\s", request) if part.strip(" ,")]
    answers: list[str] = []
    for part in parts:
        if _GREETING.fullmatch(part):
            answers.append("Hello.")
        elif _HOW_ARE_YOU.fullmatch(part):
            answers.append("I am ready.")
        elif _ABILITIES.fullmatch(part):
            answers.append(ABILITIES)
        elif _THANKS.fullmatch(part):
            answers.append("You are welcome.")
        else:
            return None
    return " ".join(dict.fromkeys(answers)) or None


ABILITIES = (
    "I am the embedded planner of Planwright, not a language model: I plan requests of a kind that I know, you"
    " approve what changes anything, and I carry it out. I read and search mail, files, tickets, the calendar and"
    " SQLite databases, summarize texts, open tickets, write files, draft and send mail, post to the team channel"
    " and remember facts. Try: list the open tickets · what is in my calendar tomorrow? · planwright capabilities"
    " shows everything."
)


def suggestions(request: str, capabilities: Collection[str]) -> tuple[str, ...]:
    """Pick three requests that would work here, those about what the request speaks of first."""
    at_hand = [domain for domain, names in _NEEDS.items() if all(name in capabilities for name in names)]
    spoken_of = [
        domain for domain in at_hand if re.search(rf"\b(?:{_DOMAIN_OF[domain]})\b", request, re.IGNORECASE)
    ]
    near = [text for domain in spoken_of for text in EXAMPLES[domain]]
    other = [EXAMPLES[domain][0] for domain in at_hand if domain not in spoken_of]
    return tuple([*near, *other][:3])
