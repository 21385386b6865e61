"""A process that is stopped in the middle of an effect: what it leaves, and how the run goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk
from tests.wire.scripted_server import Reply, ScriptedServer, hangs

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def channel() -> Iterator[ScriptedServer]:
    """A team channel that takes the first message without an answer, and every later one with."""
    with ScriptedServer([hangs(), Reply(body='{"message_id": "m1"}')]) as server:
        yield server


@pytest.fixture
def posting(desk: Desk, channel: ScriptedServer) -> Waiting:
    """A message to that channel, waiting for approval."""
    host = channel.base_url.split("/")[2]
    desk.settings(f'[channels.team]\nurl = "http://{host}/hook"\n[egress]\nallow = ["{host}"]\n')
    return ask(desk.folder, "Send hello to the team channel")
