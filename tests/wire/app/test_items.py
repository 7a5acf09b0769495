"""Items as the app-server writes them."""

import msgspec
import pytest

from codex_mcp.wire.app.items import (
    ChangeKind,
    CommandAction,
    CommandExecution,
    FileChange,
    FileUpdate,
    ImageGeneration,
    Item,
)


def test_a_command_is_read_in_snake_case() -> None:
    item = {
        "type": "commandExecution",
        "id": "call-1",
        "command": "ls",
        "cwd": "/x",
        "processId": "4242",
        "source": "unifiedExecStartup",
        "status": "completed",
        "commandActions": [{"type": "listFiles", "command": "ls", "path": None}],
        "aggregatedOutput": "a\n",
        "exitCode": 0,
        "durationMs": 5,
        "somethingNew": {},
    }
    expected = CommandExecution(
        id="call-1",
        command="ls",
        cwd="/x",
        command_actions=[CommandAction("listFiles", "ls")],
        process_id="4242",
        source="unifiedExecStartup",
        status="completed",
        aggregated_output="a\n",
        exit_code=0,
        duration_ms=5,
    )
    assert msgspec.convert(item, Item) == expected


def test_a_moved_file_is_read_although_its_target_is_in_snake_case() -> None:
    change = {"path": "/a", "kind": {"type": "update", "move_path": "/b"}, "diff": ""}
    item = {"type": "fileChange", "id": "call-2", "changes": [change], "status": "inProgress"}
    expected = FileChange(id="call-2", changes=[FileUpdate("/a", ChangeKind("update", "/b"), "")])
    assert msgspec.convert(item, Item) == expected


def test_an_unknown_item_cannot_be_read() -> None:
    with pytest.raises(msgspec.ValidationError, match="hologram"):
        msgspec.convert({"type": "hologram", "id": "h"}, Item)


@pytest.mark.parametrize("result", [{}, {"result": None}], ids=["missing", "null"])
def test_an_image_may_come_without_its_data(result: dict[str, object]) -> None:
    sent = {"type": "imageGeneration", "id": "ig-1", "status": "completed", "savedPath": "/x/i.png", **result}
    assert msgspec.convert(sent, Item) == ImageGeneration("ig-1", status="completed", saved_path="/x/i.png")
