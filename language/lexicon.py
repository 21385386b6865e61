"""The words the embedded planner knows. What is not here it does not understand, and says so."""

from __future__ import annotations

from collections.abc import Mapping


def _by_word(rows: Mapping[str, str]) -> dict[str, str]:
    """Turn `{meaning: "word, word"}` into `{word: meaning}`."""
    return {word.strip(): meaning for meaning, words in rows.items() for word in words.split(",")}


KNOWN = frozenset(
    "datetime.now memory.search memory.write files.list files.read files.read_all files.write files.restore files.search mail.search"
    " tickets.close tickets.create tickets.list channel.post http.request text.extract text.summarize memory.forget mail.draft mail.send"
    " calendar.list documents.create sql.query sql.execute results.read agent.delegate tool.create_chain".split()
)

ACTIONS = _by_word(
    {
        "search": "search, find, look for, look up, look through, look in, locate, hunt for, dig up, pull up,"
        " search for, search through, go through, dig through, scan, track down, grep, grep for, search in",
        "get": "check, get, get me, fetch, grab, see, check for, check in, look at, take a look at",
        "list": "list, list out, enumerate",
        "show": "show, show me, display, give me, tell me, bring up",
        "read": "read, open, open up, print, cat, load, read me, read out",
        "create": "create, make, add, file, raise, log, set up, create me, start a",
        "save": "write, save, store, put, export, dump, write down, record, overwrite",
        "send": "send, post, share, announce, notify, message, ping, inform, publish, tell, let, drop, report,"
        " alert, update, shoot",
        "summarize": "summarize, summarise, sum up, condense, shorten, recap, boil down, give a summary of,"
        " give me a summary of, give me the gist of, outline, boil",
        "extract": "extract, pull out, pull, pick out, take, parse out, lift, read off",
        "remember": "remember, memorize, memorise, note, keep in mind, note down, make a note, don't forget,"
        " don’t forget, keep, keep a note, bear in mind",
        "recall": "recall",
        "copy": "copy",
    }
)

UNSUPPORTED = frozenset(
    "delete remove erase trash rename move forward reply pay buy order translate schedule call cancel close reopen"
    " reassign assign edit modify change append deploy run execute install restart transfer refund invite unsubscribe"
    " archive mark compare draft compose upload download convert attach browse google encrypt zip compute calculate"
    " plot draw generate merge sign approve wire purchase charge email e-mail mail text fax dial rewrite proofread"
    " paraphrase brainstorm explain remind build research analyze analyse review resolve escalate tweet sync backup"
    " clean forget wake set turn mute stop empty replace reserve negotiate book phone cc dm whatsapp subscribe"
    " rsvp accept decline confirm sell ship print scan-in join leave play recommend suggest advise predict".split()
)

NAME_VERBS: dict[str, tuple[str, ...]] = {
    "search": ("search", "find", "lookup", "list", "query"),
    "get": ("search", "list", "get", "lookup", "read"),
    "list": ("list", "search"),
    "show": ("list", "read", "get", "show", "search"),
    "read": ("read", "get", "search"),
    "create": ("create", "add", "open"),
    "save": ("write", "save"),
    "send": ("post", "send"),
    "recall": ("search",),
}

PARTICIPLES = _by_word(
    {
        "save": "saved, stored",
        "write": "written",
        "post": "posted",
        "send": "sent",
        "share": "shared",
        "summarize": "summarized, summarised",
        "extract": "extracted",
        "list": "listed",
        "remember": "remembered",
        "announce": "announced",
        "delete": "deleted, removed",
        "email": "emailed, mailed, forwarded",
        "translate": "translated",
        "pay": "paid",
        "show": "shown, displayed",
    }
)

DOMAINS = _by_word(
    {
        "mail": "email, emails, e-mail, e-mails, mail, mails, inbox, mailbox, emailed, mailed",
        "tickets": "ticket, tickets",
        "files": "file, files, folder, directory, notes, workspace, docs, documents, document, note",
        "channel": "channel, team, #team, slack, everyone, colleagues",
        "memory": "memory, memories",
    }
)

MAIL_NOUNS = frozenset(
    "invoice invoices receipt receipts reminder newsletter newsletters confirmation bounce quote inbox messages".split()
)

KINDS = _by_word(
    {
        "amount": "amount, amounts, total, price, sum, cost, amount due, total due, invoice amount, total amount,"
        " balance, grand total, fee",
        "date": "due date, date, dates, deadline, deadline date, delivery date, start date, departure date, end date,"
        " expiry date, meeting date",
        "email": "email address, email addresses, e-mail address, e-mail addresses, contact address, contact email,"
        " mail address, sender address",
        "url": "url, urls, link, links, web address, hyperlink",
        "phone": "phone number, phone numbers, telephone number, number to call, phone, mobile number",
        "number": "invoice number, order number, reference number, number, numbers",
    }
)

PATTERNS = _by_word(
    {
        "*.md": "markdown, md",
        "*.txt": "text, txt, plain text",
        "*.csv": "csv",
        "*.pdf": "pdf",
        "*.py": "python, py",
        "*.json": "json",
        "*.html": "html",
        "*.yaml": "yaml, yml",
        "*.toml": "toml",
        "*.log": "log",
    }
)

ZONES = _by_word(
    {
        "UTC": "utc, gmt",
        "Europe/Berlin": "berlin, munich, hamburg, frankfurt, cologne",
        "Europe/London": "london, edinburgh, manchester",
        "Europe/Paris": "paris, lyon",
        "Europe/Madrid": "madrid, barcelona",
        "Europe/Rome": "rome, milan",
        "Europe/Zurich": "zurich, geneva, zürich, bern",
        "Europe/Vienna": "vienna",
        "Europe/Amsterdam": "amsterdam, rotterdam",
        "Europe/Brussels": "brussels, ghent",
        "Europe/Stockholm": "stockholm",
        "Europe/Copenhagen": "copenhagen",
        "Europe/Oslo": "oslo",
        "Europe/Helsinki": "helsinki",
        "Europe/Lisbon": "lisbon, porto",
        "Europe/Dublin": "dublin",
        "Europe/Warsaw": "warsaw",
        "Europe/Prague": "prague",
        "Europe/Athens": "athens",
        "Europe/Istanbul": "istanbul",
        "Europe/Kyiv": "kyiv, kiev",
        "America/New_York": "new york, boston, nyc, washington, miami, est",
        "America/Chicago": "chicago, dallas, houston, austin",
        "America/Denver": "denver",
        "America/Los_Angeles": "los angeles, san francisco, seattle, pst, california",
        "America/Toronto": "toronto",
        "America/Vancouver": "vancouver",
        "America/Mexico_City": "mexico city",
        "America/Sao_Paulo": "sao paulo, são paulo",
        "America/Argentina/Buenos_Aires": "buenos aires",
        "Asia/Tokyo": "tokyo, osaka, japan",
        "Asia/Seoul": "seoul",
        "Asia/Singapore": "singapore",
        "Asia/Hong_Kong": "hong kong",
        "Asia/Shanghai": "shanghai, beijing",
        "Asia/Kolkata": "mumbai, delhi, bangalore, india",
        "Asia/Dubai": "dubai",
        "Asia/Bangkok": "bangkok",
        "Asia/Jakarta": "jakarta",
        "Australia/Sydney": "sydney",
        "Australia/Melbourne": "melbourne",
        "Pacific/Auckland": "auckland",
        "Africa/Cairo": "cairo",
        "Africa/Nairobi": "nairobi",
        "Africa/Lagos": "lagos",
        "Africa/Johannesburg": "johannesburg, cape town",
    }
)

COUNTS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        "zero;one,single;two,couple;three;four;five;six;seven;eight;nine;ten;eleven;twelve".split(";")
    )
    for word in words.split(",")
}

STOP_WORDS = frozenset(
    "a an the my our your his her their this that these those any all some of for from about in on at to by with"
    " and or me us i we you it is are was were be been do does did have has had can could would please just if there"
    " what which who where when how many much anything everything something anyone anybody mention mentions mentioning"
    " mentioned contain contains containing holding hold holds say says saying said concerning regarding new latest"
    " recent newest last most one ones thing things up out look into through also then so inside named called within"
    " every each line lines text word words phrase them got get received sent came s re over related send whether"
    " wrote written write mailed emailed ever yet already still told asked".split()
)

POLITE: tuple[str, ...] = (
    "please|pls|plz|kindly|hey|hi|hello|ok|okay|so|well|also|now|first|firstly|finally|lastly|next|then|afterwards",
    "after that|secondly|and|but|thanks|thank you|thx|can you|could you|would you|will you|can we|could we|can i",
    "could i|may i|(?:would|do) you mind|mind|i need you to|i want you to|i['’]d (?:like|love|want) you to",
    "i need to|i want to|i['’]d (?:like|love) to|i would (?:like|love) to|i would like you to|i need|i want",
    "i['’]d like|i['’]d love|let['’]?s|go ahead and|help me|to|quickly|quick question|quick one|just|use that to",
    "once done|once that['’]s done|when done|with that|from there|planwright|be so kind as to|know|find out",
    "any (?:idea|chance)|do you know|whether|if|you|it would be great if you could|fyi|for me|real quick|for later",
    "after(?=\\s+\\w+ing\\b)|by(?=\\s+\\w+ing\\b)|once you(?:['’]ve| have)?|after you(?:['’]ve| have)?|when you(?:['’]ve| have)?|maybe|perhaps|in addition|additionally|on top of that|meanwhile|once you have it|what i need is|i was wondering",
)

CORRECTABLE = frozenset(
    "ticket tickets email emails inbox invoice search create summarize summary remember channel folder files notes"
    " extract amount current calendar meeting meetings appointment appointments agenda markdown memory write message latest closed check".split()
)

SELECTS = frozenset(
    "only need want must should them those ones except not unread all every please asap question wonder looking"
    " interested about".split()
)

VAGUE = frozenset(
    "do it that this thing things something stuff help me with for same as last time take care of your need i handle"
    " sort out usual the again please can you could would hey hi hello fix make deal continue go on send a an my to"
    " process finish one more everything all now just want some them us like before proceed start".split()
)

OUT_OF_REACH = (
    "calendar|spreadsheet|excel|google (?:docs?|sheets?|drive)|jira|github|gitlab|trello|notion|whatsapp|telegram"
    "|sms|linkedin|twitter|facebook|instagram|dropbox|sharepoint|crm|salesforce|printer|website|blog|powerpoint"
    "|slides|discord|zoom|google|web|internet"
)
