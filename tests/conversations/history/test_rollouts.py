from pathlib import Path

import msgspec
import pytest

from codex_mcp.conversations.history.rollouts import check_archivable, conversation_in, initial_messages
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.app.client_requests import RawThreadAnswer

ID = "01a1dcbe-60ea-7281-938a-472eec53b178"
NAME = f"rollout-2026-11-15T01-07-06-{ID}.jsonl"


def test_a_path_names_a_conversation_only_below_the_sessions_folder(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions/2026"
    sessions.mkdir(parents=True)
    home = str(tmp_path)
    assert conversation_in(home, str(sessions / NAME)) == ID
    assert conversation_in(home, str(sessions / "../../sessions" / NAME)) == ID
    assert conversation_in(home, str(sessions / "../.." / NAME)) is None
    assert conversation_in(home, str(sessions / "notes.jsonl")) is None
    assert conversation_in(home, f"sessions/{NAME}") is None
    (sessions / NAME).symlink_to("/etc/passwd")
    assert conversation_in(home, str(sessions / NAME)) is None


def test_only_the_file_of_a_conversation_can_be_archived_with_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    check_archivable(home, f"{home}/sessions/2026/{NAME}", ID)
    wrong = {
        "/etc/passwd": "must be in sessions directory",
        f"{home}/sessions": "missing file name",
        f"{home}/sessions/other.jsonl": f"does not match conversation id {ID}",
        f"{home}/sessions/{ID}.jsonl": f"does not match conversation id {ID}",
    }
    for path, why in wrong.items():
        with pytest.raises(RequestFailed) as caught:
            check_archivable(home, path, ID)
        assert caught.value.error.message == f"rollout path `{path}` {why}"


def test_what_was_said_is_repeated_and_what_was_done_is_not() -> None:
    items = [
        {"type": "userMessage", "id": "1", "content": [{"type": "text", "text": "Hello"}]},
        {"type": "reasoning", "id": "2", "summary": ["Hm"], "content": []},
        {"type": "commandExecution", "id": "3", "command": "ls", "status": "completed"},
        {"type": "agentMessage", "id": "4", "text": "Good day."},
        {"type": "of a later release", "id": "5"},
    ]
    read = msgspec.convert(
        {"thread": {"turns": [{"id": "turn", "items": [msgspec.Raw(msgspec.json.encode(item)) for item in items]}]}},
        RawThreadAnswer,
    )
    said = initial_messages(read)
    assert [msg["type"] for msg in said] == ["user_message", "agent_reasoning", "agent_message"]
    assert said[0]["message"] == "Hello"
