"""Results about sessions: for people in words, for programs as values."""

import json

from codex_mcp.mcp.schema.catalogue import TOOLS
from codex_mcp.mcp.schema.results import Result, ToolResult, refused, written
from codex_mcp.mcp.schema.session_results import (
    help_result,
    sessions_result,
    with_path,
    with_text_for_silence,
    with_warning,
)
from codex_mcp.sessions.session import NamedSession, Resumed

DONE = written("hi", data={"status": "completed", "content": "hi"})
REFUSED = refused("no")


def words(result: Result) -> list[str]:
    assert isinstance(result, ToolResult)
    return [str(block["text"]) for block in result.content]


def data(result: Result) -> object:
    assert isinstance(result, ToolResult)
    return result.data


def test_a_list_is_json_with_the_names_of_the_document() -> None:
    result = sessions_result([NamedSession(id="s", created=0, used=60, turns=3, thread="t", model="")])
    (session,) = json.loads(words(result)[0])
    assert session == {
        "id": "s",
        "createdAt": "1970-01-01T00:00:00.000Z",
        "lastUsedAt": "1970-01-01T00:01:00.000Z",
        "lastAccessedAt": "1970-01-01T00:01:00.000Z",
        "turnCount": 3,
        "conversationId": "t",
        "model": "",
    }
    assert result.data == {"sessions": [session]}
    assert sessions_result([]) == written("No active sessions", data={"sessions": []})


def test_a_warning_is_added_to_text_and_values() -> None:
    warned = with_warning(with_warning(DONE, "one"), "two")
    assert data(warned) == {"status": "completed", "content": "hi", "warnings": ["one", "two"]}
    assert words(warned) == ["hi", "Warning: one", "Warning: two"]
    assert with_warning(REFUSED, "one") == REFUSED


def test_only_silence_gets_a_text() -> None:
    silent = written("", data={"status": "completed", "content": ""})
    assert words(with_text_for_silence(silent, "nothing")) == ["nothing"]
    for result in (DONE, REFUSED):
        assert with_text_for_silence(result, "nothing") == result


def test_a_result_says_how_its_own_call_came_by_the_thread() -> None:
    result = written(data={"session": {"id": "s", "resumed": "native"}})
    assert data(with_path(result, Resumed.NEW)) == {"session": {"id": "s", "resumed": "new"}}
    assert with_path(DONE, Resumed.NEW) == DONE


def test_help_names_every_tool_and_argument() -> None:
    (text,) = words(help_result(TOOLS, "1.2"))
    for tool in TOOLS:
        assert f"\n{tool.name}: " in text
        assert all(field.name in text for field in tool.fields)
