"""Mail as people have it: a maildir, .eml files in folders, an mbox of a mail program, and what is none."""

from __future__ import annotations

import mailbox
import os
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from planwright.capabilities.builtin.mail import mail, stored
from planwright.capabilities.builtin.mail.stored import holds_mail, stored_mails
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

MakeWorld = Callable[..., CallContext]


def message(number: int, text: str = "See you.") -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["Subject"] = f"Mara {number} <mara{number}@example.com>", f"Offer {number}"
    letter["Date"], letter["Message-ID"] = (
        f"Mon, {number + 1:02} Nov 2026 10:00:00 +0000",
        f"<{number}@example.com>",
    )
    letter.set_content(text)
    return letter


def write_mbox(path: Path, *numbers: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    box = mailbox.mbox(path)
    for number in numbers:
        box.add(message(number, "First.\n\nFrom now on a line may begin like that.\n"))
    box.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with .eml files, an mbox with an ending and one without, and what is no mail."""
    place = tmp_path / "mail"
    for number, name in enumerate(("a.eml", "2026/b.EML", ".hidden/c.eml", ".d.eml")):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(message(number).as_bytes())
    write_mbox(place / "Inbox", 10, 11)
    write_mbox(place / "old" / "sent.mbox", 12)
    (place / "readme").write_text("no mail")
    (place / "picture.png").write_bytes(b"From a camera")
    (place / "link.eml").symlink_to(place / "a.eml")
    return place


def test_a_folder_of_files_is_walked_without_links_and_hidden_ones(folder: Path) -> None:
    names = {each.name for each in stored_mails(folder)}
    assert names == {"2026/b.EML", "a.eml", "Inbox#1", "Inbox#2", "old/sent.mbox#1"}


def test_a_maildir_may_have_files_beside_it(folder: Path) -> None:
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir()
    key = mailbox.Maildir(folder).add(message(30))
    names = [each.name for each in stored_mails(folder)]
    assert names[0] == key
    assert len(names) == 6


def test_a_place_may_be_one_file(folder: Path) -> None:
    assert [each.name for each in stored_mails(folder / "Inbox")] == ["Inbox#1", "Inbox#2"]
    assert [each.name for each in stored_mails(folder / "a.eml")] == ["a.eml"]


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "none.mbox").write_text("this is no mbox")
    monkeypatch.setattr(stored, "LARGEST_MBOX", (folder / "Inbox").stat().st_size - 1)
    reasons = {each.name: each.unreadable for each in stored_mails(folder) if each.unreadable}
    assert reasons.keys() == {"Inbox", "none.mbox"}
    assert "larger than" in reasons["Inbox"]
    assert "no mbox" in reasons["none.mbox"]


def test_a_message_that_goes_away_meanwhile_is_left_out(tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "mail")
    keys = [box.add(message(number)) for number in range(3)]
    walk = stored_mails(tmp_path / "mail")
    first = next(walk).name
    box.remove(next(key for key in keys if key != first))
    assert len(list(walk)) == 1


def test_where_there_is_no_mail_it_says_so(tmp_path: Path) -> None:
    assert not holds_mail(tmp_path)
    with pytest.raises(CapabilityRejected, match=r"no maildir, no \.eml and no mbox file") as refused:
        list(stored_mails(tmp_path))
    assert refused.value.next_step == "set sources.mail in planwright.toml"


def test_a_search_reads_all_of_it_the_newest_first(folder: Path, make_world: MakeWorld) -> None:
    (folder / "broken.eml").write_bytes(b"\xff\xfe no header at all")
    world = make_world()
    found = mail.search.function(call=world, query="offer")
    assert [each.subject for each in found.messages] == [f"Offer {number}" for number in (12, 11, 10, 1, 0)]
    assert "From now on" in found.messages[0].text
    assert [
        each.subject for each in mail.search.function(call=world, sender="mara11@example.com").messages
    ] == ["Offer 11"]


def test_an_mbox_that_grows_while_it_is_read_is_read_as_far_as_it_was(folder: Path) -> None:
    walk = stored_mails(folder / "Inbox")
    next(walk)
    with (folder / "Inbox").open("ab") as file:
        file.write(b"From somebody\nSubject: half a mess")
        os.fsync(file.fileno())
    assert len(list(walk)) == 1
