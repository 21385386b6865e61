"""What the signature of a function says of it as a capability: its arguments, its result, its context."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, Optional, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.encoding import ANY_RESULT
from planwright.domain.errors import SetupError
from planwright.domain.hashing import problems_of
from planwright.domain.risk import Effect

Function = Callable[..., Any]
Fields = dict[str, Any]
"""Fields of a model by name, as pydantic's `create_model` takes them: a type, and a default or a field."""
_OF_ANY_TYPE = ConfigDict(arbitrary_types_allowed=True)
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")


def check_name_and_docstring(name: str, function: Function) -> None:
    """Raise SetupError for a name that is none, and for a function that does not say what it does."""
    if not _NAME.fullmatch(name):
        raise SetupError(f"`{name}` is no capability name", "write it as domain.verb, e.g. tickets.create")
    if not (function.__doc__ or "").strip():
        raise SetupError(f"capability {name} has no docstring", "say in its first line what it does")


def signature(name: str, function: Function) -> tuple[type[BaseModel], TypeAdapter[object], str | None]:
    """Read a function's arguments, its result, and the name of its CallContext. Raises SetupError."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise SetupError(
            f"capability {name}: {error}", "import that type at the top of the module"
        ) from error
    fields: Fields = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is CallContext:
            context = parameter.name
            continue
        if parameter.name not in hints or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            raise SetupError(
                f"capability {name}: `{parameter.name}` has no type hint", "give every argument a type"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.name.startswith("_"):
            raise SetupError(
                f"capability {name}: `{parameter.name}` cannot be passed by name",
                "rename it, or drop the `/`",
            )
        required = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = (hints[parameter.name], ... if required else parameter.default)
    if "return" not in hints:
        raise SetupError(f"capability {name} does not say what it returns", "add a return type")
    try:
        model = with_optional_fields(create_model(name, __config__=ConfigDict(extra="forbid"), **fields))
        check_fields(name, model)
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise SetupError(f"capability {name}: {error}", "use types that JSON can hold") from error
    return model, _result_of(hints["return"]), context


def _result_of(declared: type[object]) -> TypeAdapter[object]:
    """Make what checks a result; a type that JSON knows nothing of, such as a table, declares nothing."""
    try:
        result: TypeAdapter[object] = TypeAdapter(declared)
        result.json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return ANY_RESULT
    return ANY_RESULT if result.core_schema["type"] == "any" else result


def arguments_of(function: Function) -> type[BaseModel]:
    """Read the arguments of a function that was not written for us; one without a type may be anything.

    What a call could not give is left to the function: `*args`, `**options`, what has no name, and a default
    that JSON does not have. Raises TypeError, NameError or PydanticUserError where that is no default.
    """
    hints, fields = get_type_hints(function, include_extras=True), Fields()
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        named = parameter.kind is not parameter.POSITIONAL_ONLY and not name.startswith("_")
        hint, required = hints.get(name, JsonValue), default is parameter.empty
        if required and not named:
            raise TypeError(f"`{name}` cannot be passed by name")
        if required or (named and _has_json({"value": (hint, default)})):
            fields[name] = (hint, ... if required else default)
    first = next(iter(parameters), None)
    if first and first.kind in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
        raise TypeError(f"`{str(first).partition(':')[0]}` cannot be passed by name")
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    model = with_optional_fields(create_model(function.__name__, __config__=config, **fields))
    check_fields(function.__name__, model)
    return model


def _has_json(field: Fields) -> bool:
    """Say whether the default of the field `value` is the same once it was JSON."""
    hint, default = field["value"]
    try:
        model = with_optional_fields(create_model("one", __config__=_OF_ANY_TYPE, **field))
        spelled = model().model_dump(mode="json", warnings=False)
        model.model_validate(spelled)
        model.model_json_schema()
    except (PydanticUserError, TypeError, ValueError):
        return False
    return hint is not JsonValue or type(spelled["value"]) is type(default)


def with_optional_fields(model: type[BaseModel]) -> type[BaseModel]:
    """Let a field whose default is None take None: `region: str = None` is often written so."""
    mended = Fields()
    for name, info in model.model_fields.items():
        if info.is_required() or info.default is not None or info.default_factory is not None:
            continue
        declared: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        try:
            create_model("one", __config__=_OF_ANY_TYPE, value=(declared, ...)).model_validate(
                {"value": None}
            )
        except ValidationError:
            field = copy(info)
            field.annotation, field.metadata = Optional[declared], []  # noqa: UP045 - of any annotation
            mended[name] = (field.annotation, field)
    return create_model(model.__name__, __base__=model, **mended) if mended else model


def check_fields(name: str, model: type[BaseModel]) -> None:
    """Raise SetupError for arguments that could not be the same when they are shown, recorded and sent."""
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    for field, info in model.model_fields.items():
        if not by_name and any(alias not in (None, field) for alias in (info.alias, info.validation_alias)):
            raise SetupError(f"capability {name}: `{field}` has an alias", "name it as it is to be called")
        if info.default_factory is not None and _default(name, field, info) != _default(name, field, info):
            cause = f"capability {name}: the default of `{field}` is another one each time"
            raise SetupError(cause, "let it be None, and choose the value in the function")
    if _holds_secret(model.model_json_schema()):
        cause = f"capability {name}: an argument is a secret, and arguments are shown and written down"
        raise SetupError(cause, "read the secret in the function, and list its variable under secrets.env")


def _default(name: str, field: str, info: FieldInfo) -> object:
    try:
        return info.get_default(call_default_factory=True, validated_data={})
    except Exception as error:
        cause = f"capability {name}: the default of `{field}` cannot be made: {type(error).__name__}: {error}"
        raise SetupError(cause, "let it be None, and choose the value in the function") from error


def _holds_secret(schema: object) -> bool:
    if isinstance(schema, dict):
        secret = schema.get("writeOnly") is True and schema.get("format") == "password"
        return secret or any(map(_holds_secret, schema.values()))
    return isinstance(schema, list) and any(map(_holds_secret, schema))


def check_lookup(
    name: str, effect: Effect, result: TypeAdapter[object], *, looked_up: bool, varies: bool
) -> None:
    """Raise SetupError for a queryable effect without a lookup, and for a lookup that tells nothing."""
    if effect == "queryable" and not looked_up:
        cause = f"{name} is queryable, and has no lookup: nobody could be asked whether it happened"
        raise SetupError(cause, 'declare it with @capability(…, effect="queryable", lookup=…), or as blind')
    if not looked_up:
        return
    if effect != "queryable" and not varies:
        raise SetupError(f"{name} is {effect}: its lookup would never be asked", 'declare effect="queryable"')
    try:
        result.validate_python(None)
    except ValidationError:
        return
    cause = f"{name} may return None, which is how its lookup says that it has not happened"
    raise SetupError(cause, "return what tells that it was done, e.g. its id")


def error_summary(error: ValidationError) -> str:
    """Put a validation error on one line: which argument, and what is wrong with it."""
    return problems_of(error, "arguments")
