"""The registry: everything that can be done, fixed while a run is on."""

from __future__ import annotations

import importlib
import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType, ModuleType

from planwright.capabilities.contract import Capability
from planwright.capabilities.ranking import Ranking
from planwright.capabilities.trust.workspace_modules import serve
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.domain.hashing import sha256
from planwright.domain.plan import CLOSING, WHOLE
from planwright.language.first_person import folded
from planwright.settings.profile import RunProfile, stands_for
from planwright.settings.settings import FILE_NAME

BUILT_IN = tuple(
    "clock memory files documents mail.mail mail.drafts mail.smtp calendar tickets sql channel http text"
    " answer delegate results chain".split()
)
ALWAYS = ("datetime.now", "memory.search")
TOOL_SEARCH = "tools.search"  # how a loop asks for more tools; it is no capability
MOST_DERIVED = 64
_SEPARATOR = re.compile(r"[._-]+")
_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> set[str]:
    """Split a text into lower-case words, without a plural s."""
    return {
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower())
    }


class Registry:
    """An immutable set of capabilities, by name.

    `prohibit` are names or globs of what is left out; no glob takes a run its last words. `absent` are the
    MCP servers whose tools are not there, by what the names of those tools begin with.
    """

    def __init__(
        self,
        capabilities: Iterable[Capability],
        prohibit: Iterable[str] = (),
        absent: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._prohibit = tuple(prohibit)
        left_out: set[str] = set()
        by_name: dict[str, Capability] = {}
        spelled: set[str] = set()
        taken: list[str] = []
        for capability in capabilities:
            if capability.name == TOOL_SEARCH:
                raise SetupError(
                    f"the name {TOOL_SEARCH} is taken: by it a loop finds more tools", "rename it"
                )
            if (alike := folded(capability.name)) in spelled and capability.server:
                taken.append(capability.name)  # a server may have a new tool at any time
                continue
            if alike in spelled:
                raise SetupError(f"two capabilities are named {capability.name}", "rename one of them")
            spelled.add(alike)
            if self.prohibits(capability.name):
                left_out.add(capability.name)
            else:
                by_name[capability.name] = capability
        self.left_out = frozenset(left_out)
        self.taken = tuple(taken)
        """Names of tools of MCP servers that are left out: others have these names."""
        self._by_name: Mapping[str, Capability] = MappingProxyType(by_name)
        self._names = sorted(by_name)
        self._absent = absent
        self._index = _index(by_name[name] for name in self._names)
        self._ranking: Ranking | None = None
        self._withheld: Mapping[str, str] = {}
        self._derived: dict[tuple[object, ...], Registry] = {}
        self.chains: tuple[str, ...] = ()
        self.hash = sha256([by_name[name].fingerprint() for name in self._names])

    def __iter__(self) -> Iterator[Capability]:
        return (self._by_name[name] for name in self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> Sequence[str]:
        """The names of all capabilities, in their order."""
        return self._names

    def matches(self, text: str) -> Iterator[str]:
        """Name the capabilities that share a word with a text, the best first by BM25."""
        if self._ranking is None:
            self._ranking = Ranking([self._by_name[name] for name in self._names])
        return self._ranking.best(text)

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Capability | None:
        """Look a capability up by its exact name."""
        return self._by_name.get(name)

    def __getitem__(self, name: str) -> Capability:
        """Read a capability that is there, as `verify` has made sure of. Raises KeyError where it is not."""
        return self._by_name[name]

    def require(self, name: str) -> Capability:
        """Look up what a person names. Raises SetupError for what is not there, with the nearest names."""
        if name in self._by_name:
            return self._by_name[name]
        if self.absent_server(name):
            raise SetupError(self.why_unknown(name), "see why: planwright mcp ls")
        near = ", ".join(self.near(name)) or "none is near"
        raise SetupError(self.why_unknown(name), f"nearest: {near}; all: planwright capabilities")

    def prohibits(self, name: str) -> bool:
        """Say whether the settings leave a capability out, by its name or by a glob."""
        by_glob = name not in (*CLOSING, WHOLE) and any(stands_for(glob, name) for glob in self._prohibit)
        return name in self._prohibit or by_glob

    def absent_server(self, name: str) -> str:
        """Name the MCP server that a tool, or a pattern of tools, is of, if it is not there; else ""."""
        prefix, dot, _ = name.partition(".")
        return self._absent.get(prefix, "") if dot and name not in self._by_name else ""

    def why_unknown(self, name: str) -> str:
        """Say why there is no capability of a name."""
        if server := self.absent_server(name):
            return f"{name} is of the MCP server `{server}`, which is not there"
        return f"there is no capability {name}"

    def within(self, profile: RunProfile) -> Registry:
        """Narrow the registry to what a profile permits; made once for the same tools and modes."""
        key = (profile.tools, profile.modes)
        if key == (None, None):
            return self

        def narrow() -> Registry:
            reasons = {tool.name: profile.why_not(tool.name, tool.mode) for tool in self}
            permitted = (tool.where_named(profile.tools or ()) for tool in self if not reasons[tool.name])
            narrowed = Registry(permitted, absent=self._absent)
            narrowed._withheld = {name: reason for name, reason in reasons.items() if reason}
            return narrowed

        return self.derived(key, narrow)

    def derived(self, key: tuple[object, ...], derive: Callable[[], Registry]) -> Registry:
        """Return the registry that was derived from this one under a key, or derive it now."""
        if key not in self._derived:
            while len(self._derived) >= MOST_DERIVED:
                del self._derived[next(iter(self._derived))]
            self._derived[key] = derive()
        return self._derived[key]

    def beside(self, chains: Iterable[Capability]) -> Registry:
        """Lay the chains of one run over the registry, which stays as it is."""
        added = list(chains)
        joined = Registry([*self, *added], absent=self._absent)
        joined._withheld = self._withheld
        joined.chains = tuple(dict.fromkeys([*self.chains, *(chain.name for chain in added)]))
        return joined

    def withholds(self, name: str) -> bool:
        """Say whether there is such a capability, but not for this profile."""
        return name in self._withheld

    def why_withheld(self, name: str) -> str:
        """Say why a capability is not for this profile; empty for any other name."""
        return self._withheld.get(name, "")

    def near(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """Suggest the names nearest to one that does not exist."""
        from rapidfuzz import fuzz, process  # here: only a mistake needs it

        spelled = {known: _SEPARATOR.sub(" ", known) for known in self._names}
        wanted = _SEPARATOR.sub(" ", name.lower())
        matches = process.extract(wanted, spelled, scorer=fuzz.token_sort_ratio, limit=limit, score_cutoff=45)
        return tuple(str(match[2]) for match in matches)

    def rank(self, text: str, limit: int, fits: Callable[[Capability], bool] = lambda _: True) -> list[str]:
        """Name the capabilities that fit a text best, of those that `fits` lets pass.

        A tag that occurs in the text counts 1.0, a word of the description 0.5; ties go by
        name. `datetime.now` and `memory.search` are always among them, and never what is offered
        by itself once there is a shortened result to read.
        """
        always = [name for name in ALWAYS if name in self._by_name]
        apart = {*always, WHOLE}
        ranked = (n for n in self._by_score(text) if n not in apart and fits(self._by_name[n]))
        return [*islice(ranked, max(0, limit - len(always))), *always]

    def _by_score(self, text: str) -> Iterator[str]:
        """Name all capabilities, the best first; what nobody asks for is not sorted (5,000 in 2 ms)."""
        scores: dict[int, float] = defaultdict(float)
        for word in words(text):
            for position, weight in self._index.get(word, ()):
                scores[position] += weight
        by_score: dict[float, list[int]] = defaultdict(list)
        for position, score in scores.items():
            by_score[score].append(position)
        for score in sorted(by_score, reverse=True):
            yield from (self._names[position] for position in sorted(by_score[score]))
        yield from (name for position, name in enumerate(self._names) if position not in scores)


def _index(capabilities: Iterable[Capability]) -> dict[str, list[tuple[int, float]]]:
    index: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for position, capability in enumerate(capabilities):
        tags = words(" ".join(capability.tags))
        for word in tags:
            index[word].append((position, 1.0))
        for word in words(capability.description) - tags:
            index[word].append((position, 0.5))
    return dict(index)


def load_registry(
    workspace: Path,
    modules: Iterable[str] = (),
    prohibit: Iterable[str] = (),
    more: Iterable[Capability] = (),
    absent: Mapping[str, str] = MappingProxyType({}),
    has_data: Mapping[str, Callable[[], bool]] = MappingProxyType({}),
) -> Registry:
    """Collect the built-in capabilities, those of the user's modules, and `more` from elsewhere.

    `absent` are the MCP servers whose tools are not there; `has_data` says of some built-in capabilities,
    by name, whether the workspace has what they work on.
    Raises SetupError for a module that cannot be imported or declares none, and for an entry of `prohibit`
    that prohibits nothing; one about an MCP server that is not there may.
    """
    capabilities: list[Capability] = []
    for name in BUILT_IN:
        declared = _declared_in(importlib.import_module(f"planwright.capabilities.builtin.{name}"))
        capabilities += [
            replace(tool, has_data=has_data[tool.name]) if tool.name in has_data else tool
            for tool in declared
        ]
    built_in, own_modules, prohibit = len(capabilities), tuple(modules), tuple(prohibit)
    serve(workspace, own_modules)
    for name in own_modules:
        declared = _declared_in(_import(name, workspace))
        if not declared:
            raise SetupError(
                f"the module {name} declares no capability",
                "decorate a function with @capability(…), or take it out of capabilities.modules",
            )
        capabilities += declared
    own = [*capabilities[built_in:], *more]
    for capability in own:
        _ = capability.digest  # of what was loaded, not of what its file says when it is looked at
    registry = Registry([*capabilities[:built_in], *own], prohibit, absent)
    for entry in prohibit:
        server = entry.partition(".")[0]
        if not any(stands_for(entry, name) for name in registry.left_out) and not any(
            stands_for(server, prefix) for prefix in absent
        ):
            near = ", ".join(registry.near(entry)) or "see planwright capabilities"
            cause = f"`capabilities.prohibit`: there is no capability {entry!r}, so it prohibits nothing"
            raise SetupError(f"{workspace / FILE_NAME}: {cause}", f"nearest: {near}")
    return registry


def _declared_in(module: ModuleType) -> list[Capability]:
    return [value for value in vars(module).values() if isinstance(value, Capability)]


def _import(name: str, workspace: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except PlanwrightError:
        raise
    except (Exception, SystemExit) as error:
        cause = f"cannot import {name}, listed in capabilities.modules: {type(error).__name__}: {error}"
        place = _place_in(workspace, error)
        put = f"put {name.replace('.', '/')}.py into {workspace}, or install the package it belongs to"
        raise SetupError(cause, f"mend {place}" if place else put) from error


def _place_in(workspace: Path, error: BaseException) -> str:
    """Name file and line of a workspace that an error comes from; "" where it comes from no such file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(workspace)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""
