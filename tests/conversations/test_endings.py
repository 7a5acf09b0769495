"""Every message that was accepted ends with an event, on the real Codex."""

import os
import signal
from pathlib import Path

from codex_mcp.codex.core import MAX_PROMPT_CHARS
from tests.support.core.callers import Json, TalkingClient, talking
from tests.support.processes import the_core

DONE = "codex/event/task_complete"
GATE = "[[scene: gate]]"


def text(prompt: str) -> list[Json]:
    return [{"type": "text", "text": prompt}]


def ends(client: TalkingClient) -> list[tuple[str, str]]:
    """The number and the kind of each ending."""
    kinds = ("error", "task_complete", "turn_aborted")
    events = [params for method, params in client.told if method.startswith("codex/event/")]
    return [(event["id"], event["msg"]["type"]) for event in events if event["msg"]["type"] in kinds]


async def test_listeners_are_told_of_all_messages_that_a_dead_codex_had(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, model):
        client, other = TalkingClient(methods), TalkingClient(methods, "two")
        conversation = {"conversationId": (await client.call("newConversation"))["conversationId"]}
        await client.call("addConversationListener", **conversation)
        for _ in range(3):
            await client.call("sendUserMessage", **conversation, items=text(GATE))
        await model.wait_for_gate("gate")
        await other.call("resumeConversation", **conversation)
        await other.call("addConversationListener", **conversation)
        os.kill(the_core(tmp_path / "home").pid, signal.SIGKILL)
        await client.until_told(DONE, 3)
        await other.until_told(DONE, 3)
        assert ends(client) == [(number, kind) for number in "012" for kind in ("error", "task_complete")]
        errors = [params["msg"] for method, params in client.told if method == "codex/event/error"]
        why = "Codex ended unexpectedly (signal SIGKILL). A new Codex starts by itself."
        assert [error["message"] for error in errors] == [why] * 3
        last = client.told[-1][1]["msg"]
        assert last["last_agent_message"] is None
        assert last["turn_id"]
        assert [kind for _, kind in ends(other)] == ["error", "task_complete"] * 3


async def test_listeners_are_told_once_that_a_turn_was_interrupted(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, model):
        client = TalkingClient(methods)
        conversation = {"conversationId": (await client.call("newConversation"))["conversationId"]}
        await client.call("addConversationListener", **conversation)
        await client.call("sendUserMessage", **conversation, items=text(GATE))
        await model.wait_for_gate("gate")
        await client.call("interruptConversation", **conversation)
        await client.call("sendUserMessage", **conversation, items=text('[[scene: say text="Hello."]]'))
        await client.until_told(DONE)
        assert ends(client) == [("0", "turn_aborted"), ("2", "task_complete")]


async def test_a_turn_that_is_stopped_before_codex_has_it_is_aborted(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, model):
        client = TalkingClient(methods)
        conversation = {"conversationId": (await client.call("newConversation"))["conversationId"]}
        await client.call("addConversationListener", **conversation)
        for _ in range(2):
            await client.call("sendUserMessage", **conversation, items=text(GATE))
        await model.wait_for_gate("gate")
        thread = methods.conversations.threads.open_thread(conversation["conversationId"])
        assert thread is not None
        thread.cancel_all()
        await client.until_told("codex/event/turn_aborted", 2)
        assert sorted(ends(client)) == [("0", "turn_aborted"), ("1", "turn_aborted")]


async def test_a_text_that_codex_would_refuse_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        conversation = {"conversationId": (await client.call("newConversation"))["conversationId"]}
        turn = {
            "cwd": str(tmp_path),
            "approvalPolicy": "never",
            "sandboxPolicy": {"mode": "read-only"},
            "model": "m",
            "summary": "none",
        }
        halves = text("x" * (MAX_PROMPT_CHARS // 2)) * 2
        for method, more in (("sendUserMessage", {}), ("sendUserTurn", turn)):
            code, why = await client.error(method, **conversation, items=[*halves, *text("x")], **more)
            assert code == -32600
            assert "exceeds the maximum length" in why
        await client.call("addConversationListener", **conversation)
        await client.call("sendUserMessage", **conversation, items=halves)
        await client.until_told(DONE)
