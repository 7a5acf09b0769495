"""Items of every kind as Markdown."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.mcp.resources.transcript import OUTPUT_CHARS, transcript
from codex_mcp.wire.app.history import StoredThread, StoredTurn
from codex_mcp.wire.app.items import Failure

THREAD = StoredThread("t", cwd="/w")


def turn(*items: object, status: str = "completed", error: str = "") -> StoredTurn:
    raw = [Raw(msgspec.json.encode(item)) for item in items]
    return StoredTurn("u", status, raw, Failure(error) if error else None)


def shown(*items: object, status: str = "completed", error: str = "") -> str:
    return transcript(THREAD, [turn(*items, status=status, error=error)], is_cut=False)


def test_a_thread_without_turns_has_a_title() -> None:
    assert transcript(THREAD, [], is_cut=False) == "# Thread t\n\nFolder: `/w`\n"


def test_every_kind_of_item_is_shown() -> None:
    text = shown(
        {"type": "userMessage", "id": "1",
         "content": [{"type": "text", "text": "Do it"}, {"type": "image", "url": "u"}]},
        {"type": "reasoning", "id": "2", "summary": ["Think\ntwice"]},
        {"type": "commandExecution", "id": "3", "command": "ls", "status": "completed", "exitCode": 1,
         "aggregatedOutput": "a\n"},
        {"type": "fileChange", "id": "4", "status": "completed",
         "changes": [{"path": "/w/a", "kind": {"type": "add"}}]},
        {"type": "mcpToolCall", "id": "5", "server": "s", "tool": "t", "status": "failed"},
        {"type": "dynamicToolCall", "id": "6", "tool": "mail"},
        {"type": "collabAgentToolCall", "id": "7", "tool": "spawn"},
        {"type": "webSearch", "id": "8", "query": "q"},
        {"type": "imageView", "id": "9", "path": "/p"},
        {"type": "contextCompaction", "id": "10"},
        {"type": "exitedReviewMode", "id": "11", "review": "fine"},
        {"type": "ofTheFuture", "id": "12"},
        {"type": "agentMessage", "id": "13", "text": "Done"},
    )  # fmt: skip
    parts = text.split("\n\n")
    assert parts[2:] == [
        "## Turn 1",
        "**User:**",
        "Do it",
        "(image: u)",
        "> Think\n> twice",
        "Ran `ls`, completed (exit code 1)",
        "```\na\n```",
        "Changed files, completed:",
        "- add `/w/a`",
        "Called `s.t`, failed",
        "Called `mail`",
        "Called `spawn` for another agent",
        "Searched the web for `q`",
        "Looked at `/p`",
        "*The history of the thread was shortened here.*",
        "Review: fine",
        "**Codex:**",
        "Done\n",
    ]


def test_the_state_of_a_turn_is_named() -> None:
    assert "*The turn is running.*" in shown(status="inProgress")
    assert "*The turn failed: no model*" in shown(status="failed", error="no model")
    assert "*The turn was interrupted*" in shown(status="interrupted")


def test_what_is_left_out_is_said() -> None:
    text = transcript(THREAD, [turn()], is_cut=True)
    assert "Earlier turns are left out. codex://threads/t/rollout has all of them." in text
    long = shown({"type": "commandExecution", "id": "1", "command": "x", "aggregatedOutput": "y" * (OUTPUT_CHARS + 7)})
    assert "… 7 characters are left out" in long


@given(st.text("`\na ", max_size=40))
def test_no_output_ends_its_own_code_block(output: str) -> None:
    text = shown({"type": "commandExecution", "id": "1", "command": "x", "aggregatedOutput": output + "`"})
    fence = re.findall(r"^(`{3,})$", text, re.MULTILINE)[-1]
    assert text.rstrip().endswith(fence)
    inside = text[text.index(f"\n{fence}\n") + len(fence) + 2 : text.rindex(f"\n{fence}")]
    assert fence not in inside
