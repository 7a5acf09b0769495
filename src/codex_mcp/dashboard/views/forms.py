"""Pure. The fields of a question that asks for data, and the content that a posted form means.

A choice is posted as its number: what the model or an inner server wrote stays text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import one_line, visible
from codex_mcp.wire import control

PREFIX: Final = "answer."
"""Before the names of fields in a posted form, so that none is taken for one of ours."""

OTHER: Final = ".other"
"""After the name of the field for a free answer beside choices, as in an answer's content."""

Posted: TypeAlias = Mapping[str, Sequence[str]]


class Choice(Struct, frozen=True):
    label: str
    about: str = ""
    value: object = None


class Field(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    about: str = ""
    kind: str = "text"
    """`text`, `long`, `secret`, `number`, `whole`, `switch`, `one` or `several` of its choices."""
    choices: Sequence[Choice] = ()
    is_required: bool = False
    has_other: bool = False
    """A free answer can be given beside the choices."""

    @property
    def label(self) -> str:
        return visible(self.title) or one_line(self.name)


def fields_of(question: control.Question) -> list[Field] | None:
    """The fields; None for a form that cannot be shown as a list of fields."""
    if question.kind == "user_input":
        asked = question.fields.get("questions")
        return [_asked_field(each) for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    form = question.form or {}
    properties, required = form.get("properties"), form.get("required")
    if "url" in form or not isinstance(properties, dict):
        return []
    names = required if isinstance(required, list) else []
    fields = [_form_field(str(name), about, is_required=name in names) for name, about in properties.items()]
    known = [each for each in fields if each is not None]
    return known if len(known) == len(fields) else None


def _asked_field(asked: Mapping[str, object]) -> Field:
    """A question of the model."""
    options, name = asked.get("options"), str(asked.get("id"))
    choices = [_option(each) for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    secret = bool(asked.get("isSecret"))
    kind = "one" if choices else "secret" if secret else "long"
    title, other = str(asked.get("question") or name), bool(choices) and bool(asked.get("isOther"))
    return Field(name=name, title=title, kind=kind, choices=choices, has_other=other)


def _option(option: Mapping[str, object]) -> Choice:
    label = str(option.get("label"))
    return Choice(visible(label), visible(str(option.get("description") or "")), label)


def _form_field(name: str, about: object, *, is_required: bool) -> Field | None:
    """A field of an inner server's form, if it is a primitive or a choice."""
    if not isinstance(about, dict):
        return None
    title, said = str(about.get("title") or name), visible(str(about.get("description") or ""))
    kind = about.get("type")
    if kind == "array":
        items = about.get("items")
        choices = _choices(items) if isinstance(items, dict) else []
        shape = "several" if choices else ""
    elif choices := _choices(about):
        shape = "one"
    else:
        shape = {"string": "text", "number": "number", "integer": "whole", "boolean": "switch"}.get(str(kind), "")
    if not shape:
        return None
    return Field(name=name, title=title, about=said, kind=shape, choices=choices, is_required=is_required)


def _choices(about: Mapping[str, object]) -> list[Choice]:
    words, names = about.get("enum"), about.get("enumNames")
    if isinstance(words, list):
        labels = names if isinstance(names, list) and len(names) == len(words) else words
        return [Choice(visible(str(label)), "", word) for word, label in zip(words, labels, strict=True)]
    titled = about.get("oneOf") or about.get("anyOf")
    found = titled if isinstance(titled, list) else []
    pairs = [each for each in found if isinstance(each, dict) and "const" in each]
    return [Choice(visible(str(each.get("title") or each["const"])), "", each["const"]) for each in pairs]


def content_of(fields: Sequence[Field], posted: Posted) -> dict[str, object]:
    """What the form was filled with; fields left empty are left out. Raises Refused."""
    content: dict[str, object] = {}
    for field in fields:
        said = [each for each in posted.get(PREFIX + field.name, ()) if each.strip()]
        if field.kind == "switch":
            content[field.name] = bool(said)
        elif field.kind == "several":
            content[field.name] = [_chosen(field, each) for each in said]
        elif said:
            content[field.name] = _value(field, said[0])
        if field.has_other and (more := [each for each in posted.get(PREFIX + field.name + OTHER, ()) if each.strip()]):
            content[field.name + OTHER] = more[0]
    return content


def _value(field: Field, said: str) -> object:
    match field.kind:
        case "one":
            return _chosen(field, said)
        case "number" | "whole":
            return _number(field, said)
        case _:
            return said


def _chosen(field: Field, said: str) -> object:
    if said.isdecimal() and len(said) < 6 and int(said) < len(field.choices):
        return field.choices[int(said)].value
    raise Refused(f"{field.label}: choose one of what is offered")


def _number(field: Field, said: str) -> int | float:
    try:
        return int(said) if field.kind == "whole" else float(said)
    except ValueError:
        what = "whole number" if field.kind == "whole" else "number"
        raise Refused(f"{field.label}: it must be a {what}") from None
