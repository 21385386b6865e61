"""English nouns by what they are about: tags of capabilities, labels of tables, parts of a plan."""

from __future__ import annotations

CHANNEL_TAGS = ("channel", "team", "post", "send", "notify", "announce", "message", "slack")
"""Words that a request for `channel.post` may use."""
HTTP_TAGS = ("http", "url", "web", "website", "page", "api", "fetch", "download", "request")
"""Words that a request for `http.request` may use."""
MAIL_TAGS = ("email", "mail", "inbox", "message", "search", "find", "wrote", "written", "sender", "customer")
"""Words that a request for `mail.search` may use."""

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
"""Places, from 1 on."""
REMARKS = frozenset(
    ("reasoning", "thinking", "thought", "thoughts", "rationale", "chainofthought", "analysis", "explanation")
)
"""Names, in small letters and without signs, under which a model thinks aloud beside a plan: it plans nothing."""
RESULT_WORDS = (
    "summary",
    "amount",
    "total",
    "due",
    "date",
    "short",
    "brief",
    "number",
    "link",
    "deadline",
)
"""Words that describe a result, and not what it is about."""
TICKET_WORDS = (
    "ticket",
    "tickets",
    "title",
    "open",
    "closed",
    "right",
    "now",
    "moment",
    "currently",
    "status",
)
"""Words of a request for tickets that are not searched for."""
PLACE_LABELS = "country city region location place town state area office".split()
"""Labels of columns that hold a place."""
NAME_LABELS = "name title product item customer client company owner label subject author".split()
"""Labels of columns that hold a name."""
