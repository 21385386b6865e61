"""The embedded planner talks: greetings, thanks, and what it can do, without a plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_GREETINGS = frozenset(
    "hi hello hey hiya howdy greetings yo servus moin morning afternoon evening day welcome".split()
)
_THANKS = frozenset(
    "thanks thank thx cheers ta bye goodbye great perfect nice cool awesome brilliant excellent lovely wonderful helpful"
    " useful appreciated sorry nevermind never mistake ok okay fine no".split()
)
_HOW_ARE_YOU = re.compile(
    r"\b(?:how (?:are|is|do|goes) (?:you|things|everything|life|it)|how(?:['’]s| is) (?:it|everything|life|your)|what['’]?s up"
    r"|are you (?:there|awake|ok|okay|alive|online|ready|well))\b",
    re.IGNORECASE,
)
_PLEASANT = (
    _GREETINGS
    | _THANKS
    | frozenset(
        "a an all again and are as at be been best bit bunch buddy care day did do doing done everyone everything evening"
        " feeling fine for friend going good had happy have indeed help hope how i i'm in is it it's job just keep later life lot"
        " luck many mate me meet mind much my nice night now of oh one planwright please pretty really regards right see so some"
        " soon still such sure take team thank that that's the there things this to today tomorrow too up very was week"
        " weekend well were what's with will wish work world yes you you're your".split()
    )
)
_ABILITIES = re.compile(
    r"(?:(?:so |and )?what (?:(?:kind|sort|type)s? of (?:things|requests|tasks|work|stuff) )?(?:all )?(?:can|could|do) (?:you|i|planwright)(?: actually| even| all)?(?: do| ask(?: you)?| help(?: me)? with| able to do| know| offer)?(?: for| me| here| today| with (?:you|this)| exactly)*"
    r"|what (?:are|is) (?:you|your|planwright)(?: capabilities| skills| abilities| able to do| capable of| good (?:at|for))?|what (?:is|are) (?:your|the) (?:capabilities|skills|abilities|commands|features|tools|limits)"
    r"|what(?:['’]?s| is| are) your (?:job|purpose|role|task|features|skills)|tell me what (?:you|i) (?:can|are able to) (?:do|ask)"
    r"|who am i (?:talking|speaking) (?:to|with)|who (?:are|is) (?:you|planwright|this|i talking to)|(?:can|could) you help(?: me)?|help(?: me)?|how (?:do|can|does) (?:i use )?(?:you|this|planwright)(?: work| help me| help)?"
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
    parts = [part.strip(" ,-") for part in re.split(r"[.!?;]+", request) if part.strip(" ,-")]
    answers = [_reply(part) for part in parts]
    if not all(answers):
        return None
    return " ".join(dict.fromkeys(answers)) or None


def _reply(part: str) -> str:
    """Answer one sentence; "" where it is no talk."""
    if _ABILITIES.fullmatch(
        re.sub(r"^(?:(?:hi|hello|hey|so|and|ok|okay|well),? )+", "", part, flags=re.IGNORECASE)
    ):
        return ABILITIES
    words = re.findall(r"[a-z']+", part.lower().replace("’", "'"))
    if not words or not _PLEASANT.issuperset(words):
        return ""
    if _HOW_ARE_YOU.search(part):
        return "I am ready."
    if words[0] in _GREETINGS or (
        words[0] in ("good", "happy") and words[1:2] and words[1] in (*_GREETINGS, "night")
    ):
        return "Hello."
    return (
        "You are welcome."
        if _THANKS.intersection(words)
        or re.match(r"that(?:['’]s| is| will be| was) all\b", part)
        or "best" in words
        else ""
    )


ABILITIES = (
    "I am the embedded planner of Planwright, not a language model: I plan requests of a kind that I know, you"
    " approve what changes anything, and I carry it out. I read and search mail, files, tickets, the calendar and"
    " SQLite databases, summarize texts, open tickets, write files, draft and send mail, post to the team channel"
    " and remember facts. Try: list the open tickets · what is in my calendar tomorrow? · planwright capabilities"
    " shows everything."
)


def suggestions(request: str, capabilities: Collection[str]) -> tuple[str, ...]:
    """Pick three requests of a kind that is known, those about what the request speaks of first."""
    at_hand = [domain for domain, names in _NEEDS.items() if all(name in capabilities for name in names)]
    spoken_of = [
        domain for domain in at_hand if re.search(rf"\b(?:{_DOMAIN_OF[domain]})\b", request, re.IGNORECASE)
    ]
    near = [text for domain in spoken_of for text in EXAMPLES[domain]]
    other = [EXAMPLES[domain][0] for domain in at_hand if domain not in spoken_of]
    return tuple([*near, *other][:3])
