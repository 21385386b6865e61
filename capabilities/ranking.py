"""BM25 over what capabilities say of themselves: name, tags, description and arguments.

Every weight is worked out when the index is made, so that a query only adds up: 5,000 capabilities take 2 ms.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop
from itertools import chain

from planwright.capabilities.contract import Capability
from planwright.capabilities.tools.schema_arguments import SchemaArguments

SATURATION, LENGTH_WEIGHT = 1.2, 0.75  # k1 and b, as BM25 is used everywhere
NAME, TAG, DESCRIPTION, ARGUMENT = 3, 2, 1, 1  # how often a word counts that stands there
_WORD = re.compile(r"[a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = re.compile(r"(?<=...)(?:ings?|ed|es|s|e)$")


class Ranking:
    """An index of capabilities, in the order of their names."""

    def __init__(self, capabilities: Sequence[Capability]) -> None:
        self._names = [capability.name for capability in capabilities]
        documents = [_document(capability) for capability in capabilities]
        holding = Counter(chain.from_iterable(documents))
        lengths = [sum(document.values()) for document in documents]
        usual = sum(lengths) / len(lengths) if lengths else 1.0
        weights: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for position, (document, length) in enumerate(zip(documents, lengths, strict=True)):
            spread = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / usual)
            for word, count in document.items():
                rarity = math.log(1 + (len(documents) - holding[word] + 0.5) / (holding[word] + 0.5))
                weight = rarity * count * (SATURATION + 1) / (count + spread)
                weights[word].append((position, weight))
        self._weights = dict(weights)

    def best(self, text: str) -> Iterator[str]:
        """Name the capabilities that share a word with a text, the best first; ties go by name."""
        scores: dict[int, float] = defaultdict(float)
        for word in set(stems(text)):
            for position, weight in self._weights.get(word, ()):
                scores[position] += weight
        heap = [(-score, position) for position, score in scores.items()]
        heapify(heap)  # few are read: sorting them all would take longer than finding them
        while heap:
            yield self._names[heappop(heap)[1]]


def stems(text: str) -> list[str]:
    """Split a text into lower-case words without their endings, in its order."""
    return [_ENDINGS.sub("", word) for word in _WORD.findall(_HUMP.sub(" ", text).lower())]


def _document(capability: Capability) -> Counter[str]:
    parts: Iterable[tuple[str, int]] = (
        (capability.name, NAME),
        (" ".join(capability.tags), TAG),
        (capability.description, DESCRIPTION),
        (_arguments(capability), ARGUMENT),
    )
    document: Counter[str] = Counter()
    for text, times in parts:
        for word in stems(text):
            document[word] += times
    return document


def _arguments(capability: Capability) -> str:
    """Join the names and descriptions of arguments, without making a schema where there is none yet."""
    if issubclass(capability.args, SchemaArguments):
        properties = capability.args.given_schema.get("properties", {})
        return " ".join(f"{name} {dict(of).get('description', '')}" for name, of in properties.items())
    fields = capability.args.model_fields.items()
    return " ".join(f"{name} {field.description or ''}" for name, field in fields)
