"""Pure. Fields of tool arguments: the schemas are built from them, and calls are read by them.

A Struct declares the arguments of a tool: names, types, defaults, and what each is `about`. A name may be spelled
approval-policy, approval_policy or approvalPolicy. Error texts are those of 0.153.4, because clients show them to their
users and models.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from enum import EnumType, StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct

BAD_ARGUMENTS: Final = "Failed to parse configuration for Codex tool: "
BAD_ARGUMENTS_OF: Final = "Failed to parse the arguments of {}: "
"""Of a tool that 0.153.4 did not have."""

OLD_TOOLS: Final = ("codex", "codex-reply")
OLD_NAMES: Final = (
    *("prompt", "model", "cwd", "approval-policy", "sandbox", "config", "base-instructions", "developer-instructions"),
    *("compact-prompt", "threadId", "conversationId"),
)
"""Tools and arguments of 0.153.4. It did not name the argument in its errors."""

LARGEST_NUMBER: Final = 1e308
"""Numbers become floats; a larger integer does not fit."""


class BadArguments(Exception):
    """The arguments are invalid; the text says why."""

    def __init__(self, text: str, argument: str = "") -> None:
        """`argument`: the one that is wrong, if the text does not name it."""
        super().__init__(text)
        self._argument = argument

    def told(self, tool: str) -> str:
        """The text for a caller of this tool."""
        reason = str(self).removeprefix(BAD_ARGUMENTS)
        if reason == str(self):
            return reason
        is_old = tool in OLD_TOOLS
        name = f"`{self._argument}`: " if self._argument and not (is_old and self._argument in OLD_NAMES) else ""
        return f"{BAD_ARGUMENTS if is_old else BAD_ARGUMENTS_OF.format(tool)}{name}{reason}"


class FieldKind(StrEnum):
    STRING = "a string"
    BOOLEAN = "a boolean"
    NUMBER = "a number"
    INTEGER = "an integer"
    OBJECT = "a map"
    STRINGS = "a list of strings"


class Field(Struct, frozen=True, eq=False):
    """One argument. Compared by identity, because tables of fields are looked up with every call."""

    name: str
    description: str
    kind: FieldKind = FieldKind.STRING
    choices: tuple[str, ...] = ()
    required: bool = False
    free_form: bool = False
    """For an object: any keys are allowed."""
    bounds: tuple[int, int] | None = None
    """For an integer: the least and the greatest value."""

    def schema(self) -> dict[str, object]:
        schema: dict[str, object] = {"description": self.description, **_SCHEMAS[self.kind]}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.free_form:
            schema["additionalProperties"] = True
        if self.bounds:
            schema["minimum"], schema["maximum"] = self.bounds
        return schema


_SCHEMAS: Final[Mapping[FieldKind, Mapping[str, object]]] = {
    FieldKind.STRING: {"type": "string"},
    FieldKind.BOOLEAN: {"type": "boolean"},
    FieldKind.NUMBER: {"type": "number", "minimum": 0},
    FieldKind.INTEGER: {"type": "integer"},
    FieldKind.OBJECT: {"type": "object"},
    FieldKind.STRINGS: {"type": "array", "items": {"type": "string"}},
}


_CAMEL: Final = (
    *("thread_id", "thread_ids", "conversation_id", "session_id", "reset_session", "reasoning_effort"),
    *("working_directory", "full_auto", "callback_uri", "num_results", "search_depth"),
)
_SNAKE: Final = ("codex_id", "agent_file", "fork_from", "auto_mail", "request_id", "include_closed")


def spelled(name: str) -> str:
    """The name of an argument: with hyphens as in 0.153.4, or as its first server spelled it."""
    if name in _CAMEL:
        first, *others = name.split("_")
        return first + "".join(map(str.capitalize, others))
    return name if name in _SNAKE else name.replace("_", "-")


def about(description: str, *choices: str, bounds: tuple[int, int] | None = None) -> Meta:
    """Annotates an argument: what the model is told of it, and the values that it can have."""
    return Meta(description=description, extra={"choices": choices, "bounds": bounds})


_KINDS: Final[Mapping[object, FieldKind]] = {
    str: FieldKind.STRING,
    bool: FieldKind.BOOLEAN,
    float: FieldKind.NUMBER,
    int: FieldKind.INTEGER,
    dict: FieldKind.OBJECT,
    tuple: FieldKind.STRINGS,
}


@functools.cache
def fields_of(arguments: type[Struct]) -> Mapping[str, Field]:
    """The fields of arguments, by name. What has no description does not come from a caller.

    `msgspec.structs.fields` would tell the same, and take a millisecond of every start.
    """
    types = {name: kind for cls in reversed(arguments.__mro__) for name, kind in _annotations(cls).items()}
    names, spellings, defaults = (
        arguments.__struct_fields__,
        arguments.__struct_encode_fields__,
        arguments.__struct_defaults__,
    )
    required = len(names) - len(defaults)
    return {
        spelling: _field(spelling, types[name], required=place < required or defaults[place - required] is NODEFAULT)
        for place, (name, spelling) in enumerate(zip(names, spellings, strict=True))
        if hasattr(types[name], "__metadata__")
    }


def _annotations(cls: type) -> Mapping[str, Any]:
    return cls.__annotations__ if issubclass(cls, Struct) and cls is not Struct else {}


def _field(name: str, declared: Any, *, required: bool) -> Field:
    kind, meta = declared.__origin__, declared.__metadata__[0]
    if NoneType in get_args(kind):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    choices = meta.extra["choices"]
    if isinstance(kind, EnumType):
        choices, kind = tuple(kind), str
    kind = get_origin(kind) or kind
    return Field(
        name,
        meta.description,
        _KINDS[kind],
        choices,
        required=required,
        free_form=kind is dict,
        bounds=meta.extra["bounds"],
    )


def input_schema(fields: Sequence[Field], *, closed: bool = False) -> dict[str, object]:
    """Unless it is `closed`, it admits other spellings of the names, and arguments that are accepted but not listed."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "required": [field.name for field in fields if field.required],
    }
    return {**schema, "additionalProperties": False} if closed else schema


def read_arguments(fields: Sequence[Field], arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments by field name, without those that are null. Raises BadArguments."""
    by_spelling = _by_spelling(tuple(fields))
    values: dict[str, object] = {}
    for name, value in arguments.items():
        field = by_spelling.get(name) or by_spelling.get(_kebab(name))
        if field is None:
            known = ", ".join(f"`{field.name}`" for field in fields)
            expected = f"expected one of {known}" if known else "there are no fields"
            raise BadArguments(f"{BAD_ARGUMENTS}unknown field `{name}`, {expected}")
        if field.name in values:
            raise BadArguments(f"{BAD_ARGUMENTS}duplicate field `{field.name}`")
        if value is None and not field.required:
            continue
        values[field.name] = _checked(field, value)
    for field in fields:
        if field.required and field.name not in values:
            raise BadArguments(f"{BAD_ARGUMENTS}missing field `{field.name}`")
    return values


def read_some(fields: Sequence[Field], arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments that these fields describe; others are ignored. Raises BadArguments."""
    by_spelling = _by_spelling(tuple(fields))
    known = {name: value for name, value in arguments.items() if name in by_spelling or _kebab(name) in by_spelling}
    return read_arguments(fields, known)


@functools.cache  # there are few tools, and every call needs this
def _by_spelling(fields: tuple[Field, ...]) -> Mapping[str, Field]:
    return {spelling: field for field in fields for spelling in (field.name, _kebab(field.name))}


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).replace("_", "-").lower()


def _checked(field: Field, value: object) -> object:
    if not _fits(field.kind, value):
        raise BadArguments(f"{BAD_ARGUMENTS}invalid type: {_described(value)}, expected {field.kind}", field.name)
    if field.choices and value not in field.choices:
        raise BadArguments(f"{BAD_ARGUMENTS}unknown variant `{value}`, expected {_one_of(field.choices)}", field.name)
    if field.kind is FieldKind.NUMBER and isinstance(value, (int, float)) and not 0 <= value <= LARGEST_NUMBER:
        shown = f"{value:g}" if abs(value) <= LARGEST_NUMBER else "number"
        text = f"{BAD_ARGUMENTS}invalid value: {shown}, expected a number that is not negative"
        raise BadArguments(text, field.name)
    least, most = field.bounds or (-math.inf, math.inf)
    if field.bounds and isinstance(value, (int, float)) and not least <= value <= most:
        raise BadArguments(f"{BAD_ARGUMENTS}invalid value: `{field.name}` must be from {least} to {most}")
    return int(value) if field.kind is FieldKind.INTEGER and isinstance(value, float) else value


def _fits(kind: FieldKind, value: object) -> bool:
    match kind:
        case FieldKind.STRING:
            return isinstance(value, str)
        case FieldKind.BOOLEAN:
            return isinstance(value, bool)
        case FieldKind.NUMBER:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case FieldKind.INTEGER:
            return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1
        case FieldKind.OBJECT:
            return isinstance(value, dict)
        case FieldKind.STRINGS:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _described(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int() | float():
            return "number"
        case str():
            return f'string "{value[:60]}"'
        case list():
            return "sequence"
        case _:
            return "map"


def _one_of(choices: Sequence[str]) -> str:
    return "one of " + ", ".join(f"`{choice}`" for choice in choices)
