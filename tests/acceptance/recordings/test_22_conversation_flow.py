"""Counterparts of recording 22 of 0.42.0: messages, turns, approvals, interrupts, listeners, the archive."""

from itertools import groupby
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from tests.acceptance.recordings.exchange import BEGUN, scene, serve
from tests.support.servers.conversations import ask, asked, ended, items, listen, new, refusal, say, told, turn
from tests.support.servers.mcp_server import Json, McpServer

ANSWERED = ["agent_message_content_delta", "agent_message_delta", "agent_message", "token_count", "task_complete"]
SOMETIMES = ("warning", "exec_command_output_delta", "mcp_startup_complete")
"""About the model's name, output that may come with the end, and once per conversation."""


def kinds(server: McpServer, conversation: str, number: int) -> list[str]:
    """The types of a submission's events, but for those that come sometimes; deltas in a row count as one."""
    types = [msg["type"] for msg in told(server, conversation, number) if msg["type"] not in SOMETIMES]
    # A delta of today is followed by the one of 0.42.0.
    pairs = [kind for kind in types if kind != "agent_message_delta"]
    found = [kind for kind, run in groupby(pairs) for kind in ([kind] if kind.endswith("_delta") else run)]
    assert types.count("agent_message_delta") == types.count("agent_message_content_delta")
    return found


def answered() -> list[str]:
    return [kind for kind in ANSWERED if kind != "agent_message_delta"]


async def test_messages_and_turns_are_acknowledged_and_told_to_the_listener(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        made = await ask(server, "newConversation", cwd=str(server.setup.work))
        assert set(made) == {"conversationId", "model", "rolloutPath"}
        conversation = made["conversationId"]
        unknown = str(uuid4())
        not_found = (-32600, f"conversation not found: {unknown}")
        assert await refusal(server, "sendUserMessage", conversationId=unknown, items=items("x")) == not_found
        assert await refusal(server, "addConversationListener", conversationId=unknown) == not_found
        assert await refusal(server, "interruptConversation", conversationId=unknown) == not_found
        await listen(server, conversation)

        await say(server, conversation, scene("say", text="old answer"))
        assert (await ended(server, conversation, 0))["last_agent_message"] == "old answer"
        assert kinds(server, conversation, 0) == [*BEGUN, *answered()]
        plain = [{"type": "text", "text": scene("say", text="as documented")}]
        assert await ask(server, "sendUserMessage", conversationId=conversation, items=plain) == {}
        assert (await ended(server, conversation, 1))["last_agent_message"] == "as documented"

        sent = turn(conversation, scene("say", text="turn answer"), server.setup.work)
        assert await ask(server, "sendUserTurn", **sent) == {}
        assert (await ended(server, conversation, 2))["last_agent_message"] == "turn answer"
        assert model.requests[-1].json["model"] == "mock-model"
        assert '"effort":"low"' in msgspec.json.encode(model.requests[-1].json["reasoning"]).decode()
        code, _ = await refusal(server, "sendUserTurn", conversationId=conversation, items=items("x"))
        assert code == -32602
        assert (await refusal(server, "sendUserMessage", conversationId=conversation, items=[{"type": "x"}]))[
            0
        ] == -32602

        # What a turn has set stays for the next message.
        await say(server, conversation, scene("say", text="after"))
        await ended(server, conversation, 3)
        assert model.requests[-1].json["model"] == "mock-model"


ANSWERS = {
    "approved": ({"decision": "approved"}, True, "task_complete"),
    "allow": ({"decision": "allow"}, True, "task_complete"),
    "accept": ({"action": "accept"}, True, "task_complete"),
    "denied": ({"decision": "denied"}, False, "task_complete"),
    "deny": ({"decision": "deny"}, False, "task_complete"),
    "abort": ({"decision": "abort"}, False, "turn_aborted"),
}
"""The client's answer, whether the command then runs, and how the turn ends."""


async def test_a_command_is_asked_about_in_the_old_form_and_every_answer_counts(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        conversation = await new(server)
        await listen(server, conversation)
        work = server.setup.work
        await listen(server, conversation)  # a second listener gets events, and the client is still asked once
        for question, (answer, runs, end) in enumerate(ANSWERS.values()):
            number = 2 * question  # the answer is a submission of its own
            prompt = scene("run", cmd=f"touch made-{question}")
            sent = turn(
                conversation, prompt, work, approvalPolicy="untrusted", sandboxPolicy={"mode": "workspace-write"}
            )
            assert await ask(server, "sendUserTurn", **sent) == {}
            params = await asked(server, "execCommandApproval", question)
            (event, copy) = [
                msg for msg in told(server, conversation, number) if msg["type"] == "exec_approval_request"
            ]
            assert event == copy
            assert params == {
                "conversation_id": conversation,
                "conversationId": conversation,
                "call_id": event["call_id"],
                "callId": event["call_id"],
                "command": ["/bin/bash", "-lc", f"touch made-{question}"],
                "cwd": str(work),
            }
            server.reply(question, answer)
            assert (await ended(server, conversation, number))["type"] == end
            assert (work / f"made-{question}").exists() is runs
        requests = [message for message in server.messages if message.get("method") == "execCommandApproval"]
        assert len(requests) == len(ANSWERS)
        # No turn has made the folder trusted.
        config = server.setup.codex_home / "config.toml"
        assert not config.exists() or "trust_level" not in config.read_text()


async def test_a_patch_is_asked_about_in_the_old_form(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        (server.setup.work / "there.txt").write_text("before\nstays\n")
        conversation = await new(server, sandbox="read-only", approvalPolicy="on-request")
        await listen(server, conversation)
        await say(server, conversation, scene("patch"))
        params = await asked(server, "applyPatchApproval", 0)
        changes = params["file_changes"]
        assert params["fileChanges"] == changes
        assert changes[str(server.setup.work / "new.txt")] == {"add": {"content": "brand new\n"}}
        update = changes[str(server.setup.work / "there.txt")]["update"]
        assert "+after" in update["unified_diff"]
        assert update["move_path"] is None
        server.reply(0, {"decision": "approved"})
        await ended(server, conversation, 0)
        assert (server.setup.work / "new.txt").read_text() == "brand new\n"
        found = kinds(server, conversation, 0)
        assert (
            found.index("apply_patch_approval_request")
            < found.index("patch_apply_begin")
            < found.index("patch_apply_end")
        )


async def test_an_interrupt_is_answered_when_the_turn_has_ended_and_at_once_when_idle(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        conversation = await new(server)
        await listen(server, conversation)
        await say(server, conversation, scene("endless"))
        await server.wait_for(lambda message: message.get("method") == "codex/event/agent_message_delta")
        request = server.request("interruptConversation", {"conversationId": conversation})
        assert await server.result(request) == {"abortReason": "interrupted"}
        order = [message.get("method", message.get("id")) for message in server.messages]
        assert order.index("codex/event/turn_aborted") < order.index(request)
        assert await ask(server, "interruptConversation", conversationId=conversation) == {"abortReason": "interrupted"}
        # Both interrupts were submissions.
        await say(server, conversation, scene("say", text="next"))
        assert (await ended(server, conversation, 3))["last_agent_message"] == "next"


async def test_two_listeners_get_a_copy_each_from_when_they_were_added(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        conversation = await new(server)
        await say(server, conversation, scene("say", text="unheard"))
        first = await listen(server, conversation)
        await say(server, conversation, scene("say", text="one"))
        await ended(server, conversation, 1)
        second = await listen(server, conversation)
        await say(server, conversation, scene("say", text="two"))
        await ended(server, conversation, 2)

        def copies(number: int) -> list[int]:
            types = [msg["type"] for msg in told(server, conversation, number)]
            return [types.count(kind) for kind in ("task_started", "agent_message_delta", "task_complete")]

        await server.until(lambda: copies(2)[2] == 2)
        assert copies(1) == [1, 1, 1]
        assert copies(2) == [2, 2, 2]
        assert await ask(server, "removeConversationListener", subscriptionId=second) == {}
        assert await ask(server, "removeConversationListener", subscriptionId=first) == {}
        gone = (-32600, f"subscription not found: {first}")
        assert await refusal(server, "removeConversationListener", subscriptionId=first) == gone
        before = len(told(server, conversation))
        await say(server, conversation, scene("say", text="three"))
        assert await ask(server, "interruptConversation", conversationId=conversation) == {"abortReason": "interrupted"}
        assert len(told(server, conversation)) == before


@pytest.mark.parametrize("path", ["/etc/passwd", "elsewhere"])
async def test_an_archived_conversation_is_moved_and_not_found_afterwards(tmp_path: Path, path: str) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        made: Json = await ask(server, "newConversation")
        conversation, rollout = made["conversationId"], made["rolloutPath"]
        await listen(server, conversation)
        await say(server, conversation, scene("say"))
        await ended(server, conversation, 0)

        archive = {"conversationId": conversation, "rolloutPath": path}
        text = f"rollout path `{path}` must be in sessions directory"
        assert await refusal(server, "archiveConversation", **archive) == (-32600, text)
        other = str(uuid4())
        text = f"rollout path `{rollout}` does not match conversation id {other}"
        archive = {"conversationId": other, "rolloutPath": rollout}
        assert await refusal(server, "archiveConversation", **archive) == (-32600, text)
        archive = {"conversationId": conversation, "rolloutPath": rollout}
        assert await ask(server, "archiveConversation", **archive) == {}
        (moved,) = server.setup.codex_home.rglob(f"rollout-*{conversation}.jsonl")
        assert moved.parent.name == "archived_sessions"
        not_found = (-32600, f"conversation not found: {conversation}")
        assert await refusal(server, "sendUserMessage", conversationId=conversation, items=items("x")) == not_found
        assert await refusal(server, "archiveConversation", **archive) == not_found
        assert await ask(server, "listConversations") == {"items": []}
