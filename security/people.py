"""The people that are known, by what their provider says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planwright.domain.errors import SetupError
from planwright.language.first_person import folded
from planwright.security.credentials import Caller
from planwright.settings.settings import Settings


class People:
    """Whoever may sign in at the provider, by the claim that tells people apart."""

    def __init__(self, callers: Mapping[str, Caller], claim: str) -> None:
        self._callers = dict(callers)
        self._claim = claim

    def caller(self, identity: str) -> Caller | None:
        """Find the person with an identity; None for a stranger."""
        return self._callers.get(identity_key(identity, self._claim))

    def callers(self) -> Iterable[Caller]:
        """List them."""
        return self._callers.values()


def read_people(settings: Settings) -> People:
    """Read `[people]`.

    Raises SetupError for an identity or a name that is there twice, and for half a provider.
    """
    sign_in, callers, names = settings.sign_in, dict[str, Caller](), set[tuple[str, str]]()
    for name, person in settings.people.items():
        identity = identity_key(person.identity, sign_in.claim)
        if identity in callers:
            cause = f"[people.{name}] has the identity of another person, too"
            raise SetupError(cause, "give each person an identity of their own; one may have several rights")
        caller = Caller(person.name or person.identity, person.tenant, person.rights)
        if (caller.tenant, caller.person) in names:
            cause = f"[people.{name}] signs decisions as another person does, too: {caller.person}"
            raise SetupError(cause, "give each person a name of their own")
        names.add((caller.tenant, caller.person))
        callers[identity] = caller
    if callers and not sign_in.issuer:
        raise SetupError("[people] can sign in nowhere", "name their provider: [sign_in] issuer")
    if sign_in.issuer and not (sign_in.client_id and callers):
        missing = "a client_id" if callers else "people: [people.NAME]"
        raise SetupError(f"[sign_in] names an issuer without {missing}", "see docs/guides/people.md")
    return People(callers, sign_in.claim)


def identity_key(identity: str, claim: str) -> str:
    """Spell an identity as it is compared: an address without regard to capitals of A to Z."""
    return folded(identity.strip(" ")) if claim == "email" else identity
