"""What a reader means by an item."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.kinds import MIB
from codex_mcp.control.steps import SHORT, WHOLE, output_end, step_of
from codex_mcp.wire.app import items
from codex_mcp.wire.app.items import Item
from codex_mcp.wire.control_thread import FileStep, Look

KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


def item(kind: str, **fields: object) -> Item:
    """As Codex spells it."""
    found: Item = msgspec.convert({"type": kind, "id": "i", **fields}, Item)
    return found


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("userMessage", {"content": [{"type": "text", "text": "Do it"}]}, {"kind": "user", "text": "Do it"}),
        ("agentMessage", {"text": "Done"}, {"kind": "says", "text": "Done"}),
        ("reasoning", {"summary": ["Hm"]}, {"kind": "thinks", "text": "Hm"}),
        ("commandExecution", {"command": "/bin/bash -lc 'ls -l'"}, {"kind": "ran", "text": "ls -l", "looks": []}),
        ("mcpToolCall", {"server": "s", "tool": "t", "arguments": {"a": 1}}, {"kind": "tool", "text": '{"a":1}'}),
        ("dynamicToolCall", {"tool": "t", "success": False}, {"kind": "tool", "status": "failed"}),
        ("webSearch", {"query": "q"}, {"kind": "search", "text": "q"}),
        ("imageView", {"path": "/a.png"}, {"kind": "image", "pictures": ["/a.png"]}),
        ("imageGeneration", {"saved_path": "/b.png", "savedPath": "/b.png"}, {"pictures": ["/b.png"]}),
        ("collabAgentToolCall", {"tool": "spawn", "prompt": "p"}, {"kind": "agent", "text": "p"}),
        ("exitedReviewMode", {"review": "All good"}, {"kind": "review", "text": "All good"}),
        ("contextCompaction", {}, {"kind": "shortened"}),
    ],
)
def test_each_kind_of_item_is_a_step(kind: str, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    step = step_of(item(kind, **fields))
    assert {name: getattr(step, name) for name in expected} == expected


def test_a_command_that_only_looks_says_at_what() -> None:
    read = {"type": "read", "command": "cat a.py", "name": "a.py", "path": "/src/a.py"}
    search = {"type": "search", "command": "rg x", "query": "x", "path": "src"}
    other = {"type": "unknown", "command": "make"}
    looks = step_of(item("commandExecution", command="c", commandActions=[read, search])).looks
    assert looks == [Look("read", "/src/a.py"), Look("search", "“x” in src")]
    assert step_of(item("commandExecution", command="c", commandActions=[read, other])).looks == []


def test_a_patch_is_its_files_with_counts() -> None:
    changes = [
        {"path": "/a", "kind": {"type": "add"}, "diff": "one\ntwo\n"},
        {"path": "/b", "kind": {"type": "delete"}, "diff": "one\n"},
        {"path": "/c", "kind": {"type": "update", "move_path": "/d"}, "diff": "@@ -1 +1,2 @@\n-x\n+y\n+z\n"},
    ]
    step = step_of(item("fileChange", changes=changes, status="completed"))
    assert step.files == [
        FileStep(path="/a", what="add", added=2),
        FileStep(path="/b", what="delete", removed=1),
        FileStep(path="/c", moved_to="/d", added=2, removed=1),
    ]


def test_of_output_the_last_lines_are_told_and_all_are_counted() -> None:
    output = "".join(f"{n}\n" for n in range(1000))
    step = step_of(items.CommandExecution("i", aggregated_output=output))
    assert (step.output.splitlines()[-1], len(step.output.splitlines()), step.lines) == ("999", SHORT.lines, 1000)
    assert output_end("a\nb", SHORT) == ("a\nb", 2)
    assert output_end("", SHORT) == ("", 0)


def test_secrets_are_masked_wherever_they_stand() -> None:
    for found in (
        item("agentMessage", text=f"It is {KEY}"),
        item("commandExecution", command=f"curl -H {KEY}", aggregatedOutput=KEY),
        item("mcpToolCall", server="s", tool="t", arguments={"key": KEY}, result={"content": [{"text": KEY}]}),
        item("imageView", path=f"/{KEY}/a.png"),
    ):
        assert KEY not in str(msgspec.structs.replace(step_of(found), pictures=())), found


def test_an_answer_of_any_depth_is_read_in_bounds() -> None:
    deep: object = "x"
    for _ in range(100):
        deep = [deep]
    call = items.McpToolCall("i", server="s", tool="t", result={"content": deep, "more": [{"text": "said"}]})
    assert step_of(call).output == "said"


@given(st.text(), st.sampled_from([SHORT, WHOLE]), st.sampled_from([1, 7, 100_000]))
def test_no_step_is_longer_than_its_room(text: str, room: Any, times: int) -> None:
    long = (text * times)[:MIB]
    for found in (
        items.AgentMessage("i", text=long),
        items.CommandExecution("i", command=long, aggregated_output=long),
    ):
        step = step_of(found, room)
        assert len(step.output.splitlines()) <= max(room.lines, len(long) and room.output)
        assert len(step.text) <= room.text + 100
        assert len(step.output) <= room.output + 100
        assert step.cut == 0 or step.cut + room.text >= len(step.text)
