"""Counterparts of the recordings 23 to 25 of 0.42.0: the list, resuming after a restart, and the tools beside it."""

from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import ENDED, NEW, SCENES, event_types, scene, serve, thread_of
from tests.support.servers.conversations import ask, asked, ended, listen, new, refusal, say, told, turn
from tests.support.servers.mcp_server import McpServer, Setup

MISSING = "error resuming conversation: No such file or directory (os error 2)"


async def test_conversations_are_listed_newest_first_page_by_page(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        made = []
        for number in range(3):
            model = {"model": f"m{number}", "config": {"model_reasoning_summary": "none"}}
            conversation = await ask(server, "newConversation", **model)
            assert conversation["model"] == f"m{number}"
            await listen(server, conversation["conversationId"])
            await say(server, conversation["conversationId"], scene("say", text=f"answer {number}"))
            await ended(server, conversation["conversationId"], 0)
            made.append(conversation)

        first = await ask(server, "listConversations", pageSize=2)
        last = await ask(server, "listConversations", pageSize=2, cursor=first["nextCursor"])
        assert "nextCursor" not in last
        listed = [*first["items"], *last["items"]]
        assert [(item["conversationId"], item["path"]) for item in listed] == [
            (conversation["conversationId"], conversation["rolloutPath"]) for conversation in reversed(made)
        ]
        assert listed[0]["preview"] == scene("say", text="answer 2")
        assert listed[0]["timestamp"].endswith("Z")
        everything = await ask(server, "listConversations")
        assert everything == {"items": listed}
        assert await server.result(server.request("listConversations")) == everything
        for wrong in ({"cursor": "garbage"}, {"cursor": first["nextCursor"][:-1]}, {"pageSize": 0}, {"pageSize": "2"}):
            assert (await refusal(server, "listConversations", **wrong))[0] == -32602


async def test_a_conversation_is_resumed_from_its_file_after_a_restart(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(SCENES)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        async with McpServer(setup) as server:
            made = await ask(server, "newConversation")
            conversation, path = made["conversationId"], made["rolloutPath"]
            await listen(server, conversation)
            await say(server, conversation, scene("say", text="answer 0"))
            await ended(server, conversation, 0)
        async with McpServer(setup) as server:
            await server.initialize()
            code, text = await refusal(server, "resumeConversation", path="/no/such/file.jsonl")
            assert code == -32603
            assert text.startswith(MISSING)
            assert (await refusal(server, "resumeConversation"))[0] == -32602
            overrides = {"model": "resumed-model", "cwd": str(setup.work)}
            request = server.request("resumeConversation", {"path": path, "overrides": overrides})
            resumed = await server.result(request)
            assert (resumed["conversationId"], resumed["model"]) == (conversation, "resumed-model")
            said = resumed["initialMessages"]
            assert [(msg["type"], msg["message"]) for msg in said] == [
                ("user_message", scene("say", text="answer 0")),
                ("agent_message", "answer 0"),
            ]
            configured, answer = server.messages[-2:]
            assert answer["id"] == request
            assert configured["method"] == "codex/event"
            assert configured["params"]["id"] == ""
            msg = configured["params"]["msg"]
            assert (msg["type"], msg["session_id"]) == ("session_configured", conversation)
            assert (msg["model"], msg["initial_messages"]) == ("resumed-model", said)

            await listen(server, conversation)
            await say(server, conversation, scene("say", text="after resume"))
            assert (await ended(server, conversation, 0))["last_agent_message"] == "after resume"
            assert model.requests[-1].json["model"] == "resumed-model"
            assert "answer 0" in str(model.requests[-1].json["input"])
            summary = (await ask(server, "getConversationSummary", conversationId=conversation))["summary"]
            assert (summary["conversationId"], summary["path"]) == (conversation, path)
            assert summary["preview"] == scene("say", text="answer 0")
            again = await ask(server, "resumeConversation", conversationId=conversation)
            assert len(again["initialMessages"]) == 4


async def test_each_wrong_request_gets_an_error(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        assert (await refusal(server, "newConversation", approvalPolicy="sometimes"))[0] == -32602
        code, text = await refusal(server, "newConversation", profile="nope")
        assert code == -32600
        assert text.startswith("error deriving config: config profile `nope` not found")
        nope = await refusal(server, "newConversation", config={"model_provider": "nope"})
        assert nope == (-32600, "error deriving config: Model provider `nope` not found")
        assert "conversationId" in await server.result(server.request("newConversation"))
        assert (await refusal(server, "noSuchMethod"))[0] == -32601
        assert await ask(server, "newConversation", unknownField=1)
        answer = await server.answer(server.request("sendUserMessage", []))
        assert answer["error"]["code"] == -32602


async def test_a_thread_of_the_tool_is_a_conversation_of_its_session(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("say", text="old tool answer")})
        result = await server.result(call)
        assert result["structuredContent"]["content"] == "old tool answer"
        assert event_types(server, call) == [*NEW, *ENDED]
        thread = thread_of(result)

        await listen(server, thread)
        reply = await server.run("codex-reply", {"conversationId": thread, "prompt": scene("say", text="second")})
        assert reply["structuredContent"]["content"] == "second"
        assert [msg["type"] for msg in told(server, thread)].count("task_complete") == 1
        sent = turn(thread, scene("run", cmd="python3 -c 'print(42)'"), server.setup.work, approvalPolicy="untrusted")
        assert await ask(server, "sendUserTurn", **sent) == {}
        params = await asked(server, "execCommandApproval", 0)
        assert params["conversation_id"] == thread
        server.reply(0, {"decision": "denied"})
        assert (await ended(server, thread, 1))["last_agent_message"] == "The command is over."

        refused = await server.run("codex", {"prompt": scene("error")})
        assert refused["isError"]
        assert "out of luck" in refused["content"][0]["text"]
        cancelled = server.call("codex", {"prompt": scene("endless")})
        await server.event("agent_message_content_delta", cancelled)
        server.cancel(cancelled)
        assert (await server.result(cancelled))["structuredContent"]["status"] == "interrupted"
        assert await new(server) != thread
