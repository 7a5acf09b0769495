"""What a server with a team does as any MCP server on Codex does: messages, events, questions, and Codex itself."""

import asyncio
import os
import signal
from collections.abc import Sequence

import msgspec

from tests.support.core.told import last, user_texts
from tests.support.patience import PATIENCE
from tests.support.processes import processes_at
from tests.support.requirements import requirement
from tests.support.servers.framed_server import FramedServer
from tests.support.servers.mcp_server import Json, McpServer, scripted_server
from tests.support.team.fixtures import Team
from tests.support.team.team_server import GATE, TeamServer, refusal, say, structured


async def core_of(server: TeamServer) -> Json:
    """The Codex of a server, once it runs."""
    async with asyncio.timeout(PATIENCE):
        while True:
            core: Json = (await server.status())["core"]
            if core["alive"]:
                return core


@requirement("FR-1.3", "FR-13.1")
async def test_codex_is_started_with_the_server_and_ends_with_it(team: Team) -> None:
    async with team() as (server, _model):
        core = await core_of(server)
        await server.start(say("hi"))
        assert await core_of(server) == core
        home = server.setup.home
        assert core["pid"] in {process.pid for process in processes_at(home)}
        server.close_stdin()
        assert await server.exit_code() == 0
        assert processes_at(home) == []


@requirement("FR-1.3", "NFR-2")
async def test_the_death_of_codex_is_told_and_survived(team: Team) -> None:
    async with team() as (server, model):
        idle = await server.start(say("hi"), identity="idle")
        waiting = server.call("codex", {"prompt": GATE, "identity": "busy"})
        await model.wait_for_gate("gate")
        os.kill((await core_of(server))["pid"], signal.SIGKILL)
        assert "SIGKILL" in refusal(await server.result(waiting))
        assert set((await server.status())["identities"]) == {"idle", "busy"}
        assert (await server.reply(idle["codex_id"], say("I am still here.")))["content"] == "I am still here."
        assert (await server.reply("busy", say("So am I.")))["content"] == "So am I."


@requirement("FR-1.1", "FR-2.8")
async def test_a_call_returns_a_codex_id_with_which_the_conversation_goes_on(team: Team) -> None:
    async with team() as (server, model):
        first = await server.start(say("one"))
        assert first["codex_id"].startswith("codex:")
        second = await server.reply(first["codex_id"], say("two"))
        assert (second["content"], second["codex_id"]) == ("two", first["codex_id"])
        assert user_texts(last(model))[-2:] == [say("one"), say("two")]


async def talk(server: McpServer) -> tuple[list[Json], list[str]]:
    """Some requests that have nothing to do with teams: their answers, and the events of a turn."""
    answers = [
        await server.answer(server.request("ping", request_id="a")),
        await server.answer(server.request("no/such/method", request_id="b")),
        await server.answer(server.call("no_such_tool", {}, request_id="c")),
        await server.answer(server.call("codex", {"prompt": 7}, request_id="d")),
    ]
    turn = server.call("codex", {"prompt": say("hello")}, request_id="e")
    (content,) = (await server.result(turn))["content"]
    answers.append({"content": content["text"].partition("\n\n")[0]})  # what follows names the agent, or its thread
    return answers, [event["type"] for event in server.events("e")]


@requirement("FR-1.1")
async def test_what_is_not_about_the_team_goes_through_as_without_one(team: Team, codex_flags: Sequence[str]) -> None:
    async with team() as (server, _model):
        with_team = await talk(server)
        plain_folder = server.setup.folder / "plain"
    async with scripted_server(plain_folder, *codex_flags) as (plain, _model):
        await plain.initialize()
        without_team = await talk(plain)
    assert with_team == without_team
    assert with_team[1][-1] == "task_complete"


@requirement("FR-1.1")
async def test_what_codex_asks_reaches_the_client_and_its_answer_codex(team: Team) -> None:
    async with team() as (server, _model):
        escalates = '[[scene: escalate cmd="touch made.txt"]]'
        arguments = {"prompt": escalates, "sandbox": "read-only", "approval-policy": "on-request"}
        call = server.call("codex", arguments)
        question = await server.wait_for(lambda message: message.get("method") == "elicitation/create")
        assert "touch made.txt" in question["params"]["message"]
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"decision": "approved"}})
        assert structured(await server.result(call))["content"] == "It ran."
        assert (server.setup.work / "made.txt").exists()


@requirement("FR-1.2")
async def test_messages_may_come_in_pieces_and_many_at_once(team: Team) -> None:
    async with team() as (server, _model):
        messages = [{"jsonrpc": "2.0", "id": f"ping-{number}", "method": "ping"} for number in range(20)]
        messages.append(tool_call("snow", "codex", {"prompt": say("\N{SNOWMAN}" * 5)}))
        data = b"".join(msgspec.json.encode(message) + b"\n" for message in messages)
        # Each write ends in the middle of a line, and the answer to the line before shows that it was read.
        written = 0
        for number in range(20):
            end = data.index(b"\n", written) + 1
            write_to = end + data[end:].index(b"\n") // 2
            server.write(data[written:write_to])
            written = write_to
            assert (await server.answer(f"ping-{number}"))["result"] == {}
        server.write(data[written:])
        assert structured(await server.result("snow"))["content"] == "\N{SNOWMAN}" * 5
        server.write(data.replace(b"ping-", b"pong-").replace(b'"snow"', b'"hail"'))
        assert (await server.answer("pong-19"))["result"] == {}
        assert structured(await server.result("hail"))["content"] == "\N{SNOWMAN}" * 5


@requirement("FR-1.2")
async def test_answers_come_as_they_are_ready_each_to_its_own_request(team: Team) -> None:
    async with team() as (server, model):
        slow = [server.call("codex", {"prompt": gate(name), "identity": name}) for name in ("one", "two")]
        for name in ("one", "two"):
            await model.wait_for_gate(name)
        assert (await server.answer(server.request("ping")))["result"] == {}
        quick = await server.start(say("I am first."), identity="three")
        assert quick["content"] == "I am first."
        model.release("two")
        assert structured(await server.result(slow[1]))["content"].endswith("two is open.")
        assert not [message for message in server.messages if message.get("id") == slow[0] and "result" in message]
        model.release("one")
        assert structured(await server.result(slow[0]))["content"].endswith("one is open.")


@requirement("FR-1.2")
async def test_a_client_that_says_content_length_is_answered_so(team: Team) -> None:
    async with team(kind=FramedServer) as (server, _model):
        agent = await server.start(say("two\nlines"), identity="arch")
        assert agent["identity"] == "arch"
        assert server.events()
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": "pieces", "method": "ping"})
        head = b"content-length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(body)
        stdin = server.process.stdin
        assert stdin is not None
        for byte in head + body:
            server.write(bytes([byte]))
            await stdin.drain()
        assert (await server.answer("pieces"))["result"] == {}


@requirement("FR-8.9")
async def test_an_agent_has_one_turn_at_a_time_and_takes_its_prompts_in_order(team: Team) -> None:
    async with team() as (server, model):
        first = server.call("codex", {"prompt": gate("one"), "identity": "arch"})
        await model.wait_for_gate("one")
        later = [server.call("codex-reply", {"identity": "arch", "prompt": say(text)}) for text in ("two", "three")]
        async with asyncio.timeout(PATIENCE):
            while (await server.status())["queues"] != {"arch": 2}:
                pass
        assert len(model.requests) == 1
        model.release("one")
        for call, text in zip([first, *later], ["one is open.", "two", "three"], strict=True):
            assert structured(await server.result(call))["content"].endswith(text)
        assert user_texts(last(model))[-3:] == [gate("one"), say("two"), say("three")]


def gate(name: str) -> str:
    """A prompt that waits at this gate."""
    return f'[[scene: gate name="{name}" text="{name} is open."]]'


def tool_call(request_id: str, tool: str, arguments: Json) -> Json:
    """A `tools/call` as a message."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
