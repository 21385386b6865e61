"""The decorator: what it assumes, and what it refuses at import."""

from __future__ import annotations

import inspect
import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, Field, JsonValue, SecretStr

from planwright.capabilities.arguments import as_called, check_arguments, misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability, Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.tools.langchain_tool import from_tool
from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.domain.risk import Effect, Mode, Risk


class Address(BaseModel):
    """Where to."""

    city: str
    zip: int = 0


@capability("parcel.send", mode="network", tags=("parcel",), guide=Guide("Sends a parcel.", priority=7))
def send(address: Address, weight: float, call: CallContext, note: str = "none") -> dict[str, int]:
    """Send a parcel
    to somebody.

    Not part of the description.
    """
    return {address.city: int(weight)}


def test_a_declaration_is_read_off_the_function() -> None:
    assert (send.name, send.description) == ("parcel.send", "Send a parcel to somebody.")
    assert set(send.args_schema["properties"]) == {"address", "weight", "note"}
    assert send.args_schema["required"] == ["address", "weight"]
    assert send.args_schema["additionalProperties"] is False
    assert send.context_parameter == "call"
    assert send.result_schema["type"] == "object"
    assert (send.guide.priority, send.tags, send.declared) == (7, ("parcel",), True)


def test_arguments_are_completed_with_their_defaults() -> None:
    found = check_arguments(send, {"address": {"city": "Delft"}, "weight": "2.5"})
    assert found == {"address": {"city": "Delft", "zip": 0}, "weight": 2.5, "note": "none"}


def test_what_is_none_by_default_may_be_none_whatever_its_type_says() -> None:
    @capability("parcel.find", mode="read_only")
    def find(city: str, most: Annotated[int, Field(gt=0)] = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
        """Find a parcel."""
        return f"{city} {most}"

    assert check_arguments(find, {"city": "Delft"}) == {"city": "Delft", "most": None}
    with pytest.raises(CapabilityRejected, match="most: input should be greater than 0"):
        check_arguments(find, {"city": "Delft", "most": 0})


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"address": {"city": "Delft"}}, "weight: field required"),
        ({"address": {}, "weight": 1}, "address.city: field required"),
        ({"address": {"city": "Delft"}, "weight": "heavy"}, "weight: input should be a valid number"),
        (
            {"address": {"city": "Delft"}, "weight": 1, "colour": "red"},
            "colour: extra inputs are not permitted",
        ),
        ({"address": {"city": "Delft"}, "weight": 1, "call": {}}, "call: extra inputs are not permitted"),
    ],
    ids=["missing", "missing inside", "wrong type", "unknown", "the context"],
)
def test_wrong_arguments_are_explained_on_one_line(params: dict[str, Any], said: str) -> None:
    with pytest.raises(CapabilityRejected) as refused:
        check_arguments(send, params)
    assert refused.value.cause.startswith(f"parcel.send was given bad arguments: {said}")
    assert "\n" not in refused.value.cause


def known_city(city: str) -> str:
    """Look a city up, as its author did, with nothing said of one that is not there."""
    return {"Delft": "NL"}[city] and city


@capability("parcel.post", mode="network")
def post(city: Annotated[str, AfterValidator(known_city)]) -> str:
    """Post a parcel."""
    return city


def test_a_check_of_the_author_that_breaks_refuses_the_call() -> None:
    assert check_arguments(post, {"city": "Delft"}) == {"city": "Delft"}
    with pytest.raises(CapabilityRejected, match=r"arguments of parcel\.post broke: KeyError"):
        check_arguments(post, {"city": "Ghent"})
    assert "broke: KeyError" in next(misfits(post, {"city": "Ghent"}))
    assert not [*misfits(post, {"city": "{{steps.s1.output.city}}"})]  # what it will be is not known yet


@pytest.mark.parametrize(
    ("mode", "risk", "effect"),
    [
        ("read_only", "None", "pure"),
        ("local_write", "Low", "blind"),
        ("network", "Medium", "blind"),
        ("delegated", "High", "blind"),
        ("destructive", "Critical", "blind"),
    ],
)
def test_risk_and_effect_follow_the_mode(mode: Mode, risk: Risk, effect: Effect) -> None:
    found = capability("a.b", mode=mode)(documented)
    assert (found.risk, found.effect, found.declared) == (risk, effect, True)


def test_a_capability_without_a_mode_is_destructive_and_says_so() -> None:
    found = capability("a.b")(documented)
    assert (found.mode, found.risk, found.effect, found.declared) == (
        "destructive",
        "Critical",
        "blind",
        False,
    )


def documented() -> str:
    """Do something."""
    return ""


@pytest.mark.parametrize(
    "name", ["", "A.b", "a.", ".a", "a..b", "a b", "1a", "a.b!", "ä.b", "a/b", "a.b\n", "__a", "a.1"]
)
def test_a_name_that_is_not_domain_and_verb_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match="is no capability name"):
        capability(name)(documented)


@pytest.mark.parametrize("name", ["respond", "a.b", "a.b.c", "calendar.list_all", "my-domain.do-it", "x1.y2"])
def test_a_plain_name_is_accepted(name: str) -> None:
    assert capability(name)(documented).name == name


def undocumented() -> str:
    return ""


def untyped(a, b: int) -> str:  # type: ignore[no-untyped-def]
    """Take something."""
    return f"{a}{b}"


def without_result(a: int):  # type: ignore[no-untyped-def]
    """Return something."""
    return a


def with_args(*a: int) -> str:
    """Take many."""
    return str(a)


def with_kwargs(**a: int) -> str:
    """Take many by name."""
    return str(a)


def with_unknown_type(a: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Take something."""
    return str(a)


def with_a_lock(a: threading.Lock) -> str:
    """Take a lock."""
    return str(a)


def with_a_function(a: Callable[[], int]) -> str:
    """Take a function."""
    return str(a)


def positional(a: int, /) -> str:
    """Take something by position only."""
    return str(a)


def underscored(_a: int) -> str:
    """Take something of an odd name."""
    return str(_a)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (undocumented, "has no docstring"),
        (untyped, "`a` has no type hint"),
        (without_result, "does not say what it returns"),
        (with_args, "`a` has no type hint"),
        (with_kwargs, "`a` has no type hint"),
        (with_unknown_type, "Nowhere"),
        (with_a_lock, "Lock|lock"),
        (with_a_function, "Callable|callable"),
        (positional, "`a`"),
        (underscored, "`?_a`?"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_an_incomplete_declaration_is_refused_at_import(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(SetupError, match=said) as refused:
        capability("a.b", mode="read_only")(function)
    assert refused.value.next_step


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "network"},
        {"risk": "High"},
        {"effect": "idempotent"},
        {"guide": Guide("Never use this.")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_fingerprint_covers_what_decides_how_a_plan_runs(change: dict[str, Any]) -> None:
    declared: dict[str, Any] = {"mode": "local_write", "risk": "Low", "effect": "blind"}
    plain: Capability = capability("a.b", **declared)(documented)
    changed: Capability = capability("a.b", **{**declared, **change})(documented)
    assert plain.fingerprint() != changed.fingerprint()
    assert plain.fingerprint() == capability("a.b", **declared)(documented).fingerprint()


def variable(said: Any) -> Capability:
    def vary(args: Any, call: CallContext) -> Any:
        return said[args["n"]]

    @capability("a.vary", mode="network", risk="High", effect="idempotent", varies=vary)
    def act(n: str) -> str:
        """Do something."""
        return n

    return act


@pytest.mark.parametrize("said", [("Low", "pure"), ("High", "idempotent")])
def test_risk_and_effect_may_follow_from_the_arguments(
    make_world: Callable[..., CallContext], said: tuple[str, str]
) -> None:
    narrowed = variable({"x": said}).narrowed({"n": "x"}, make_world())
    assert (narrowed.risk, narrowed.effect) == said


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("Critical", "pure"), "graver than it declares"),
        (("Low", "blind"), "graver than it declares"),
        (None, "the risk of a.vary broke"),
        (("Huge", "pure"), "the risk of a.vary broke"),
    ],
)
def test_what_varies_stays_within_its_declaration(
    make_world: Callable[..., CallContext], said: Any, why: str
) -> None:
    with pytest.raises(CapabilityRejected, match=why):
        variable({"x": said}).narrowed({"n": "x"}, make_world())


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ({"mode": "readonly"}, "a.b: there is no mode 'readonly'"),
        ({"risk": "low"}, "a.b: there is no risk 'low'"),
        ({"effect": "none"}, "a.b: there is no effect 'none'"),
    ],
)
def test_a_word_that_is_none_is_refused_with_those_there_are(words: dict[str, Any], cause: str) -> None:
    with pytest.raises(SetupError, match=cause) as refused:

        @capability("a.b", **words)
        def work(text: str) -> str:
            """Work."""
            return text

    assert refused.value.next_step.startswith("take one of ")


@capability("bank.pay", mode="destructive")
def pay(amount: Annotated[float, AfterValidator(lambda cents: cents / 100)], to: str = "kim") -> float:
    """Pay an amount in cents."""
    return amount


@pytest.mark.parametrize("amount", [500, 1.5])
def test_arguments_that_each_check_changes_are_refused(amount: float) -> None:
    """They are checked to be shown, and again to be sent: the two would not be the same."""
    with pytest.raises(CapabilityRejected, match=r"arguments of bank\.pay changes amount"):
        check_arguments(pay, {"amount": amount})
    assert "changes amount" in next(misfits(pay, {"amount": amount}))


@capability("flag.flip", mode="destructive")
def flip(value: Annotated[JsonValue, AfterValidator(lambda one: one is not True or 1)]) -> str:
    """Flip the flag."""
    return str(value)


def test_arguments_whose_type_each_check_changes_are_refused() -> None:
    with pytest.raises(CapabilityRejected, match=r"arguments of flag\.flip changes value"):
        check_arguments(flip, {"value": True})


class Line(BaseModel):
    """One line of an order."""

    article: str = Field(alias="articleName")
    id: str = Field(default_factory=lambda: uuid.uuid4().hex)


class Login(BaseModel):
    """Who, and by which word."""

    name: str
    password: SecretStr


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (Annotated[str, Field(alias="from")], "has an alias"),
        (Annotated[str, Field(default_factory=lambda: uuid.uuid4().hex)], "another one each time"),
        (SecretStr, "is a secret"),
        (list[Login], "is a secret"),
    ],
)
def test_arguments_that_could_not_be_sent_as_shown_are_no_declaration(kind: Any, cause: str) -> None:
    def send(text: str) -> str:
        """Send."""
        return text

    send.__annotations__["text"] = kind
    with pytest.raises(SetupError, match=cause):
        capability("work.send")(send)


def test_a_default_that_is_made_alike_each_time_is_fine() -> None:
    @capability("work.send")
    def send(names: Annotated[list[str], Field(default_factory=list)]) -> int:
        """Send."""
        return len(names)

    assert check_arguments(send, {}) == {"names": []}


@capability("order.place")
def place(numbers: set[int], lines: list[Line]) -> int:
    """Place an order."""
    return len(numbers)


def test_a_set_has_no_order_of_its_own() -> None:
    assert set(check_arguments(place, {"numbers": [7, 15, 23], "lines": []})["numbers"]) == {7, 15, 23}  # type: ignore[arg-type]


def test_arguments_within_arguments_are_spelled_as_their_schema_has_them() -> None:
    lines: list[JsonValue] = [{"articleName": "tea", "id": "1"}]
    assert check_arguments(place, {"numbers": [], "lines": lines})["lines"] == lines


def test_values_that_are_drawn_within_an_argument_are_refused() -> None:
    with pytest.raises(CapabilityRejected, match="changes lines"):
        check_arguments(place, {"numbers": [], "lines": [{"articleName": "tea"}]})


@pytest.mark.parametrize("alias", [AliasChoices("a", "b"), AliasPath("a", 0)])
def test_other_kinds_of_aliases_are_refused_as_well(alias: Any) -> None:
    def send(text: Annotated[str, Field(validation_alias=alias)]) -> str:
        """Send."""
        return text

    send.__annotations__["text"] = Annotated[str, Field(validation_alias=alias)]
    with pytest.raises(SetupError, match="has an alias"):
        capability("work.send")(send)


def test_a_default_that_cannot_be_made_alone_is_refused() -> None:
    def send(text: str) -> str:
        """Send."""
        return text

    send.__annotations__["text"] = Annotated[str, Field(default_factory=lambda values: values["name"])]
    with pytest.raises(SetupError, match="cannot be made: KeyError"):
        capability("work.send")(send)


@capability("parcel.insure", mode="delegated")
def insure(urgent: bool, amount: float = 1.0) -> bool:
    """Insure a parcel."""
    return urgent


@pytest.mark.parametrize(
    ("params", "judged"),
    [
        ({"urgent": "yes"}, {"urgent": True, "amount": 1.0}),
        ({"urgent": "perhaps"}, {"urgent": "perhaps"}),
        ({"urgent": "{{steps.s1.output.urgent}}"}, {"urgent": "{{steps.s1.output.urgent}}"}),
    ],
)
def test_what_is_judged_is_what_would_be_sent(
    params: dict[str, JsonValue], judged: dict[str, JsonValue]
) -> None:
    assert as_called(insure, params) == judged


class Item(BaseModel):
    """One thing that is ordered."""

    sku: str
    tag: Address | str = ""


class Open(BaseModel, extra="allow"):
    """A record that may hold more than it declares."""

    name: str


@capability("items.place", mode="network")
def place_items(lines: list[Item], by_name: dict[str, Item], more: Open) -> None:
    """Place an order."""


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        ({"lines": [{"sku": "a"}, {"sku": "b", "note": "after 5 pm"}]}, "lines.1.note"),
        ({"by_name": {"x": {"sku": "a", "count": 2}}}, "by_name.x.count"),
        ({"lines": [{"sku": "a", "tag": {"city": "Rome", "floor": 3}}]}, "lines.0.tag.Address.floor"),
    ],
)
def test_a_nested_field_that_would_be_left_out_is_refused(changed: dict[str, Any], left_out: str) -> None:
    fitting: dict[str, Any] = {"lines": [], "by_name": {}, "more": {"name": "n", "free": {"as": "it likes"}}}
    assert check_arguments(place_items, fitting) == fitting
    with pytest.raises(CapabilityRejected) as refused:
        check_arguments(place_items, {**fitting, **changed})
    cause = f"items.place was given bad arguments: {left_out}: extra inputs are not permitted"
    assert refused.value.cause == cause
    assert list(misfits(place_items, {**fitting, **changed})) == [cause]


def test_a_capability_is_called_and_looked_at_like_its_function() -> None:
    assert send(Address(city="Delft"), 2.5, Any) == {"Delft": 2}
    assert (vars(send)["__name__"], send.__module__) == ("send", __name__)
    assert inspect.cleandoc(str(send.__doc__)).startswith("Send a parcel\nto somebody.")
    assert [*inspect.signature(send).parameters] == ["address", "weight", "call", "note"]


async def test_an_async_capability_is_awaited_like_its_function() -> None:
    @capability("parcel.find", mode="read_only")
    async def find(name: str) -> str:
        """Find a parcel."""
        return f"found {name}"

    assert await find("red one") == "found red one"


def test_a_function_without_a_module_is_a_capability_and_a_tool() -> None:
    def find(name: str) -> str:
        """Find a parcel."""
        return name

    find.__module__ = None  # type: ignore[assignment]
    declared, tool = capability("parcel.find", mode="read_only")(find), from_tool(find)
    assert not declared.built_in
    assert not tool.built_in
    assert declared.digest != tool.digest
