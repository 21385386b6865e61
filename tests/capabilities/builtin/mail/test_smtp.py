"""mail.send against a real SMTP server: what is taken, what is refused, and what nobody knows."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from planwright.capabilities.builtin.mail import smtp
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.policy.decide import decide
from planwright.domain.errors import (
    CapabilityForbidden,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    SetupError,
)
from tests.capabilities.post_office import PASSWORD, USER, PostOffice
from tests.loop_clock import LoopClock
from tests.patience import PATIENCE_S

MakeWorld = Callable[..., CallContext]
MakeBench = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.enable_socket
MAIL: dict[str, Any] = {"to": ["jo@example.com"], "text": "Grüße\n.\nfrom here", "subject": "Ordner 🧾"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    with PostOffice(tmp_path) as opened:
        yield opened


async def test_a_mail_arrives_as_it_was_written(
    office: PostOffice, make_world: MakeWorld, tmp_path: Path
) -> None:
    (tmp_path / "offer.txt").write_text("the offer")
    world = make_world(**office.settings)
    more = {"cc": ["kim@example.com"], "bcc": ["lee@example.com"], "attachments": ["offer.txt"]}
    sent = await smtp.send.function(**MAIL, **more, call=world)
    ((recipients, message),) = office.handler.taken
    assert recipients == sent.accepted == ["jo@example.com", "kim@example.com", "lee@example.com"]
    assert (message["From"], message["To"], message["Cc"]) == (
        "agent@planwright.example", "jo@example.com", "kim@example.com",
    )  # fmt: skip
    assert (message["Subject"], message["Bcc"]) == ("Ordner 🧾", None)
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == ["Grüße", ".", "from here"]
    assert [(part.get_filename(), part.get_content()) for part in message.iter_attachments()] == [
        ("offer.txt", "the offer")
    ]
    assert message["Message-ID"] == sent.message_id == "<key-1@planwright.example>"
    assert (sent.refused, sent.said) == ([], "taken")
    assert office.handler.secure == [True]


async def test_a_password_is_given_over_an_encrypted_connection(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    with PostOffice(tmp_path, auth=True) as office:
        await smtp.send.function(**MAIL, call=make_world(**office.settings))
        assert office.handler.logins == [USER]
        assert office.handler.secure == [True]


@pytest.mark.parametrize("security", ["tls", "none"])
async def test_a_connection_is_secured_as_the_settings_say(
    make_world: MakeWorld, tmp_path: Path, security: str
) -> None:
    with PostOffice(tmp_path, security=security) as office:
        await smtp.send.function(**MAIL, call=make_world(**office.settings))
        assert len(office.handler.taken) == 1


async def test_a_wrong_password_is_final_and_nothing_is_sent(make_world: MakeWorld, tmp_path: Path) -> None:
    with PostOffice(tmp_path, auth=True) as office:
        flags = office.settings
        flags["mail"]["password"] = "wrong"
        with pytest.raises(CapabilityRejected, match="535") as refused:
            await smtp.send.function(**MAIL, call=make_world(**flags))
        assert "wrong" not in str(refused.value)
        assert office.handler.offered == 0


async def test_the_password_is_read_from_the_environment_variable_that_is_named(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POST_OFFICE_PASSWORD", PASSWORD)
    with PostOffice(tmp_path, auth=True) as office:
        flags = office.settings
        del flags["mail"]["password"]
        flags["mail"]["password_env"] = "POST_OFFICE_PASSWORD"
        await smtp.send.function(**MAIL, call=make_world(**flags))
        assert len(office.handler.taken) == 1


def test_a_password_over_a_plain_connection_is_no_setting(make_world: MakeWorld) -> None:
    with pytest.raises(SetupError, match="over tls or starttls only"):
        make_world(mail={"host": "localhost", "from": "a@example.com", "security": "none", "user": "me"})


async def test_a_server_without_starttls_is_not_trusted_with_a_mail(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    with PostOffice(tmp_path, security="none") as office:
        flags = office.settings
        flags["mail"]["security"] = "starttls"
        with pytest.raises(CapabilityRejected, match="STARTTLS"):
            await smtp.send.function(**MAIL, call=make_world(**flags))
        assert office.handler.offered == 0


async def test_a_certificate_nobody_vouches_for_is_refused(office: PostOffice, make_world: MakeWorld) -> None:
    flags = office.settings
    del flags["mail"]["ca_file"]
    with pytest.raises(CapabilityRejected, match=r"(?i)certificate"):
        await smtp.send.function(**MAIL, call=make_world(**flags))
    assert office.handler.offered == 0


@pytest.mark.parametrize(
    ("command", "reply", "raised"),
    [
        ("MAIL", "451 try later", CapabilityUnavailable),
        ("MAIL", "550 not you", CapabilityRejected),
        ("RCPT", "450 greylisted", CapabilityUnavailable),
        ("RCPT", "550 unknown user", CapabilityRejected),
        ("DATA", "452 disk full", CapabilityUnavailable),
        ("DATA", "554 spam", CapabilityRejected),
        ("MAIL", "drop", CapabilityUnavailable),
        ("RCPT", "drop", CapabilityUnavailable),
        ("DATA", "drop", EffectInDoubt),
        ("DATA", "take and drop", EffectInDoubt),
    ],
)
async def test_what_the_server_says_decides_what_comes_next(
    office: PostOffice, make_world: MakeWorld, command: str, reply: str, raised: type[Exception]
) -> None:
    office.handler.replies[command] = reply
    with pytest.raises(raised) as refused:
        await smtp.send.function(**MAIL, call=make_world(**office.settings))
    assert type(refused.value) is raised
    assert reply.endswith("drop") or reply in str(refused.value)


async def test_a_server_that_is_given_the_mail_and_never_answers_leaves_it_in_doubt(
    office: PostOffice, make_world: MakeWorld
) -> None:
    clock = LoopClock(asyncio.get_running_loop())
    office.handler.replies["DATA"] = "hang"
    sending = asyncio.create_task(smtp.send.function(**MAIL, call=make_world(**office.settings)))
    assert await asyncio.to_thread(office.handler.hangs.wait, PATIENCE_S)
    clock.pass_(PATIENCE_S + 1)
    with pytest.raises(EffectInDoubt, match="did not say whether it took it"):
        await sending


async def test_nobody_at_the_port_is_tried_again_later(make_world: MakeWorld) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        mail = {"host": "127.0.0.1", "port": free.getsockname()[1], "from": "a@example.com"}
        with pytest.raises(CapabilityUnavailable, match="did not take the mail"):
            await smtp.send.function(**MAIL, call=make_world(mail=mail))


async def test_a_recipient_who_is_refused_is_told_and_the_others_get_the_mail(
    office: PostOffice, make_world: MakeWorld
) -> None:
    office.handler.refused["kim@example.com"] = "550 no such user"
    sent = await smtp.send.function(**{**MAIL, "cc": ["kim@example.com"]}, call=make_world(**office.settings))
    assert sent.accepted == ["jo@example.com"]
    ((refusal),) = sent.refused
    assert (refusal.address, refusal.code, refusal.said) == ("kim@example.com", 550, "no such user")
    assert [recipients for recipients, _ in office.handler.taken] == [["jo@example.com"]]


async def test_a_mail_in_doubt_is_never_sent_again(office: PostOffice, make_bench: MakeBench) -> None:
    office.handler.replies["DATA"] = "take and drop"
    bench = await make_bench(smtp.send, **office.settings)
    for _ in range(3):
        with pytest.raises(EffectInDoubt):
            await bench.call("mail.send", **MAIL)
    assert bench.effects() == [("mail.send", "in_doubt")]
    assert office.handler.offered == 1


async def test_a_mail_of_which_only_the_intent_is_on_record_is_not_sent_again(
    office: PostOffice, make_bench: MakeBench
) -> None:
    bench = await make_bench(smtp.send, **office.settings)
    await bench.call("mail.send", **MAIL)
    bench.stores.database.call("crash", lambda c: c.execute("UPDATE effects SET status='intent'").rowcount)
    with pytest.raises(EffectInDoubt, match=r"nobody knows whether mail\.send happened"):
        await bench.call("mail.send", **MAIL)
    assert office.handler.offered == 1


async def test_a_busy_server_is_tried_again_and_the_mail_arrives_once(
    office: PostOffice, make_bench: MakeBench
) -> None:
    office.handler.replies["MAIL"] = "421 busy"
    bench = await make_bench(smtp.send, execution={"step_retries": 2, "retry_base_ms": 1}, **office.settings)

    def recover(attempt: int, cause: str, *_: object) -> bool:
        bench.retries.append((attempt, cause))
        if attempt == 2:
            office.handler.replies.clear()
        return True

    bench._tell = recover
    await bench.call("mail.send", **MAIL)
    assert [attempt for attempt, _ in bench.retries] == [1, 2]
    assert len(office.handler.taken) == 1


async def test_a_server_that_ends_the_session_leaves_no_connection_open(
    office: PostOffice, make_world: MakeWorld
) -> None:
    office.handler.replies["MAIL"] = "421 busy"
    with pytest.raises(CapabilityUnavailable, match="421 busy"):
        await smtp.send.function(**MAIL, call=make_world(**office.settings))
    ours = [
        transport
        for transport in gc.get_objects()
        if isinstance(transport, asyncio.Transport)
        and getattr(transport, "_ssl_protocol", True)  # None in one of TLS that is closed, from 3.13 on
        and (transport.get_extra_info("peername") or ("", 0))[1] == office.port
    ]
    assert [transport for transport in ours if transport.get_extra_info("socket").fileno() != -1] == []


HOSTILE_ADDRESSES = [
    "", "jo", "@example.com", "jo@", "jo@@example.com", "jo@example.com\nBcc: eve@example.com",
    "jo@example.com\r\nX: y", "jo@example.com,eve@example.com", "jo@example.com;eve@example.com",
    "jo@example.com eve@example.com", "Jo <jo@example.com>", "<jo@example.com>", "jo@example.com\0",
    "jo@exa mple.com", "jo@example.com>", "jo@example..com", ".jo@example.com", "jo@-example.com",
    "@route:jo@example.com", "jo@[127.0.0.1]", '"jo\n"@example.com', "jo@example.com\u2028", "jö@example.com",
    "jo%eve@example.com@x.example", "jo@example.com (eve@example.com)", "x" * 300 + "@example.com",
]  # fmt: skip


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES, ids=ascii)
@pytest.mark.parametrize("place", ["to", "cc", "bcc"])
def test_what_is_no_bare_address_is_no_argument(address: str, place: str) -> None:
    with pytest.raises(ValidationError):
        smtp.send.args.model_validate({**MAIL, place: [address]})


@pytest.mark.parametrize("address", ["jo@example.com", "jo+x@mail.example.com", "jo@intranet"])
def test_a_bare_address_is_an_argument_and_stays_as_it_is(address: str) -> None:
    assert smtp.send.args.model_validate({**MAIL, "to": [address]}).model_dump()["to"] == [address]


@pytest.mark.parametrize(
    "break_", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\0"], ids=ascii
)
def test_a_subject_that_would_end_its_line_is_no_argument(break_: str) -> None:
    with pytest.raises(ValidationError):
        smtp.send.args.model_validate({**MAIL, "subject": f"hello{break_}Bcc: eve@example.com"})


async def test_nobody_and_a_crowd_are_no_recipients(make_world: MakeWorld) -> None:
    world = make_world(mail={"host": "localhost", "from": "a@example.com"})
    crowd = [f"u{n}@example.com" for n in range(30)]
    for to, cc in (([], []), (crowd, [f"x{address}" for address in crowd])):
        with pytest.raises(CapabilityRejected, match="a mail goes to 1 to 50 recipients"):
            await smtp.send.function(to=to, cc=cc, text="x", call=world)


def test_without_a_server_it_is_refused_before_anything_is_shown(make_world: MakeWorld) -> None:
    with pytest.raises(CapabilityRejected, match="no mail server is set"):
        smtp.send.check(MAIL, make_world())


def test_a_file_outside_the_workspace_is_not_attached(make_world: MakeWorld) -> None:
    world = make_world(mail={"host": "localhost", "from": "a@example.com"})
    with pytest.raises(CapabilityForbidden, match="outside the workspace"):
        smtp.send.check({**MAIL, "attachments": ["../secret.txt"]}, world)


async def test_more_than_a_mail_can_carry_is_not_attached(
    office: PostOffice, make_world: MakeWorld, tmp_path: Path
) -> None:
    (tmp_path / "large.bin").write_bytes(b"x" * 6_000_000)
    (tmp_path / "large2.bin").write_bytes(b"x" * 6_000_000)
    with pytest.raises(CapabilityRejected, match=r"large2\.bin is larger than 4 MB"):
        await smtp.send.function(
            **MAIL, attachments=["large.bin", "large2.bin"], call=make_world(**office.settings)
        )
    assert office.handler.offered == 0


@pytest.mark.parametrize(
    ("allow", "answer"), [(["localhost:2525"], "allow"), ([], "ask"), (["other"], "ask")]
)
def test_the_egress_list_counts_for_the_mail_server(
    make_world: MakeWorld, allow: list[str], answer: str
) -> None:
    mail = {"host": "localhost", "port": 2525, "from": "a@example.com"}
    world = make_world(mail=mail, egress={"allow": allow})
    assert decide(smtp.send, MAIL, world).answer == answer
