"""Who sends messages: a process whose run has stopped, and a worker at its looks; on a thread of its own.

Nobody waits for a mail server: what is due is sent beside the work, and the end of the process waits for it
for a while. What is not sent by then, another process sends.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import get_args

from planwright.approvals.notices.delivery import (
    AppriseDelivery,
    MailDelivery,
    NotDelivered,
    RecipientsRefused,
    WebhookDelivery,
    check_addresses,
)
from planwright.approvals.notices.message import NoticeMessage, Writer
from planwright.domain.errors import PlanwrightError, RunError, StoreFailed
from planwright.records.notices import Notice, NoticeScope
from planwright.records.records import Records
from planwright.security.egress.network import Network
from planwright.security.redaction.redactor import Redactor
from planwright.settings.mail import DeciderAddresses, NoticeAddresses, NoticeKind, NoticeWay
from planwright.settings.settings import Settings

AT_ONCE = 8
"""Messages that are sent at one time."""
LOOK_S = 5.0
"""Seconds between two looks of a worker."""
CLOSE_S = 15.0
"""Seconds for which the end of a process goes on to send."""
OF_GATES: tuple[NoticeKind, ...] = ("gate_opened", "gate_climbed", "gate_closing")
_LOG = logging.getLogger("planwright.approvals")


class Notifier:
    """Sends what is due, once over all processes. Without an address it does nothing."""

    def __init__(self, settings: Settings, records: Records, redactor: Redactor) -> None:
        check_addresses(settings)
        self._settings, notify = settings, settings.notify
        addressees = addressees_in(settings)
        self.is_on = bool(addressees)
        self.afterwards: Callable[[], AbstractContextManager[None]]
        self.afterwards = self._afterwards if self.is_on else nullcontext
        self._scope = NoticeScope(addressees, notify.closing_s, notify.climb_s)
        self._records = records
        self._redactor = redactor
        self._writer = Writer(settings.workspace.resolve().name, notify.page or "", redactor)
        self._mail = MailDelivery(settings.mail)
        self._webhook, self._apprise = WebhookDelivery(Network(settings.egress)), AppriseDelivery()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._looked_s = -math.inf
        self._until_s = math.inf  # on the monotonic clock; set at the end

    def begin(self) -> None:
        """Begin to send what is due, and return at once; who is sending looks once more."""
        if not self.is_on:
            return
        with self._lock:
            self._again = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="notices", daemon=True)
                self._thread.start()

    def look(self) -> None:
        """Begin, where the last look of a worker was a while ago."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self.begin()

    @contextmanager
    def _afterwards(self) -> Iterator[None]:
        """Begin once a run has stopped: at a gate, at its end, or because it failed."""
        try:
            yield
        finally:
            self.begin()

    def close(self) -> None:
        """Go on to send for a while; what a receiver has not taken by then, another process sends."""
        with self._lock:
            thread, self._until_s = self._thread, time.monotonic() + CLOSE_S
        if thread is not None:
            thread.join(CLOSE_S)

    async def send_due(self) -> int:
        """Send what is due now, and return how many messages were taken. Raises StoreFailed."""
        count = 0
        while time.monotonic() < self._until_s:
            notices = await self._records.notices.claim(self._scope, AT_ONCE)
            if not notices:
                break
            taken = await asyncio.gather(*map(self._send, notices), return_exceptions=True)
            for error in (each for each in taken if isinstance(each, BaseException)):
                raise error  # once all of them have ended
            count += sum(each is True for each in taken)
        return count

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._again:
                    self._thread = None
                    return
                self._again = False
            try:
                asyncio.run(self.send_due())
            except PlanwrightError as error:
                _LOG.error("messages to people wait: %s", error.cause)

    async def _send(self, notice: Notice) -> bool:
        """Send one message, and write down what came of it; say whether it was taken."""
        problem = ""
        try:
            await self._deliver(notice, await self._message(notice))
        except NotDelivered as error:
            problem = self._redactor.beginning(str(error), 300)
        except StoreFailed:
            raise
        except PlanwrightError as error:  # what it is on cannot be read
            problem = self._redactor.beginning(error.cause, 300)
        await self._records.notices.settle(notice, problem)
        if problem:
            _LOG.warning("%s %s was not sent: %s", notice.kind, notice.subject, problem)
        return not problem

    async def _message(self, notice: Notice) -> NoticeMessage:
        if notice.kind in OF_GATES:
            return self._writer.of_gate(notice, await self._records.gates.read(notice.subject))
        if notice.kind == "effect_in_doubt":
            doubts = await self._records.doubts.of_run(notice.run_id)
            return self._writer.of_doubt(notice, [doubt for doubt in doubts if doubt.key == notice.subject])
        run = await self._records.runs.read(notice.run_id)
        if run is None:
            raise RunError(f"there is no run {notice.run_id}", "list them: planwright ls")
        return self._writer.of_end(notice, run)

    async def _deliver(self, notice: Notice, message: NoticeMessage) -> None:
        addresses = addresses_of(self._settings, notice.kind, notice.addressee)
        if notice.way == "mail":
            await self._mail_to(addresses, message)
        elif notice.way == "apprise":
            await self._apprise.send(message, addresses.apprise)
        elif addresses.webhook is not None:
            await self._webhook.send(message, addresses.webhook)

    async def _mail_to(self, addresses: NoticeAddresses, message: NoticeMessage) -> None:
        """Mail a message to all at once, and to each who may answer by a link one of their own.

        Each mail is tried, whatever became of those before. Raises NotDelivered where one may yet be taken,
        and where none was; who alone is refused is logged, and nobody else gets it again for that.
        """
        now, problems = self._records.time.now(), list[NotDelivered]()
        links = addresses.links if isinstance(addresses, DeciderAddresses) else {}
        tries = [(tuple(addresses.mail), "")] if addresses.mail else []
        tries += [((address,), person) for person, address in links.items()]
        for recipients, person in tries:
            own = message
            if person and message.notice.kind in OF_GATES:
                gate = await self._records.gates.read(message.notice.subject)
                token = await self._records.answer_links.make(gate, person, now)
                own = self._writer.with_link(message, person, token)
            try:
                await self._mail.send(own, recipients, now, person)
            except NotDelivered as error:
                problems.append(error)
        again = [each for each in problems if not isinstance(each, RecipientsRefused)]
        if again or (problems and len(problems) == len(tries)):
            raise (again or problems)[0]
        for problem in problems:
            _LOG.warning("%s", self._redactor.beginning(str(problem), 300))


def addresses_of(settings: Settings, kind: NoticeKind, addressee: str) -> NoticeAddresses:
    """Find where messages of a kind go: answers where their schedule says, others to a tenant's people."""
    if kind != "schedule_answered":
        return settings.notify.addresses(kind, addressee)
    schedule = settings.schedules.get(addressee)
    return schedule.answer_to if schedule else NoticeAddresses()


def addressees_in(settings: Settings) -> Mapping[tuple[NoticeKind, NoticeWay], frozenset[str]]:
    """Name by kind and way the tenants, and the schedules, that have an address."""
    names = {kind: {"default", *settings.notify.tenants} for kind in settings.notify.events}
    names["schedule_answered"] = {*settings.schedules}
    reached = {
        (kind, way): frozenset(
            name for name in names.get(kind, ()) if way in addresses_of(settings, kind, name).ways
        )
        for way in get_args(NoticeWay)
        for kind in get_args(NoticeKind)
    }
    return {which: each for which, each in reached.items() if each}
