"""The arguments of the tools, as the old server read them, in every spelling a client may send."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, Field, FieldKind, input_schema, read_arguments
from tests.support.json_values import JSON_VALUES

FIELDS = (
    Field("prompt", "What to do.", required=True),
    Field("approval-policy", "When to ask.", choices=("untrusted", "on-request", "never")),
    Field("config", "Settings.", FieldKind.OBJECT, free_form=True),
    Field("background", "At once.", FieldKind.BOOLEAN),
    Field("wait-seconds", "How long.", FieldKind.NUMBER),
    Field("threadIds", "Which.", FieldKind.STRINGS),
)

NAMES = "`prompt`, `approval-policy`, `config`, `background`, `wait-seconds`, `threadIds`"


def read(**arguments: object) -> dict[str, object]:
    return read_arguments(FIELDS, {"prompt": "hi", **arguments})


def refusal_of(arguments: dict[str, object]) -> str:
    with pytest.raises(BadArguments) as refused:
        read_arguments(FIELDS, arguments)
    text = str(refused.value)
    assert text.startswith("Failed to parse configuration for Codex tool: ")
    return text.removeprefix("Failed to parse configuration for Codex tool: ")


@pytest.mark.parametrize("spelling", ["approval-policy", "approval_policy", "approvalPolicy"])
def test_a_name_may_be_spelled_in_three_ways(spelling: str) -> None:
    assert read(**{spelling: "never"}) == {"prompt": "hi", "approval-policy": "never"}


@pytest.mark.parametrize("spelling", ["threadIds", "thread_ids", "thread-ids"])
def test_so_may_a_name_that_is_camel_case_itself(spelling: str) -> None:
    assert read(**{spelling: ["a", "b"]}) == {"prompt": "hi", "threadIds": ["a", "b"]}


def test_every_kind_of_value_is_taken_as_it_is() -> None:
    arguments: dict[str, object] = {
        "prompt": "",
        "approval-policy": "on-request",
        "config": {"a": {"b": [None, 1]}},
        "background": False,
        "wait-seconds": 0.5,
        "threadIds": [],
    }
    assert read_arguments(FIELDS, arguments) == arguments


def test_null_counts_as_left_out() -> None:
    nulls = {field.name: None for field in FIELDS if not field.required}
    assert read(**nulls) == {"prompt": "hi"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "missing field `prompt`"),
        ({"background": True}, "missing field `prompt`"),
        ({"prompt": None}, "invalid type: null, expected a string"),
        ({"prompt": 42}, "invalid type: number, expected a string"),
        ({"prompt": True}, "invalid type: boolean `true`, expected a string"),
        ({"prompt": ["x"]}, "invalid type: sequence, expected a string"),
        ({"prompt": {}}, "invalid type: map, expected a string"),
        ({"prompt": "x", "config": "y"}, 'invalid type: string "y", expected a map'),
        ({"prompt": "x", "config": []}, "invalid type: sequence, expected a map"),
        ({"prompt": "x", "background": "true"}, 'invalid type: string "true", expected a boolean'),
        ({"prompt": "x", "background": 1}, "invalid type: number, expected a boolean"),
        ({"prompt": "x", "wait-seconds": "1"}, 'invalid type: string "1", expected a number'),
        ({"prompt": "x", "wait-seconds": True}, "invalid type: boolean `true`, expected a number"),
        ({"prompt": "x", "threadIds": "a"}, 'invalid type: string "a", expected a list of strings'),
        ({"prompt": "x", "threadIds": [1]}, "invalid type: sequence, expected a list of strings"),
        ({"prompt": "x", "wait-seconds": -1}, "invalid value: -1, expected a number that is not negative"),
        (
            {"prompt": "x", "approval-policy": "none"},
            "unknown variant `none`, expected one of `untrusted`, `on-request`, `never`",
        ),
        ({"prompt": "x", "frobnicate": 1}, f"unknown field `frobnicate`, expected one of {NAMES}"),
        ({"prompt": "x", "": 1}, f"unknown field ``, expected one of {NAMES}"),
        (
            {"prompt": "x", "approval-policy": "never", "approval_policy": "never"},
            "duplicate field `approval-policy`",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_old_server(arguments: dict[str, object], text: str) -> None:
    assert refusal_of(arguments) == text


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(BadArguments, match="unknown field `x`, there are no fields"):
        read_arguments((), {"x": 1})


@pytest.mark.parametrize("seconds", [math.inf, math.nan, 10**9000], ids=["inf", "nan", "huge"])
def test_no_time_without_an_end_is_taken(seconds: float) -> None:
    assert refusal_of({"prompt": "x", "wait-seconds": seconds}).endswith("expected a number that is not negative")


def test_a_long_text_of_the_wrong_type_is_not_repeated_in_full() -> None:
    assert len(refusal_of({"prompt": "x", "config": "y" * 10_000})) < 200


def test_a_schema_names_what_is_needed_and_if_it_is_closed_allows_nothing_else() -> None:
    assert input_schema(FIELDS[:3], closed=True) == {
        "type": "object",
        "properties": {
            "prompt": {"description": "What to do.", "type": "string"},
            "approval-policy": {
                "description": "When to ask.",
                "type": "string",
                "enum": ["untrusted", "on-request", "never"],
            },
            "config": {"description": "Settings.", "type": "object", "additionalProperties": True},
        },
        "required": ["prompt"],
        "additionalProperties": False,
    }


@given(st.dictionaries(st.sampled_from([field.name for field in FIELDS]) | st.text(), JSON_VALUES))
def test_whatever_is_sent_is_read_or_refused(arguments: dict[str, object]) -> None:
    try:
        values = read_arguments(FIELDS, arguments)
    except BadArguments:
        return
    assert set(values) <= {field.name for field in FIELDS}
    assert None not in values.values()


def test_an_open_schema_admits_more_than_it_lists() -> None:
    assert input_schema(()) == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize("tool", ["codex", "codex-reply", "review", "atm_send"])
def test_an_error_names_the_argument_unless_0_153_4_did_not(tool: str) -> None:
    is_old = tool.startswith("codex")
    begins = BAD_ARGUMENTS if is_old else f"Failed to parse the arguments of {tool}: "
    for wrong in ({"prompt": 1}, {"background": 1}, {"wait-seconds": -1}, {"approval-policy": "none"}):
        (name,) = wrong
        with pytest.raises(BadArguments) as refused:
            read(**wrong)
        text = refused.value.told(tool)
        assert text.startswith(begins)
        assert (f"`{name}`" in text) is (not is_old or name in ("background", "wait-seconds"))


def test_an_error_of_its_own_words_is_told_as_it_is() -> None:
    assert BadArguments("No such thread").told("codex_wait") == "No such thread"
