"""Forms that clients of 2025-06-18 can show."""

import jsonschema
import pytest

from codex_mcp.mcp.asking.elicitation import decision_form, is_flat_form, user_form
from codex_mcp.threads.questions.approvals import choices, decide, offered
from codex_mcp.threads.questions.decisions import Filled
from codex_mcp.threads.questions.questions import Method, Question, UserQuestion
from tests.support.core.questions import COMMAND, USER_INPUT, ask, every_question

APPROVALS = [question for question in every_question() if offered(question)]
STRING_FIELD_KEYS = {"type", "title", "description", "maxLength", "enum", "enumNames"}


def user_question(**changed: object) -> UserQuestion:
    question = ask(Method.USER_INPUT, USER_INPUT, **changed)
    assert isinstance(question, UserQuestion)
    return question


def form_of(question: Question) -> dict[str, object]:
    return decision_form(question, choices(question))


def test_the_form_of_a_command_names_every_choice_in_words() -> None:
    properties = form_of(ask(Method.EXEC, COMMAND))["properties"]
    assert isinstance(properties, dict)
    assert dict(zip(properties["decision"]["enum"], properties["decision"]["enumNames"], strict=True)) == {
        "approved": "Allow this once",
        "approved_execpolicy_amendment": "Allow, and always allow commands that begin with `make docs`",
        "denied": "Deny, and let Codex go on",
        "abort": "Deny, and stop the turn",
    }


@pytest.mark.parametrize("question", APPROVALS, ids=lambda question: question.kind)
def test_the_form_of_an_approval_is_flat_and_demands_nothing(question: Question) -> None:
    form = form_of(question)
    assert is_flat_form(form)
    assert set(form) == {"type", "properties"}
    properties = form["properties"]
    assert isinstance(properties, dict)
    assert all(set(field) <= STRING_FIELD_KEYS for field in properties.values())
    jsonschema.Draft202012Validator.check_schema(form)
    jsonschema.validate({}, form)


def test_a_user_question_with_choices_has_a_field_for_own_words() -> None:
    assert user_form(user_question()) == {
        "type": "object",
        "properties": {
            "colour": {
                "type": "string",
                "title": "Colour",
                "description": "Which colour?\nRed: warm\nBlue: cold",
                "enum": ["Red", "Blue"],
                "enumNames": ["Red", "Blue"],
            },
            "token": {"type": "string", "title": "Token", "description": "Which token?\nThe answer is a secret."},
            "colour.other": {"type": "string", "title": "Colour: other"},
        },
    }


def test_a_question_whose_id_looks_like_a_field_for_own_words_keeps_its_field() -> None:
    first, _ = user_question().questions
    clash = [
        {
            "id": "colour",
            "header": "H",
            "question": "Q",
            "isOther": True,
            "options": [{"label": "A", "description": ""}],
        },
        {"id": "colour.other", "header": "Mine", "question": "Q", "options": None},
    ]
    properties = user_form(user_question(questions=clash))["properties"]
    assert isinstance(properties, dict)
    assert properties["colour.other"]["title"] == "Mine"
    assert first.id == "colour"


def test_what_fits_the_form_comes_back_as_answers() -> None:
    content = {"colour": "Blue", "token": "t-1"}
    jsonschema.validate(content, user_form(user_question()))
    answer = {"action": "accept", "content": content}
    assert decide(user_question(), answer) == Filled({"colour": ["Blue"], "token": ["t-1"]})


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string"},
        {"type": "string", "format": "email"},
        {"type": "integer", "minimum": 1},
        {"type": "boolean", "default": False},
        {"type": "string", "enum": ["a"], "enumNames": ["A"]},
        {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    ],
)
def test_a_flat_field_can_be_shown(field: object) -> None:
    assert is_flat_form({"type": "object", "properties": {"x": field}})


@pytest.mark.parametrize(
    "field",
    [
        "string",
        {},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array"},
        {"type": ["string", "null"]},
        {"type": "string", "enum": [1]},
        {"type": "string", "oneOf": ["a"]},
        {"type": "string", "anyOf": []},
        {"$ref": "#/x", "type": "string"},
    ],
)
def test_any_other_field_cannot_be_shown(field: object) -> None:
    assert not is_flat_form({"type": "object", "properties": {"x": field}})


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "array", "properties": {}}])
def test_what_is_no_object_is_no_form(schema: dict[str, object] | None) -> None:
    assert not is_flat_form(schema)
