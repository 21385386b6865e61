"""The team channel: a webhook that honours an Idempotency-Key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import httpx
from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import ArgumentDescription, Deed
from planwright.capabilities.policy.decide import host_of, on_egress_list
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected, CapabilityUnavailable
from planwright.language.nouns import CHANNEL_TAGS
from planwright.security.egress.request_comparison import ApprovedRequest, compare
from planwright.security.egress.unreachable import why_unreachable


class Receipt(BaseModel):
    """What the channel answered."""

    channel: str
    """Name of the channel in the settings."""
    status: int
    """HTTP status of the answer."""
    message_id: str | None = None
    """Id that the channel gave the message; None where it answered none."""


def _url(args: Mapping[str, JsonValue], call: CallContext) -> str:
    name = str(args.get("channel", "team"))
    channel = call.settings.channels.get(name)
    if channel is None:
        known = ", ".join(call.settings.channels) or "none"
        raise CapabilityRejected(
            f"there is no channel {name!r} (known: {known})",
            f'add it to planwright.toml: [channels.{name}] url = "https://…"',
        )
    return channel.url


def _hosts(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    return [host_of(_url(args, call))]


async def _described(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
    """Say which host a channel is at."""
    host = host_of(_url(args, call)).removesuffix(":443") if "channel" in args else ""
    return {"channel": ArgumentDescription(host)} if host else {}


def _check_listed(args: Mapping[str, JsonValue], call: CallContext) -> None:
    for host in _hosts(args, call):
        if not on_egress_list(host, call.settings.egress.allow):
            raise CapabilityForbidden(
                f"channel.post may not reach {host}: it is not in egress.allow",
                f'add it to planwright.toml: [egress] allow = ["{host}"]',
            )


@capability(
    "channel.post",
    mode="network",
    risk="Medium",
    effect="idempotent",
    tags=CHANNEL_TAGS,
    guide=Guide(
        "Posts a text to a channel; the default channel is the team's.", ("Send it to the team channel",), 60
    ),
    preflight=_check_listed,
    hosts=_hosts,
    timeout_s=20,
    destinations=("channel",),
    deed=Deed("post", "message"),
    describe=_described,
    adds=("channels",),
)
async def post(
    text: Annotated[str, Field(description="the message", min_length=1, max_length=8000)],
    call: CallContext,
    channel: Annotated[str, Field(description="the channel's name in planwright.toml")] = "team",
) -> Receipt:
    """Post a message to a team channel."""
    url = _url({"channel": channel}, call)
    headers = {"content-type": "application/json", "idempotency-key": call.idempotency_key}
    content = json.dumps({"text": text, "channel": channel}, ensure_ascii=False).encode()
    try:
        async with call.http() as client:
            request = client.build_request("POST", url, content=content, headers=headers)
            compare(request, ApprovedRequest("POST", url, headers, content))
            reply = await client.send(request)
    except httpx.TransportError as error:
        raise CapabilityUnavailable(f"{host_of(url)} is unreachable: {why_unreachable(error)}") from error
    if reply.status_code in (408, 425, 429) or reply.status_code >= 500:
        raise CapabilityUnavailable(f"{host_of(url)} answered {reply.status_code}")
    if reply.status_code >= 300:
        raise CapabilityRejected(f"{host_of(url)} answered {reply.status_code}: {reply.text[:200]}")
    return Receipt(channel=channel, status=reply.status_code, message_id=_message_id(reply))


def _message_id(reply: httpx.Response) -> str | None:
    try:
        content = reply.json()
    except ValueError:
        return None
    message_id = content.get("message_id") if isinstance(content, dict) else None
    return None if message_id is None else str(message_id)
