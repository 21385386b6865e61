"""English verbs by what they do, and the words beside them: for intake, the offer of tools, and the critic."""

from __future__ import annotations

CHANGING = frozenset(
    "append book buy cancel change delete edit email forget forward insert move notify pay post publish refund"
    " register remember remove rename reply save schedule send set store submit transfer update upload".split()
)
"""Verbs of an effect, in a request as in a task."""
MAKING = frozenset("add build close create draft file log make note open prepare put record write".split())
"""Verbs that may mean an effect or a text: what is made says which."""
READING = frozenset("find list look read search".split())
"""Verbs that only read, in a request as in a task."""

EFFECTS_IN_A_REQUEST = frozenset(
    (
        *CHANGING,
        *(MAKING - {"build", "prepare"}),
        *"approve assign clear compose copy drop erase execute mail memorize message order run share".split(),
    )
)
"""Verbs of a request that wishes an effect."""
LOOKS_IN_A_REQUEST = READING.union(
    "compare count describe explain show summarise summarize tell translate".split()
)
"""Verbs of a request that only wants to know."""
QUESTION_WORDS = frozenset("what what's which who who's whom whose when where where's why how how's".split())
"""Words that a question begins with."""
TURNED_VERBS = frozenset("is are was were am do does did has have had".split())
"""Words that a question begins with if it ends with its mark; else they may wish: "Do the cleanup"."""

EFFECTS_IN_A_TASK = CHANGING.union("deploy enter invite purchase subscribe unsubscribe".split())
"""Verbs of a task that is done only by an effect."""
LOOKS_IN_A_TASK = READING.union("browse check fetch get lookup query retrieve".split())
"""Verbs of a task that only reads."""
LEADS = frozenset("then also please finally first next and afterwards now to you should must will".split())
"""Words before the verb of a task."""

ACTIONS_OF_A_PLAN = frozenset(
    "search find create send write compare analyze check draft build email research read list summarize"
    " update schedule fetch review post file save extract remember notify look make add open show".split()
)
"""Verbs of which several in one request make it worth a plan."""
BARE_VERBS = frozenset("note file order message report update log text record".split())
"""Verbs that are nouns, too, where nothing follows them."""
NOUNS_TOO = BARE_VERBS.union("email mail check".split())
"""Verbs that are nouns, too."""
