"""Pure. The arguments of the tools: one table that the schemas are made from and that calls are read by.

A name may be spelled approval-policy, approval_policy or approvalPolicy. The texts of errors are those of 0.153.4:
clients show them to their users and models.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

BAD_ARGUMENTS: Final = "Failed to parse configuration for Codex tool: "

LARGEST_NUMBER: Final = 1e308
"""Numbers become floats, and a whole number beyond this does not fit into one."""


class BadArguments(Exception):
    """The call cannot be made; the text says why."""


class Kind(StrEnum):
    """The type of an argument, in the words of an error text."""

    STRING = "a string"
    BOOLEAN = "a boolean"
    NUMBER = "a number"
    OBJECT = "a map"
    STRINGS = "a list of strings"


class Field(Struct, frozen=True, eq=False):
    """One argument. Known by its identity: a table of them is looked up with every call."""

    name: str
    kind: Kind
    description: str
    choices: tuple[str, ...] = ()
    required: bool = False
    free_form: bool = False
    """Of an object: any keys are welcome."""

    def schema(self) -> dict[str, object]:
        """The argument in JSON Schema."""
        schema: dict[str, object] = {"description": self.description, **_SCHEMAS[self.kind]}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.free_form:
            schema["additionalProperties"] = True
        return schema


_SCHEMAS: Final[Mapping[Kind, Mapping[str, object]]] = {
    Kind.STRING: {"type": "string"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.NUMBER: {"type": "number", "minimum": 0},
    Kind.OBJECT: {"type": "object"},
    Kind.STRINGS: {"type": "array", "items": {"type": "string"}},
}


def input_schema(fields: Sequence[Field]) -> dict[str, object]:
    """The schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def read_arguments(fields: Sequence[Field], arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments under their own names; what was left out, or is null, is missing. Raises BadArguments."""
    by_spelling = _by_spelling(tuple(fields))
    values: dict[str, object] = {}
    for name, value in arguments.items():
        field = by_spelling.get(name) or by_spelling.get(_kebab(name))
        if field is None:
            known = ", ".join(f"`{field.name}`" for field in fields)
            raise BadArguments(f"{BAD_ARGUMENTS}unknown field `{name}`, expected one of {known}")
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


@functools.cache  # of few tools, and every call asks
def _by_spelling(fields: tuple[Field, ...]) -> Mapping[str, Field]:
    return {spelling: field for field in fields for spelling in (field.name, _kebab(field.name))}


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).replace("_", "-").lower()


def _checked(field: Field, value: object) -> object:
    if not _fits(field.kind, value):
        raise BadArguments(f"{BAD_ARGUMENTS}invalid type: {_described(value)}, expected {field.kind}")
    if field.choices and value not in field.choices:
        raise BadArguments(f"{BAD_ARGUMENTS}unknown variant `{value}`, expected {_one_of(field.choices)}")
    if field.kind is Kind.NUMBER and isinstance(value, (int, float)) and not 0 <= value <= LARGEST_NUMBER:
        shown = f"{value:g}" if abs(value) <= LARGEST_NUMBER else "number"
        raise BadArguments(f"{BAD_ARGUMENTS}invalid value: {shown}, expected a number that is not negative")
    return value


def _fits(kind: Kind, value: object) -> bool:
    match kind:
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.NUMBER:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case Kind.OBJECT:
            return isinstance(value, dict)
        case Kind.STRINGS:
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
