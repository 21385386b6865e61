"""The files of a workspace in a world: its policy, its capabilities and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.consent_cases import DEFAULT_POLICY
from benchmarks.world_shapes import BROKEN, FLAKY, NO_ACCOUNT, PAY, SEND, SPARE, Shape

EffectClass = Literal["blind", "keyed", "queryable"]
CLASSES: tuple[EffectClass, ...] = ("blind", "keyed", "queryable")
SENT = "sent.log"
RELATED = '[[rule]]\nmatch.capability = "desk.*"\ndecide = "allow"\nreason = "ours"\n\n'
UNRELATED = '[[rule]]\nmatch.capability = "mail.send"\ndecide = "deny"\nreason = "nobody mails"\n\n'
MODULE = '''"""What the desk can do."""
{comment}
import os

from pydantic import BaseModel

from benchmarks.counting_receiver import Receiver
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable

RECEIVER = Receiver({port})


class Receipt(BaseModel):
    """What the receiver answers."""

    name: str


def note(line: str) -> None:
    """Note what is about to be sent."""
    file = os.open("{sent}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{{line}}\\n".encode())
    os.close(file)


def fails_first(name: str) -> None:
    """Fail at the first call of a name, before anything is sent."""
    try:
        os.close(os.open("{sent}." + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    raise CapabilityUnavailable("the line is busy")


def found(name: str, call: CallContext) -> Receipt | None:
    """Ask the receiver."""
    return Receipt(name=name) if RECEIVER.knows(call.idempotency_key) else None
'''
TOOL = '''

@capability("{tool}", trusted_result=True, mode="{mode}", risk="{risk}", effect="{effect}"{lookup})
def {function}(name: str, call: CallContext{argument}) -> Receipt:
    """Send a document to the receiver."""
    {code}note(call.idempotency_key)
    return Receipt(name=RECEIVER.send("{service}", name, call.idempotency_key))
'''
REFUSING = f'''

@capability("{BROKEN}", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
def broken(name: str, call: CallContext) -> Receipt:
    """Refuse what is asked for, always."""
    raise CapabilityRejected("{NO_ACCOUNT} for it")
'''
SETTINGS = """
[capabilities]
modules = ["desk_tools"]

[providers.desk]
base_url = "http://127.0.0.1:{port}/v1"
model = "m"
api_key = "not-needed"
capabilities = ["function_calling", "json_mode"]

[planning]
mode = "{planning}"

[execution]
retry_base_ms = 1
{settings}
"""
EFFECTS = {"blind": "blind", "keyed": "idempotent", "queryable": "queryable"}


@dataclass(frozen=True)
class World:
    """What a command meets: files of the workspace, and what is around its process."""

    related: bool = False
    unrelated: bool = False
    comment: str = ""
    code: str = ""
    argument: str = ""
    mode: str = "local_write"
    risk: str = "Medium"
    gone: bool = False
    renamed: bool = False
    settings: str = ""
    prompts: bool = False
    version: str = ""
    host: str = ""
    clock_s: int = 0


@dataclass(frozen=True)
class Desk:
    """A workspace that reaches one receiver, for runs of one shape with effects of one class."""

    folder: Path
    port: int
    shape: Shape
    effect: EffectClass

    def write(self, world: World) -> None:
        """Write the files of a world."""
        self.folder.mkdir(exist_ok=True)
        rules = (UNRELATED if world.unrelated else "") + (RELATED if world.related else "")
        (self.folder / "policy.toml").write_text(rules + DEFAULT_POLICY.read_text("utf-8"))
        (self.folder / "desk_tools.py").write_text(self._module(world))
        settings = SETTINGS.format(
            port=self.port,
            planning="always" if self.shape.planned else "never",
            settings=world.settings,
        )
        (self.folder / "planwright.toml").write_text(settings)

    def _module(self, world: World) -> str:
        sent = self.folder / SENT
        text = MODULE.format(comment=world.comment, port=self.port, sent=sent)
        effect = EFFECTS[self.effect]
        for tool, mode, risk in (
            (SEND, world.mode, world.risk),
            (PAY, "local_write" if world.mode != "local_write" else "destructive", world.risk),
            (SPARE, world.mode, "Low" if world.risk == "Medium" else world.risk),
            (FLAKY, world.mode, world.risk),
        ):
            if world.gone and tool in self.shape.tools:
                continue
            text += TOOL.format(
                tool=f"{tool}_now" if world.renamed else tool,
                function=tool.partition(".")[2],
                mode=mode,
                risk=risk,
                effect=effect,
                lookup=", lookup=found" if effect == "queryable" else "",
                argument=world.argument,
                code=world.code + ("fails_first(name)\n    " if tool == FLAKY else ""),
                service=effect,
            )
        return text + REFUSING
