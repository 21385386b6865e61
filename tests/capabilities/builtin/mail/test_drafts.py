"""mail.draft: a message a mail program can open, once a call."""

from __future__ import annotations

import mailbox
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin.mail import drafts, mail
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected

MakeWorld = Callable[..., CallContext]


def draft(world: CallContext, text: str = "Hello", **args: Any) -> drafts.MailDraft:
    made = drafts.draft.function(text, world, **args)
    assert isinstance(made, drafts.MailDraft)
    return made


def kept(folder: Path) -> list[mailbox.MaildirMessage]:
    """Read the drafts as any mail program does."""
    return list(mailbox.Maildir(folder / "mail", create=False).get_folder("Drafts"))


def test_a_draft_lies_among_the_drafts_of_the_mailbox(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "offer.txt").write_text("the offer")
    made = draft(
        demo, "Grüße", to=["jo@example.com"], cc=["kim@example.com"], subject="Ä", attachments=["offer.txt"]
    )
    (message,) = kept(tmp_path)
    assert (message["To"], message["Cc"], message["Message-ID"]) == (
        "jo@example.com", "kim@example.com", made.message_id,
    )  # fmt: skip
    assert (message.get_flags(), message.get_subdir()) == ("DS", "cur")
    assert [part.get_filename() for part in message.walk() if part.get_filename()] == ["offer.txt"]
    assert b"\r" not in (tmp_path / "mail" / made.path).read_bytes()


def test_the_same_call_again_makes_no_second_draft(demo: CallContext, tmp_path: Path) -> None:
    assert draft(demo) == draft(demo)
    assert len(kept(tmp_path)) == 1


def test_what_its_user_did_with_a_draft_stays(demo: CallContext, tmp_path: Path) -> None:
    first = tmp_path / "mail" / draft(demo).path
    edited = first.with_name(first.name.replace(":2,DS", ":2,DFS"))
    first.rename(edited)
    edited.write_text("edited by hand")
    assert draft(demo).path.endswith(":2,DFS")
    assert edited.read_text() == "edited by hand"


def test_another_call_makes_another_draft(make_world: MakeWorld, demo: CallContext, tmp_path: Path) -> None:
    draft(demo)
    draft(make_world(key="key-2"))
    assert len(kept(tmp_path)) == 2


def test_a_draft_is_not_found_among_the_mail(demo: CallContext) -> None:
    before = mail.search.function(demo).count
    draft(demo, "zebra")
    assert mail.search.function(demo).count == before


def test_without_a_mailbox_there_are_no_drafts(make_world: MakeWorld) -> None:
    with pytest.raises(CapabilityRejected, match="there is no folder of mail"):
        draft(make_world())


@pytest.mark.parametrize("place", [".Drafts", ".Drafts/cur", ".Drafts/tmp"])
def test_a_drafts_folder_that_leads_elsewhere_is_refused(
    demo: CallContext, tmp_path: Path, place: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "mail" / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CapabilityForbidden, match="symbolic link"):
        draft(demo)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_outside_is_not_attached(demo: CallContext) -> None:
    for do in (
        lambda: drafts.draft.check({"attachments": ["/etc/passwd"]}, demo),
        lambda: draft(demo, attachments=["/etc/passwd"]),
    ):
        with pytest.raises(CapabilityForbidden, match="outside the workspace"):
            do()
