"""Take a checkpoint apart into values by the hash of their bytes, and put it together again.

Most of a state does not change from one superstep to the next, and a conversation only grows. So a value is
stored once, a log of messages is a list of hashes, and a checkpoint names what it holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from planwright.checkpoints.thread_state.layout import HASH_BYTES, LOG, hashes_in, items_of, log_items

K = TypeVar("K")
V = TypeVar("V")
Ref: TypeAlias = "bytes | list[Any] | dict[str, Ref]"
"""How a checkpoint names a value: by hash, or a short plain one as it is, alone in a list.

An input with a conversation in it is named field by field, so that no message is stored again for it.
"""
Rows: TypeAlias = Mapping[bytes, tuple[str, bytes]]
"""Types and bytes of contents, by their hashes."""
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
    hashes: frozenset[bytes]
    """Hashes of all contents that it needs."""
    payload: bytes = b""
    """All but its values, and what names them, as msgpack."""
    contents: tuple[Content, ...] = field(default=(), repr=False)
    """What has to be stored with it: those that its parent does not need."""


class _Spelled(NamedTuple):
    """A value by its contents."""

    ref: Ref
    """How a checkpoint names it."""
    needs: frozenset[bytes]
    """Hashes of all its contents."""
    rows: dict[bytes, Content]
    """Those of them that may not be stored yet, by their hashes."""


Unpacked: TypeAlias = tuple[Checkpoint, Packed]
"""A checkpoint that was put together, and what it was put together from."""


class Packer:
    """Take checkpoints apart and put them together, by a serializer."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._hash_of: OrderedDict[int, tuple[BaseMessage, BaseMessage, bytes]] = OrderedDict()
        self._read: OrderedDict[bytes, BaseMessage] = OrderedDict()

    def pack(self, checkpoint: Checkpoint, parent: Packed | None, outer: Packed | None = None) -> Packed:
        """Take a checkpoint apart; what has the version that it has in the parent is not looked at.

        Contents that the parent needs are not stored again, nor those of the graph outside of a lane.
        """
        versions = dict(checkpoint["channel_versions"])  # LangGraph changes it
        stored = parent.hashes if parent else frozenset()
        if outer:
            stored = stored | outer.hashes if stored else outer.hashes
        refs: dict[str, Ref] = {}
        needs: dict[str, frozenset[bytes]] = {}
        new: dict[bytes, Content] = {}
        for channel, value in checkpoint["channel_values"].items():
            if parent and _is_unchanged(channel, versions, parent):
                refs[channel], needs[channel] = parent.refs[channel], parent.needs[channel]
            else:
                refs[channel], needs[channel], rows = self._format(value, stored)
                new |= {digest: row for digest, row in rows.items() if digest not in stored}
        rest = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        payload = self._serde.dumps_typed({**rest, "refs": refs})[1]
        hashes = frozenset[bytes]().union(*needs.values())
        return Packed(checkpoint["id"], versions, refs, needs, hashes, payload, tuple(new.values()))

    def write(self, value: object, outer: Packed | None) -> tuple[Content, list[Content]]:
        """Spell what a task wrote, and what has to be stored for it beside what the checkpoint needs."""
        if not _is_log(value):
            return self._content(value), []
        stored = outer.hashes if outer else frozenset()
        log, spelled = self._log(cast(list[BaseMessage], value), stored)
        return log, [row for row in spelled.rows.values() if row.hash not in stored and row is not log]

    def _content(self, value: object) -> Content:
        kind, payload = self._serde.dumps_typed(value)
        return Content(_hash(kind, payload), kind, payload)

    def _format(self, value: object, stored: frozenset[bytes]) -> _Spelled:
        """Name a value, and spell those of its contents that are not stored."""
        if _is_short(value):
            return _Spelled([value], frozenset(), {})
        if _is_log(value):
            return self._log(cast(list[BaseMessage], value), stored)[1]
        if _holds_log(value):
            fields = cast("dict[str, object]", value).items()
            parts = {name: self._format(part, stored) for name, part in fields}
            needs = frozenset[bytes]().union(*(part.needs for part in parts.values()))
            rows = {digest: row for part in parts.values() for digest, row in part.rows.items()}
            return _Spelled({name: part.ref for name, part in parts.items()}, needs, rows)
        row = self._content(value)
        return _Spelled(row.hash, frozenset((row.hash,)), {row.hash: row})

    def _log(self, messages: list[BaseMessage], stored: frozenset[bytes]) -> tuple[Content, _Spelled]:
        items = self._known(messages)
        rows: dict[bytes, Content] = {}
        if not stored.issuperset(items):
            for number, message in enumerate(messages):
                if items[number] not in stored:
                    row = self._content(message)
                    items[number], rows[row.hash] = row.hash, row
                    self._know([(message, _copy(message), row.hash)])
        index = b"".join(items)
        log = Content(_hash(LOG, index), LOG, index)
        return log, _Spelled(log.hash, frozenset((*items, log.hash)), {**rows, log.hash: log})

    def _known(self, messages: list[BaseMessage]) -> list[bytes]:
        """Return the hashes of messages; "" for one that is new, or that was changed where it stands."""
        hash_of = self._hash_of
        return [
            entry[2]
            if (entry := hash_of.get(id(message))) is not None
            and entry[0] is message
            and _is_same(entry[1], message)
            else b""
            for message in messages
        ]

    def _know(self, entries: Iterable[tuple[BaseMessage, BaseMessage, bytes]]) -> None:
        """Remember the hashes of messages, each with a copy that nobody changes."""
        _remember(self._hash_of, {id(entry[0]): entry for entry in entries})

    def unpack(self, payload: bytes, contents: Callable[[Iterable[bytes]], Rows]) -> Unpacked:
        """Put a checkpoint together; `contents` reads types and bytes by their hashes.

        Messages that were built before are not read again: their hashes name what they hold.
        Raises SetupError for bytes that hold what this program never writes, LookupError where some are gone.
        """
        plain: dict[str, Any] = self._serde.loads_typed(("msgpack", payload))
        refs: dict[str, Ref] = plain.pop("refs")
        rows = contents(set(hashes_in(refs.values())))
        items = items_of(value for kind, value in rows.values() if kind == LOG)
        built = {digest: message for digest in items if (message := self._read.get(digest)) is not None}
        every = {**rows, **contents(items - rows.keys() - built.keys())} if items else rows
        values: dict[str, object] = {}
        needs: dict[str, frozenset[bytes]] = {}
        for channel, ref in refs.items():
            values[channel] = self._built(ref, every, built)
            named = frozenset(hashes_in([ref]))
            logs = [rows[digest][1] for digest in named if rows[digest][0] == LOG]
            needs[channel] = named.union(*map(log_items, logs))
        checkpoint = cast(Checkpoint, {**plain, "channel_values": values})
        hashes, versions = frozenset[bytes]().union(*needs.values()), dict(checkpoint["channel_versions"])
        return checkpoint, Packed(checkpoint["id"], versions, refs, needs, hashes)

    def _built(self, ref: Ref, every: Rows, built: dict[bytes, BaseMessage]) -> object:
        if isinstance(ref, dict):
            return {name: self._built(part, every, built) for name, part in ref.items()}
        return ref[0] if isinstance(ref, list) else self.value(every[ref], every, built)

    def value(
        self, row: tuple[str, bytes], every: Rows, built: dict[bytes, BaseMessage] | None = None
    ) -> object:
        """Build a value from its type and bytes; of a log, `every` has the messages that are not `built`."""
        kind, payload = row
        if kind != LOG:
            return self._serde.loads_typed(row)
        items, built = log_items(payload), {} if built is None else built
        new = {digest: self._serde.loads_typed(every[digest]) for digest in items if digest not in built}
        _remember(self._read, new)
        built |= new
        messages = [_copy(built[digest]) for digest in items]  # takes a tenth of the time of building them
        self._know((message, built[digest], digest) for message, digest in zip(messages, items, strict=True))
        return messages


def _remember(known: OrderedDict[K, V], new: Mapping[K, V]) -> None:
    """Add what is new to a dictionary, and forget what is oldest where it is full.

    Were it emptied instead, the messages of a long thread, just read, would all be spelled again.
    """
    known.update(new)
    while len(known) > MOST_KNOWN:
        known.popitem(last=False)


def _copy(message: BaseMessage) -> BaseMessage:
    """Copy a message so that whoever changes the one does not change the other."""
    copy = message.model_copy()
    fields = copy.__dict__
    for name, value in fields.items():
        if type(value) is dict:
            fields[name] = {key: part if type(part) is str else deepcopy(part) for key, part in value.items()}
        elif isinstance(value, list | dict):
            fields[name] = deepcopy(value) if value else type(value)()
    if extra := copy.__pydantic_extra__:
        object.__setattr__(copy, "__pydantic_extra__", deepcopy(extra))
    return copy


def _is_same(known: BaseMessage, message: BaseMessage) -> bool:
    """Say whether messages hold the same; what cannot say so itself, as an array, does not."""
    try:
        same_extra = known.__pydantic_extra__ == message.__pydantic_extra__
        return same_extra and known.__dict__ == message.__dict__
    except (ValueError, TypeError):
        return False


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
