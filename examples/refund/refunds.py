"""The shop's capabilities: look an order up, check the rules of refunds, and pay."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from typing import Literal, get_args

import httpx
from pydantic import BaseModel

from planwright.capabilities import CallContext, CapabilityRejected, CapabilityUnavailable, capability

PAYMENTS = os.environ.get("PAYMENTS", "127.0.0.1:8765")
MOST = Decimal("5000")
Reason = Literal["arrived broken", "never arrived", "wrong article"]
TRANSIENT = (408, 425, 429)


class Order(BaseModel):
    """One order of the shop."""

    order_id: str
    customer: str
    amount: Decimal
    condition: str


class Verdict(BaseModel):
    """What the rules of refunds say."""

    reason: Reason


class Refund(BaseModel):
    """What the payment service has on record."""

    refund_id: int
    order_id: str
    amount: Decimal


@capability("orders.lookup", mode="read_only", trusted_result=True, tags=("order", "refund"))
def lookup(order_id: str, call: CallContext) -> Order:
    """Look an order up by its id."""
    orders = json.loads(call.workspace.read("orders.json"))
    if order_id not in orders:
        raise CapabilityRejected(f"there is no order {order_id}", "name another order")
    return Order(order_id=order_id, **orders[order_id])


@capability("refunds.check", mode="read_only", trusted_result=True, tags=("policy", "rule", "refund"))
def check(amount: Decimal, condition: str) -> Verdict:
    """Check the rules of refunds. Fails where they forbid the refund."""
    if condition not in get_args(Reason):
        raise CapabilityRejected(
            f"{condition!r} is no reason for a refund", f"reasons: {', '.join(get_args(Reason))}"
        )
    if amount > MOST:
        raise CapabilityRejected(f"refunds end at {MOST}", "ask the shop's owner")
    return Verdict.model_validate({"reason": condition})


@capability(
    "payments.issue_refund",
    mode="destructive",
    effect="idempotent",  # the service keeps the key: the same call may be sent again
    destinations=("order_id",),
    tags=("refund", "payment", "money"),
)
async def issue_refund(order_id: str, amount: Decimal, reason: Reason, call: CallContext) -> Refund:
    """Pay the money of an order back to its customer; `reason` is the one that refunds.check returned."""
    body = {"order_id": order_id, "amount": str(amount)}
    try:
        async with call.http() as client:
            reply = await client.post(
                f"http://{PAYMENTS}/refunds", json=body, headers={"Idempotency-Key": call.idempotency_key}
            )
    except httpx.TransportError as error:
        raise CapabilityUnavailable(f"the payment service is unreachable: {error}") from error
    if reply.status_code in TRANSIENT or reply.status_code >= 500:
        raise CapabilityUnavailable(f"the payment service answered {reply.status_code}")  # is sent again
    if reply.is_error:
        raise CapabilityRejected(f"the payment service answered {reply.status_code}: {reply.json()['error']}")
    return Refund.model_validate(reply.json())
