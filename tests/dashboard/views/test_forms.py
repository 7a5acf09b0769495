"""Forms of questions, and what a posted one means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.dashboard.views.forms import Field, content_of, fields_of
from codex_mcp.wire import control
from tests.support.dashboard.facts import HARM, asked

FORM = {
    "type": "object",
    "required": ["city"],
    "properties": {
        "city": {"type": "string", "title": "City", "description": "Where?"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "tint": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "more": {"type": "array", "items": {"anyOf": [{"const": 1, "title": "One"}]}},
        "count": {"type": "integer"},
        "part": {"type": "number"},
        "loud": {"type": "boolean", "description": "Shout"},
    },
}


def form(schema: dict[str, Any], **fields: object) -> control.Question:
    return asked("mcp", fields={"server_name": "inner", **fields}, form=schema, offered=()).question


def fields(question: control.Question) -> list[Field]:
    found = fields_of(question)
    assert found is not None
    return found


def test_a_flat_form_has_a_field_for_each_property() -> None:
    found = fields(form(FORM))
    assert [(each.name, each.kind) for each in found] == [
        ("city", "text"),
        ("size", "one"),
        ("tint", "one"),
        ("tags", "several"),
        ("more", "several"),
        ("count", "whole"),
        ("part", "number"),
        ("loud", "switch"),
    ]
    assert (found[0].is_required, found[0].about, found[1].choices[1].label) == (True, "Where?", "Large")


def test_what_is_posted_has_the_types_of_the_form() -> None:
    posted = {"city": "Bonn", "size": "1", "tint": "0", "count": "3", "part": "1.5", "loud": "1"}
    given_ = {f"answer.{name}": [value] for name, value in posted.items()}
    given_ |= {"answer.tags": ["1", "0"], "answer.more": ["0"], "answer.unknown": ["x"], "decision": ["denied"]}
    assert content_of(fields(form(FORM)), given_) == {
        "city": "Bonn",
        "size": "l",
        "tint": "#f00",
        "tags": ["b", "a"],
        "more": [1],
        "count": 3,
        "part": 1.5,
        "loud": True,
    }
    assert content_of(fields(form(FORM)), {}) == {"tags": [], "more": [], "loud": False}


@pytest.mark.parametrize("bad", [{"count": "1.5"}, {"part": "many"}, {"size": "7"}, {"size": "x"}, {"tags": ["9"]}])
def test_what_does_not_fit_is_refused(bad: dict[str, Any]) -> None:
    posted = {f"answer.{name}": value if isinstance(value, list) else [value] for name, value in bad.items()}
    with pytest.raises(Refused):
        content_of(fields(form(FORM)), posted)


def test_a_form_that_is_not_flat_cannot_be_shown() -> None:
    assert fields_of(form({"type": "object", "properties": {"a": {"type": "object"}}})) is None
    assert fields_of(form({"type": "object", "properties": {"a": 3}})) is None
    assert fields_of(form({"type": "object"})) == []
    assert fields_of(form({"url": "https://example.com"})) == []


def test_questions_of_the_model_have_choices_free_answers_and_secrets() -> None:
    options = [{"label": "red", "description": "warm"}, {"label": HARM, "description": ""}]
    questions = [
        {"id": "colour", "header": "C", "question": "Which?", "options": options, "isOther": True},
        {"id": "word", "header": "W", "question": "Say it", "isSecret": True},
        {"id": "why", "header": "Y", "question": "Why?", "options": None},
    ]
    found = fields(asked("user_input", fields={"questions": questions}).question)
    assert [(each.kind, each.has_other) for each in found] == [("one", True), ("secret", False), ("long", False)]
    assert found[0].choices[1].label.isprintable()
    posted = {"answer.colour": ["1"], "answer.colour.other": ["green"], "answer.word": ["pw"], "answer.why": [" "]}
    assert content_of(found, posted) == {"colour": HARM, "colour.other": "green", "word": "pw"}


@given(st.dictionaries(st.text(max_size=10), st.recursive(st.none() | st.text(max_size=5), st.lists, max_leaves=3)))
def test_no_form_breaks_the_page(properties: dict[str, Any]) -> None:
    fields_of(form({"type": "object", "properties": properties, "required": 3}))
