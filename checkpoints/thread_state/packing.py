"""Take a checkpoint apart into values by the hash of their bytes, and put it together again.

Most of a state does not change from one superstep to the next, and a conversation only grows. So a value is
stored once, a log of messages is a list of hashes, and a checkpoint names what it holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from planwright.checkpoints.thread_state.layout import HASH_BYTES, LOG, hashes_in, log_items

K = TypeVar("K")
V = TypeVar("V")
Ref: TypeAlias = "bytes | list[Any] | dict[str, Ref]"
"""How a checkpoint names a value: by hash, or a short plain one as it is, alone in a list.

An input with a conversation in it is named field by field, so that no message is stored again for it.
"""
SHORT = 64
MOST_KNOWN = 4096
_PLAIN = (type(None), bool, float)


class Content(NamedTuple):
    """A value as it is stored."""

    hash: bytes
    """BLAKE2b of type and bytes, 16 bytes."""
    type: str
    """What the bytes are, as the serializer says; `log`: hashes of messages, one after the other."""
    value: bytes
    """The bytes."""


@dataclass(frozen=True)
class Packed:
    """A checkpoint that was taken apart."""

    checkpoint_id: str
    """Id of the checkpoint."""
    versions: Mapping[str, object]
    """Versions of its channels."""
    refs: Mapping[str, Ref]
    """What names the value of each channel."""
    needs: Mapping[str, frozenset[bytes]]
    """Hashes of the contents that each channel needs."""
    payload: bytes = b""
    """All but its values, and what names them, as msgpack."""
    contents: tuple[Content, ...] = field(default=(), repr=False)
    """What has to be stored with it: those that its parent does not need."""

    @cached_property
    def hashes(self) -> frozenset[bytes]:
        """Hashes of all contents that it needs."""
        return frozenset[bytes]().union(*self.needs.values())


class Packer:
    """Take checkpoints apart and put them together, by a serializer."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._hash_of: OrderedDict[int, tuple[BaseMessage, tuple[object, object], bytes]] = OrderedDict()
        self._read: OrderedDict[bytes, BaseMessage] = OrderedDict()

    def pack(self, checkpoint: Checkpoint, parent: Packed | None, outer: Packed | None = None) -> Packed:
        """Take a checkpoint apart; what has the version that it has in the parent is not looked at.

        Contents that the parent needs are not stored again, nor those of the graph outside of a lane.
        """
        values, versions = (
            checkpoint["channel_values"],
            dict(checkpoint["channel_versions"]),
        )  # LangGraph changes it
        stored = frozenset[bytes]().union(*(other.hashes for other in (parent, outer) if other))
        refs: dict[str, Ref] = {}
        needs: dict[str, frozenset[bytes]] = {}
        new: dict[bytes, Content] = {}
        for channel, value in values.items():
            if parent and _is_unchanged(channel, versions, parent):
                refs[channel], needs[channel] = parent.refs[channel], parent.needs[channel]
            else:
                refs[channel], contents = self._spelled(value, stored)
                needs[channel] = frozenset(contents)
                new |= {digest: row for digest, row in contents.items() if row and digest not in stored}
        rest = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        payload = self._serde.dumps_typed({**rest, "refs": refs})[1]
        return Packed(checkpoint["id"], versions, refs, needs, payload, tuple(new.values()))

    def write(self, value: object, outer: Packed | None) -> tuple[Content, list[Content]]:
        """Spell what a task wrote, and what has to be stored for it beside what the checkpoint needs."""
        if not _is_log(value):
            return self._content(value), []
        stored = outer.hashes if outer else frozenset()
        log, contents = self._log(cast(list[BaseMessage], value), stored)
        return log, [row for row in contents.values() if row and row.hash not in stored and row is not log]

    def _content(self, value: object) -> Content:
        kind, payload = self._serde.dumps_typed(value)
        return Content(_hash(kind, payload), kind, payload)

    def _spelled(self, value: object, stored: frozenset[bytes]) -> tuple[Ref, dict[bytes, Content | None]]:
        """Name a value, and spell its contents; None stands for one that is stored."""
        if _is_short(value):
            return [value], {}
        if _is_log(value):
            log, contents = self._log(cast(list[BaseMessage], value), stored)
            return log.hash, contents
        if _holds_log(value):
            named = {
                name: self._spelled(part, stored) for name, part in cast("dict[str, object]", value).items()
            }
            contents = {digest: row for _, rows in named.values() for digest, row in rows.items()}
            return {name: ref for name, (ref, _) in named.items()}, contents
        row = self._content(value)
        return row.hash, {row.hash: row}

    def _log(
        self, messages: list[BaseMessage], stored: frozenset[bytes]
    ) -> tuple[Content, dict[bytes, Content | None]]:
        contents: dict[bytes, Content | None] = {}
        items = []
        for message in messages:
            if (digest := self._known(message)) in stored:
                contents.setdefault(digest, None)
            else:
                row = self._content(message)
                digest = row.hash
                contents[digest] = row
                self._know(message, digest)
            items.append(digest)
        index = b"".join(items)
        log = Content(_hash(LOG, index), LOG, index)
        return log, {**contents, log.hash: log}

    def _known(self, message: BaseMessage) -> bytes:
        """Return the hash of a message that was spelled before, if its content and id are still the same."""
        before, (content, name), digest = self._hash_of.get(id(message), (None, (None, None), b""))
        return digest if before is message and message.content is content and message.id == name else b""

    def _know(self, message: BaseMessage, digest: bytes) -> None:
        _remember(self._hash_of, id(message), (message, (message.content, message.id), digest))

    def unpack(
        self, payload: bytes, contents: Callable[[Iterable[bytes]], Mapping[bytes, tuple[str, bytes]]]
    ) -> tuple[Checkpoint, Packed]:
        """Put a checkpoint together; `contents` reads types and bytes by their hashes.

        Raises SetupError for bytes that hold what this program never writes, LookupError where some are gone.
        """
        plain: dict[str, Any] = self._serde.loads_typed(("msgpack", payload))
        refs: dict[str, Ref] = plain.pop("refs")
        rows = contents(set(hashes_in(refs.values())))
        items = {digest for kind, value in rows.values() if kind == LOG for digest in log_items(value)}
        every = {**rows, **contents(items - rows.keys())} if items else rows
        values: dict[str, object] = {}
        needs: dict[str, frozenset[bytes]] = {}
        for channel, ref in refs.items():
            values[channel] = self._built(ref, every)
            named = set(hashes_in([ref]))
            logs = (value for kind, value in map(every.__getitem__, named) if kind == LOG)
            needs[channel] = frozenset(named).union(*map(log_items, logs))
        checkpoint = cast(Checkpoint, {**plain, "channel_values": values})
        return checkpoint, Packed(checkpoint["id"], dict(checkpoint["channel_versions"]), refs, needs)

    def _built(self, ref: Ref, every: Mapping[bytes, tuple[str, bytes]]) -> object:
        if isinstance(ref, dict):
            return {name: self._built(part, every) for name, part in ref.items()}
        return ref[0] if isinstance(ref, list) else self.value(every[ref], every)

    def value(self, row: tuple[str, bytes], every: Mapping[bytes, tuple[str, bytes]]) -> object:
        """Build a value from its type and bytes; of a log, `every` has the messages."""
        kind, payload = row
        if kind != LOG:
            return self._serde.loads_typed(row)
        messages = []
        for digest in log_items(payload):
            message = self._message(digest, every)
            self._know(message, digest)
            messages.append(message)
        return messages

    def _message(self, digest: bytes, every: Mapping[bytes, tuple[str, bytes]]) -> BaseMessage:
        """Build a message; one that was built before is copied, which takes a tenth of the time."""
        row = every[digest]
        if (message := self._read.get(digest)) is None:
            message = self._serde.loads_typed(row)
            _remember(self._read, digest, message)
        return _copy(message)


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    """Add what is newest to a dictionary, and forget what is oldest where it is full.

    Were it emptied instead, the messages of a long thread, just read, would all be spelled again.
    """
    known[key] = value
    known.move_to_end(key)
    while len(known) > MOST_KNOWN:
        known.popitem(last=False)


def _copy(message: BaseMessage) -> BaseMessage:
    """Copy a message so that whoever changes the one does not change the other."""
    copy = message.model_copy()
    for name, value in message.__dict__.items():
        if isinstance(value, list | dict):
            copy.__dict__[name] = deepcopy(value) if value else type(value)()
    return copy


def _is_unchanged(channel: str, versions: Mapping[str, object], parent: Packed) -> bool:
    version = versions.get(channel)
    return version is not None and parent.versions.get(channel) == version and channel in parent.refs


def _is_short(value: object) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) in _PLAIN or (type(value) is str and len(value) <= SHORT)


def _is_log(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, BaseMessage) for item in value)


def _holds_log(value: object) -> bool:
    if type(value) is not dict or not all(type(name) is str for name in value):
        return False
    return any(map(_is_log, value.values()))


def _hash(kind: str, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=HASH_BYTES, person=kind.encode()[:16]).digest()
