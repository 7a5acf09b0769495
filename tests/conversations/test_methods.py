"""The conversation methods on the real Codex, called without a transport."""

import asyncio
import contextlib
import os
from pathlib import Path
from uuid import uuid4

import pytest

from codex_mcp.codex.core import LONGEST_IMAGE
from codex_mcp.conversations import conversations
from codex_mcp.conversations.listeners import MOST
from codex_mcp.conversations.server.one_off import AT_ONCE_OF_ONE, LONGEST_MS, MOST_OUTPUT
from tests.support.core.callers import Json, TalkingClient, talking
from tests.support.servers.doorbell import doorbell

DONE = "codex/event/task_complete"
SAY = '[[scene: say text="Hello."]]'
ASK = "[[scene: escalate]]"


def text(prompt: str) -> list[Json]:
    return [{"type": "text", "text": prompt}]


async def conversation_of(client: TalkingClient, prompt: str = SAY) -> Json:
    """A conversation with a listener, in which something was said."""
    made = await client.call("newConversation")
    await client.call("addConversationListener", conversationId=made["conversationId"])
    await client.call("sendUserMessage", conversationId=made["conversationId"], items=text(prompt))
    await client.until_told(DONE)
    return made


async def test_a_conversation_is_had_listed_resumed_and_archived(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        made = await conversation_of(client)
        conversation = {"conversationId": made["conversationId"]}
        assert await client.call("interruptConversation", **conversation) == {"abortReason": "interrupted"}
        (listed,) = (await client.call("listConversations"))["items"]
        assert listed["conversationId"] == made["conversationId"]
        assert (await client.call("getConversationSummary", rolloutPath=made["rolloutPath"]))["summary"]
        other = TalkingClient(methods, "two")
        assert await other.error("sendUserMessage", **conversation, items=text(SAY)) == (
            -32600,
            f"conversation not found: {made['conversationId']}",
        )
        resumed = await other.call("resumeConversation", path=made["rolloutPath"], overrides={"model": "another"})
        assert resumed["model"] == "another"
        assert [method for method, _ in other.told] == ["codex/event"]
        assert await client.call("archiveConversation", **conversation, rolloutPath=made["rolloutPath"]) == {}
        for each in (client, other):
            code, why = await each.error("sendUserMessage", **conversation, items=text(SAY))
            assert (code, why.partition(":")[0]) == (-32600, "conversation not found")


async def test_a_conversation_without_a_message_can_be_archived(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        made = await client.call("newConversation")
        archive = {"conversationId": made["conversationId"], "rolloutPath": made["rolloutPath"]}
        assert await client.call("archiveConversation", **archive) == {}
        assert (await client.error("archiveConversation", **archive))[0] == -32600
        for method in ("resumeConversation", "getConversationSummary"):
            assert (await client.error(method))[0] == -32602
            assert (await client.error(method, conversationId=str(uuid4())))[1].startswith("conversation not found")
        assert (await client.error("resumeConversation", path="/no/such"))[1].startswith(
            "error resuming conversation: "
        )
        assert (await client.error("listConversations", cursor="x"))[0] == -32602
        for method in ("resumeConversation", "getConversationSummary"):
            assert await client.error(method, conversationId="x") == (-32600, "conversation not found: x")
        for name in ("/no/such", made["rolloutPath"]):
            path = f"{name}\0"
            missing = await client.error("resumeConversation", path="/no/such")
            assert await client.error("resumeConversation", path=path) == missing
            missing = await client.error("getConversationSummary", rolloutPath="/no/such")
            assert await client.error("getConversationSummary", rolloutPath=path) == missing
            archive["rolloutPath"] = path
            assert "does not match" in (await client.error("archiveConversation", **archive))[1]
        unknown = {"conversationId": str(uuid4()), "rolloutPath": made["rolloutPath"]}
        assert "does not match" in (await client.error("archiveConversation", **unknown))[1]


async def test_the_next_listener_is_asked_when_a_client_is_lost(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, model):
        lost, back = TalkingClient(methods), TalkingClient(methods)
        made = await lost.call("newConversation", sandbox="read-only")
        conversation = {"conversationId": made["conversationId"]}
        await lost.call("addConversationListener", **conversation)
        await lost.call("sendUserMessage", **conversation, items=text(ASK))
        await lost.until(lambda: lost.asked)
        lost.lose_connection(0)
        methods.caller_gone(lost)
        assert len(lost.asked) == 1
        await back.call("addConversationListener", **conversation)
        await back.until(lambda: back.asked)
        assert back.asked == lost.asked
        back.refuse(0, "not today")
        await back.until_told(DONE)
        assert "not today" in str(model.requests[-1].json["input"])


@pytest.mark.parametrize("listens_before", [True, False])
async def test_another_session_is_asked_when_the_asked_one_has_ended(tmp_path: Path, *, listens_before: bool) -> None:
    async with talking(tmp_path) as (methods, _model):
        gone, other = TalkingClient(methods), TalkingClient(methods, "two")
        made = await gone.call("newConversation", sandbox="read-only")
        conversation = {"conversationId": made["conversationId"]}
        await gone.call("addConversationListener", **conversation)
        await gone.call("sendUserMessage", **conversation, items=text(ASK))
        await gone.until(lambda: gone.asked)
        if listens_before:
            await other.call("resumeConversation", **conversation)
            await other.call("addConversationListener", **conversation)
        assert other.asked == []
        gone.lose_connection(0)
        methods.caller_gone(gone)
        if not listens_before:
            await other.call("resumeConversation", **conversation)
            await other.call("addConversationListener", **conversation)
        await other.until(lambda: other.asked)
        assert other.asked == gone.asked
        other.answer(0, {"decision": "denied"})
        await other.until_told(DONE)
        assert len(other.asked) == 1


@pytest.mark.parametrize("is_heard", [True, False])
async def test_the_messages_of_a_session_that_has_ended_are_stopped(tmp_path: Path, *, is_heard: bool) -> None:
    async with talking(tmp_path) as (methods, model):
        gone, other = TalkingClient(methods), TalkingClient(methods, "two")
        conversation = {"conversationId": (await gone.call("newConversation"))["conversationId"]}
        await gone.call("newConversation")
        for _ in range(2):
            await gone.call("sendUserMessage", **conversation, items=text("[[scene: gate]]"))
        await model.wait_for_gate("gate")
        thread = methods.conversations.threads.open_thread(conversation["conversationId"])
        assert thread is not None
        running, waiting = thread.unfinished()
        await other.call("resumeConversation", **conversation)
        if is_heard:
            await other.call("addConversationListener", **conversation)
        await other.call("sendUserMessage", **conversation, items=text(SAY))
        methods.caller_gone(gone)
        assert thread.unfinished()[:2] == [running, waiting]
        methods.caller_gone(TalkingClient(methods), for_good=True)
        if is_heard:
            model.release("gate")
            await other.until_told(DONE, 2 + 1)
        else:
            await thread.until_idle()
            assert [turn.outcome.status for turn in (running, waiting)] == ["interrupted", "interrupted"]
            assert thread.newest is not None
            assert thread.newest.outcome.status == "completed"


async def test_a_withdrawn_question_is_taken_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        made = await client.call("newConversation", sandbox="read-only")
        conversation = {"conversationId": made["conversationId"]}
        await client.call("addConversationListener", **conversation)
        await client.call("sendUserMessage", **conversation, items=text(ASK))
        await client.until(lambda: client.asked)
        await client.call("interruptConversation", **conversation)
        assert client.withdrawn == ["the question is no longer open"]
        # The interrupt was a submission, the withdrawn question was not.
        await client.call("sendUserMessage", **conversation, items=text(SAY))
        await client.until_told(DONE)
        assert client.told[-1][1]["id"] == "2"


async def test_there_are_limits(tmp_path: Path) -> None:
    async with talking(tmp_path, max_turns_waiting=0) as (methods, model):
        client = TalkingClient(methods)
        made = await client.call("newConversation")
        conversation = {"conversationId": made["conversationId"]}
        for _ in range(MOST):
            await client.call("addConversationListener", **conversation)
        unknown = await client.error("removeConversationListener", subscriptionId="nothing")
        assert unknown == (-32600, "subscription not found: nothing")
        assert f"has {MOST} listeners already" in (await client.error("addConversationListener", **conversation))[1]
        await client.call("sendUserMessage", **conversation, items=text("[[scene: gate]]"))
        await model.wait_for_gate("gate")
        busy = await client.error("sendUserMessage", **conversation, items=text(SAY))
        assert busy[0] == -32600
        assert "0 more messages wait already" in busy[1]
        code, why = await client.error("resumeConversation", **conversation, overrides={"model": "x"})
        assert code == -32603
        assert "is in use" in why
        model.release("gate")


async def test_what_a_message_names_must_be_there(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        conversation = {"conversationId": (await client.call("newConversation"))["conversationId"]}
        os.mkfifo(tmp_path / "pipe.png")
        with (tmp_path / "long.png").open("wb") as file:
            file.truncate(LONGEST_IMAGE + 1)
        for name in ("nothing.png", "nothing\0.png", str(tmp_path / "pipe.png"), str(tmp_path / "long.png")):
            picture = [{"type": "localImage", "path": name}]
            assert "cannot read the image" in (await client.error("sendUserMessage", **conversation, items=picture))[1]
        turn = {
            "items": text(SAY),
            "cwd": str(tmp_path / "nowhere"),
            "approvalPolicy": "on-failure",
            "sandboxPolicy": {"mode": "read-only"},
            "model": "m",
            "summary": "none",
        }
        assert "is not a folder" in (await client.error("sendUserTurn", **conversation, **turn))[1]
        await client.call("addConversationListener", **conversation)
        assert await client.call("sendUserTurn", **conversation, **{**turn, "cwd": str(tmp_path)}) == {}
        await client.until_told(DONE)


async def test_a_client_from_elsewhere_may_not_change_the_server(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client, guest = TalkingClient(methods), TalkingClient(methods, "guest", is_local=False)
        for method in ("loginApiKey", "loginChatGpt", "cancelLoginChatGpt", "logoutChatGpt", "setDefaultModel"):
            given = {"apiKey": "sk-x", "loginId": "x", "model": "x"}
            assert "needs administration" in (await guest.error(method, **given))[1]
        assert await guest.call("userInfo") == {"allegedUserEmail": None}
        assert await client.error("loginApiKey", apiKey="") == (-32602, "Invalid params: apiKey must not be empty")
        assert await client.call("loginApiKey", apiKey="sk-test-123") == {}
        await client.until_told("authStatusChange")
        assert await client.call("logoutChatGpt") == {}
        await client.until_told("authStatusChange", 2)
        assert guest.told == []
        assert await client.call("userInfo") == {"allegedUserEmail": None}
        assert (await guest.call("getAuthStatus", includeToken=True)).keys() == {"requiresOpenaiAuth"}
        assert (await client.error("cancelLoginChatGpt", loginId=str(uuid4())))[1].startswith("login id not found")


async def test_the_server_is_described_and_configured(tmp_path: Path) -> None:
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        assert await client.call("getUserSavedConfig") == {"config": {"profiles": {}}}
        assert await client.call("setDefaultModel", model="chosen") == {}
        assert (await client.call("getUserSavedConfig"))["config"]["model"] == "chosen"
        config = tmp_path / "home/.codex/config.toml"
        config.write_text("model =")
        assert (await client.error("setDefaultModel"))[1].startswith("failed to persist overrides: ")
        config.unlink()
        config.mkdir()
        assert (await client.error("getUserSavedConfig"))[1].startswith("failed to load config.toml: ")
        config.rmdir()
        assert await client.call("fuzzyFileSearch", query="x", roots=[str(tmp_path / "work")]) == {"files": []}
        assert (await client.error("gitDiffToRemote", cwd=os.sep))[0] == -32600


async def test_one_principal_leaves_room_for_the_commands_of_others(tmp_path: Path) -> None:
    full = {"sandboxPolicy": {"mode": "danger-full-access"}}
    async with contextlib.AsyncExitStack() as stack:
        methods, _model = await stack.enter_async_context(talking(tmp_path))
        greedy, modest = TalkingClient(methods), TalkingClient(methods, "two")
        modest.principal = "modest"
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        running = []
        for number in range(AT_ONCE_OF_ONE):
            bell = tmp_path / f"bell{number}"
            rung = await stack.enter_async_context(doorbell(bell))
            command = ["sh", "-c", f"echo > {bell}; sleep 600"]
            running.append(
                tasks.create_task(greedy.call("execOneOffCommand", command=command, timeoutMs=600_000, **full))
            )
            await rung.wait()
        assert await greedy.error("execOneOffCommand", command=["true"], **full) == (
            -32600,
            "8 commands of yours run already; wait for one to end",
        )
        assert (await modest.call("execOneOffCommand", command=["echo", "hi"], **full))["stdout"] == "hi\n"
        for each in running:
            each.cancel()
    too_long = {"command": ["true"], "timeoutMs": LONGEST_MS + 1}
    async with talking(tmp_path / "second") as (methods, _model):
        assert (await TalkingClient(methods).error("execOneOffCommand", **too_long))[0] == -32602


async def test_commands_run_and_are_ended(tmp_path: Path) -> None:
    full = {"sandboxPolicy": {"mode": "danger-full-access"}}
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        done = await client.call("execOneOffCommand", command=["echo", "hi"], **full)
        assert done == {"exitCode": 0, "stdout": "hi\n", "stderr": ""}
        much = await client.call("execOneOffCommand", command=["head", "-c", "9000000", "/dev/zero"], **full)
        assert much["stdout"] == "\0" * MOST_OUTPUT
        slow = {"command": ["sleep", "600"], "timeoutMs": 0, **full}
        assert await client.error("execOneOffCommand", **slow) == (
            -32603,
            "exec failed: sandbox error: command timed out",
        )
        assert (await client.error("execOneOffCommand", command=["true"], timeoutMs=10**12))[0] == -32602
        assert (await client.error("execOneOffCommand", command=[]))[1] == "command must not be empty"
        assert (await client.error("execOneOffCommand", command=["/no/such"]))[1].startswith(
            "exec failed: No such file"
        )
    async with talking(tmp_path / "second", exec_server="ws://127.0.0.1:9") as (methods, _model):
        assert (
            "runs commands elsewhere" in (await TalkingClient(methods).error("execOneOffCommand", command=["true"]))[1]
        )


async def test_the_conversations_used_longest_ago_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "KEPT", 2)
    async with talking(tmp_path) as (methods, _model):
        client = TalkingClient(methods)
        made = [(await client.call("newConversation"))["conversationId"] for _ in range(2)]
        await client.call("addConversationListener", conversationId=made[0])
        assert len(methods.conversations) == 2
        await client.call("newConversation")
        assert len(methods.conversations) == 2
        # It was started here, so its owner finds it again.
        assert await client.call("interruptConversation", conversationId=made[1]) == {"abortReason": "interrupted"}
