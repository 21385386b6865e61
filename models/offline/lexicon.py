"""The words the embedded planner knows. What is not here it does not understand, and says so."""

from __future__ import annotations

KNOWN = frozenset(
    "datetime.now memory.search memory.write files.list files.read files.write files.search mail.search"
    " tickets.create tickets.list channel.post text.extract text.summarize".split()
)

ACTIONS: dict[str, str] = {
    **dict.fromkeys(
        ("search", "find", "look for", "look up", "look through", "look in", "locate", "hunt for", "dig up")
        + (
            "pull up",
            "search for",
            "grep",
            "search through",
            "go through",
            "dig through",
            "scan",
            "track down",
        ),
        "search",
    ),
    **dict.fromkeys(("check", "get", "get me", "fetch", "grab", "see", "check for", "check in"), "get"),
    **dict.fromkeys(("list", "list out", "enumerate"), "list"),
    **dict.fromkeys(("show", "show me", "display", "give me", "tell me", "bring up"), "show"),
    **dict.fromkeys(("read", "open", "open up", "print", "cat", "load", "read me", "read out"), "read"),
    **dict.fromkeys(
        ("create", "make", "add", "file", "raise", "log", "open a", "set up", "make a", "create me"), "create"
    ),
    **dict.fromkeys(("write", "save", "store", "put", "export", "dump", "write down", "record"), "save"),
    **dict.fromkeys(
        ("send", "post", "share", "announce", "notify", "message", "ping", "inform", "publish", "tell", "let")
        + ("drop", "report", "alert", "update"),
        "send",
    ),
    **dict.fromkeys(
        ("summarize", "summarise", "sum up", "condense", "shorten", "recap", "boil down", "give a summary of")
        + ("give me a summary of", "give me the gist of", "tldr", "outline"),
        "summarize",
    ),
    **dict.fromkeys(("extract", "pull out", "pull", "pick out", "take", "parse out", "lift"), "extract"),
    **dict.fromkeys(
        (
            "remember",
            "memorize",
            "memorise",
            "note",
            "keep in mind",
            "note down",
            "make a note",
            "don't forget",
        )
        + ("remember that", "keep"),
        "remember",
    ),
    **dict.fromkeys(("recall",), "recall"),
}

NAME_VERBS: dict[str, tuple[str, ...]] = {
    "search": ("search", "find", "lookup", "list", "query"),
    "get": ("search", "list", "get", "lookup", "read"),
    "list": ("list", "search"),
    "show": ("list", "read", "get", "show", "search"),
    "read": ("read", "get", "search"),
    "create": ("create", "add", "open"),
    "save": ("write", "save"),
    "send": ("post", "send"),
    "summarize": ("summarize",),
    "extract": ("extract",),
    "remember": ("write",),
    "recall": ("search",),
}

DOMAINS: dict[str, str] = {
    **dict.fromkeys(("email", "emails", "e-mail", "e-mails", "mail", "mails", "inbox", "mailbox"), "mail"),
    **dict.fromkeys(("ticket", "tickets"), "tickets"),
    **dict.fromkeys(
        (
            "file",
            "files",
            "folder",
            "directory",
            "notes",
            "workspace",
            "docs",
            "documents",
            "document",
            "note",
        ),
        "files",
    ),
    **dict.fromkeys(("channel", "team", "#team", "slack", "everyone", "colleagues"), "channel"),
    **dict.fromkeys(("memory", "memories"), "memory"),
}

KINDS: dict[str, str] = {
    **dict.fromkeys(
        ("amount", "amounts", "total", "price", "sum", "cost", "amount due", "total due", "invoice amount")
        + ("total amount", "balance", "how much"),
        "amount",
    ),
    **dict.fromkeys(
        ("due date", "date", "dates", "deadline", "delivery date", "start date", "departure date", "when"),
        "date",
    ),
    **dict.fromkeys(
        (
            "email address",
            "email addresses",
            "e-mail address",
            "contact address",
            "contact email",
            "mail address",
        ),
        "email",
    ),
    **dict.fromkeys(("url", "urls", "link", "links", "web address", "website"), "url"),
    **dict.fromkeys(
        ("phone number", "phone numbers", "phone", "telephone number", "number to call"), "phone"
    ),
    **dict.fromkeys(("invoice number", "order number", "number", "numbers", "figure"), "number"),
}

PATTERNS: dict[str, str] = {
    "markdown": "*.md",
    "md": "*.md",
    "text": "*.txt",
    "txt": "*.txt",
    "csv": "*.csv",
    "pdf": "*.pdf",
    "python": "*.py",
    "json": "*.json",
    "html": "*.html",
    "yaml": "*.yaml",
    "toml": "*.toml",
    "log": "*.log",
}

ZONES: dict[str, str] = {
    **{"utc": "UTC", "gmt": "UTC", "berlin": "Europe/Berlin", "london": "Europe/London"},
    **{"paris": "Europe/Paris", "madrid": "Europe/Madrid", "rome": "Europe/Rome", "zurich": "Europe/Zurich"},
    **{"vienna": "Europe/Vienna", "amsterdam": "Europe/Amsterdam", "stockholm": "Europe/Stockholm"},
    **{
        "lisbon": "Europe/Lisbon",
        "dublin": "Europe/Dublin",
        "warsaw": "Europe/Warsaw",
        "oslo": "Europe/Oslo",
    },
    **{"new york": "America/New_York", "boston": "America/New_York", "chicago": "America/Chicago"},
    **{
        "denver": "America/Denver",
        "los angeles": "America/Los_Angeles",
        "san francisco": "America/Los_Angeles",
    },
    **{"seattle": "America/Los_Angeles", "toronto": "America/Toronto", "sao paulo": "America/Sao_Paulo"},
    **{"tokyo": "Asia/Tokyo", "singapore": "Asia/Singapore", "sydney": "Australia/Sydney"},
    **{
        "mumbai": "Asia/Kolkata",
        "delhi": "Asia/Kolkata",
        "dubai": "Asia/Dubai",
        "hong kong": "Asia/Hong_Kong",
    },
    **{
        "shanghai": "Asia/Shanghai",
        "seoul": "Asia/Seoul",
        "istanbul": "Europe/Istanbul",
        "cairo": "Africa/Cairo",
    },
    **{
        "melbourne": "Australia/Melbourne",
        "auckland": "Pacific/Auckland",
        "johannesburg": "Africa/Johannesburg",
    },
}

COUNTS: dict[str, int] = {
    **{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "single": 1, "couple": 2},
}

STOP_WORDS = frozenset(
    "a an the my our your his her their this that these those any all some of for from about in on at to by with"
    " and or me us i we you it is are was were be do does did have has had can could would please just if there"
    " what which who where when how many much anything everything something mention mentions mentioning contain"
    " contains containing holding hold holds say says saying said concerning regarding new latest recent newest"
    " last most one ones thing things up out look into through also then so into inside named called within every"
    " each line lines text word words phrase them got get received sent came s re over related".split()
)

NOUNS_OF_RESULTS = frozenset(
    "it them that this these those result results list output findings content contents answer summary".split()
)

UNSUPPORTED = frozenset(
    "delete remove erase trash rename move copy forward reply pay book buy order translate schedule call phone"
    " cancel close reopen reassign assign edit modify change append deploy run execute install restart transfer"
    " refund invite print unsubscribe archive mark compare draft compose upload download convert attach browse"
    " google encrypt zip compute calculate plot draw generate merge sign approve wire purchase charge email mail"
    " text fax dial rewrite proofread paraphrase brainstorm explain remind build research analyze analyse"
    " review resolve escalate tweet sync backup clean".split()
)
