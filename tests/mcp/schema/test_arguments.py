"""Every argument of every tool arrives in its value, however its name is spelled."""

from collections.abc import Callable, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.kinds import Events
from codex_mcp.mcp.schema.arguments import (
    CodexArguments,
    ReplyArguments,
    WaitArguments,
    translated,
)
from codex_mcp.mcp.schema.catalogue import CODEX, CODEX_REPLY, CODEX_WAIT, Tool
from codex_mcp.mcp.schema.fields import BadArguments, Field, FieldKind
from tests.support.json_values import JSON_VALUES

Reader = Callable[[Mapping[str, object]], msgspec.Struct]

READERS: list[tuple[Tool, Reader, type[msgspec.Struct]]] = [
    (CODEX, CODEX.read, CodexArguments),
    (CODEX_REPLY, CODEX_REPLY.read, ReplyArguments),
    (CODEX_WAIT, CODEX_WAIT.read, WaitArguments),
]

EACH_FIELD = [(tool, reader, field) for tool, reader, _ in READERS for field in tool.accepted]

SAMPLES: dict[FieldKind, object] = {
    FieldKind.STRING: "some text",
    FieldKind.BOOLEAN: True,
    FieldKind.NUMBER: 2.5,
    FieldKind.INTEGER: 2,
    FieldKind.OBJECT: {"a": 1},
    FieldKind.STRINGS: ["one", "two"],
}


def sample(field: Field) -> object:
    return field.choices[-1] if field.choices else SAMPLES[field.kind]


def spellings(name: str) -> set[str]:
    words = "".join(f"-{char.lower()}" if char.isupper() else char for char in name).split("-")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return {"-".join(words), "_".join(words), camel}


@pytest.mark.parametrize(("tool", "reader", "field"), EACH_FIELD, ids=lambda item: getattr(item, "name", ""))
def test_each_argument_is_read_in_each_spelling(tool: Tool, reader: Reader, field: Field) -> None:
    others = {"prompt": "hi"} if tool is not CODEX_WAIT and field.name != "prompt" else {}
    for spelling in spellings(field.name):
        read = msgspec.json.decode(msgspec.json.encode(reader({**others, spelling: sample(field)})))
        assert read[field.name] == sample(field)


@pytest.mark.parametrize(("tool", "reader", "kind"), READERS, ids=lambda item: getattr(item, "name", ""))
def test_the_table_and_the_value_have_the_same_names(tool: Tool, reader: Reader, kind: type[msgspec.Struct]) -> None:
    assert {field.name for field in tool.accepted} == {field.encode_name for field in msgspec.structs.fields(kind)}


def test_what_is_left_out_has_its_default() -> None:
    assert CODEX.read({"prompt": "hi"}) == CodexArguments(prompt="hi")
    assert CODEX_WAIT.read({}) == WaitArguments()


def test_a_whole_number_may_come_as_a_float() -> None:
    offset = CODEX_WAIT.read({"offset": 3.0}).offset
    assert (offset, type(offset)) == (3, int)


def test_events_are_one_of_the_settings_own() -> None:
    assert CODEX.read({"prompt": "hi", "events": "full"}).events is Events.FULL


@pytest.mark.parametrize(
    ("arguments", "thread_id"),
    [
        ({}, None),
        ({"threadId": "a"}, "a"),
        ({"conversationId": "b"}, "b"),
        ({"conversation_id": "b"}, "b"),
        ({"threadId": "a", "conversationId": "b"}, "a"),
        ({"threadId": None, "conversationId": "b"}, "b"),
    ],
)
def test_a_reply_names_its_thread_by_either_name(arguments: dict[str, object], thread_id: str | None) -> None:
    assert CODEX_REPLY.read({"prompt": "hi", **arguments}).thread == thread_id


@pytest.mark.parametrize(("tool", "reader", "kind"), READERS, ids=lambda item: getattr(item, "name", ""))
def test_an_unknown_argument_is_refused_with_a_list_of_all(
    tool: Tool, reader: Reader, kind: type[msgspec.Struct]
) -> None:
    with pytest.raises(BadArguments) as refused:
        reader({"prompt": "hi", "frobnicate": 1} if tool is not CODEX_WAIT else {"frobnicate": 1})
    known = ", ".join(f"`{field.name}`" for field in tool.accepted)
    assert str(refused.value) == (
        f"Failed to parse configuration for Codex tool: unknown field `frobnicate`, expected one of {known}"
    )


@pytest.mark.parametrize(("tool", "reader", "kind"), READERS, ids=lambda item: getattr(item, "name", ""))
@given(data=st.data())
def test_no_json_object_breaks_a_reader(
    tool: Tool, reader: Reader, kind: type[msgspec.Struct], data: st.DataObject
) -> None:
    names = st.sampled_from([field.name for field in tool.fields])
    arguments = data.draw(st.dictionaries(names, JSON_VALUES | st.integers(min_value=10**308)))
    try:
        assert isinstance(reader(arguments), kind)
    except BadArguments:
        return


def test_the_arguments_of_the_wrapper_are_expressed_by_ours() -> None:
    arguments, warnings = translated(
        CodexArguments(
            prompt="hi", working_directory="/w", full_auto=True, reasoning_effort="low", callback_uri="http://x"
        )
    )
    assert (arguments.cwd, arguments.sandbox, arguments.approval_policy) == ("/w", "workspace-write", "on-request")
    assert arguments.config == {
        "model_reasoning_effort": "low",
        "shell_environment_policy.set.CODEX_MCP_CALLBACK_URI": "http://x",
    }
    assert len(warnings) == 1
    assert "fullAuto" in warnings[0]


def test_what_a_caller_says_itself_wins_over_full_auto() -> None:
    asked = CodexArguments(prompt="hi", full_auto=True, sandbox="read-only", approval_policy="never")
    arguments, warnings = translated(asked)
    assert (arguments.sandbox, arguments.approval_policy) == ("read-only", "never")
    assert "read-only" in warnings[0]


def test_a_call_without_these_arguments_is_unchanged() -> None:
    asked = CodexArguments(prompt="hi", cwd="/w", config={"a": 1}, session_id="s", reset_session=True)
    assert translated(asked) == (asked, ())
    assert translated(CodexArguments(prompt="hi", reset_session=True))[1] == (
        "resetSession has no effect without sessionId",
    )


@pytest.mark.parametrize(
    "bad",
    [
        CodexArguments(prompt="hi", cwd="/a", working_directory="/b"),
        CodexArguments(prompt="hi", callback_uri="a\nb"),
        CodexArguments(prompt="hi", callback_uri="x" * 2049),
    ],
)
def test_two_folders_and_odd_addresses_are_refused(bad: CodexArguments) -> None:
    with pytest.raises(BadArguments):
        translated(bad)
