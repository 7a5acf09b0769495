"""`private_sessions`: what a session starts is out of reach of every other one, also of the same principal."""

import asyncio
from pathlib import Path

import msgspec

from tests.acceptance.recordings.exchange import SCENES, scene
from tests.support.http.http_server import http_server, scripted_http_server
from tests.support.http.mcp_client import SESSION, Door, Json, call, request, shake_hands, stateless
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Setup

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def result(door: Door, tool: str, **arguments: object) -> Json:
    answer = await door.ask("POST", call("1", tool, arguments))
    messages = [
        line.removeprefix(b"data: ") for line in answer.body.splitlines() if line.startswith((b"data: {", b"{"))
    ]
    found: Json = msgspec.json.decode(messages[-1])["result"]
    return found


async def started(door: Door) -> str:
    thread: str = (await result(door, "codex", prompt=scene("say", text="Mine.")))["structuredContent"]["threadId"]
    return thread


def told(answer: Json, thread: str) -> str:
    return msgspec.json.encode(answer).decode().replace(thread, UNKNOWN)


async def test_another_session_sees_as_little_of_a_thread_as_of_an_unknown_one(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--private-sessions", script=SCENES) as (server, _model):
        mine, other = await shake_hands(server.port), await shake_hands(server.port)
        thread = await started(mine)
        for tool, arguments in (
            ("codex-reply", {"prompt": scene("say", text="No.")}),
            ("codex_wait", {"timeoutSeconds": 0}),
        ):
            named = {"threadIds": [thread]} if tool == "codex_wait" else {"threadId": thread}
            unknown = {"threadIds": [UNKNOWN]} if tool == "codex_wait" else {"threadId": UNKNOWN}
            tried = await result(other, tool, **named, **arguments)
            assert told(tried, thread) == told(await result(other, tool, **unknown, **arguments), thread)
        for uri in (f"codex://threads/{thread}", f"codex://threads/{thread}/rollout"):
            refused = await other.post(request(1, "resources/read", uri=uri))
            assert "Resource not found" in refused["error"]["message"]
        listed = await other.post(request(1, "listConversations", pageSize=10))
        assert listed["result"]["items"] == []
        again = await result(mine, "codex-reply", threadId=thread, prompt=scene("say", text="Again."))
        assert again["structuredContent"]["content"] == "Again."


async def test_a_session_that_begins_again_with_its_id_finds_its_threads(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--private-sessions", script=SCENES) as (server, model):
        door, bus = await shake_hands(server.port), Door(server.port, "/", **{SESSION: "my-own-id"})
        threads = [await started(door), await started(bus)]
        assert (await bus.ask("DELETE")).status == 204
        server.signal(15)
        assert await server.exit_code() == 0
        setup = Setup(tmp_path, model.codex_overrides(), ["--private-sessions"])
        async with http_server(setup) as following:
            for each, thread in zip((door, bus), threads, strict=True):
                each.port = following.port
                each.headers["host"] = f"127.0.0.1:{following.port}"
                reply = await result(each, "codex-reply", threadId=thread, prompt=scene("say", text="Back."))
                assert reply["structuredContent"]["content"] == "Back."


async def test_by_default_another_session_of_the_same_principal_continues_a_thread(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, script=SCENES) as (server, _model):
        thread = await started(await shake_hands(server.port))
        other = await shake_hands(server.port)
        reply = await result(other, "codex-reply", threadId=thread, prompt=scene("say", text="Ours."))
        assert reply["structuredContent"]["content"] == "Ours."


async def test_the_limits_of_a_principal_are_those_of_all_its_private_sessions(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("alice the-token-of-alice\n")
    flags = ("--private-sessions", "--tokens", str(tokens), "--turns-per-principal", "1")
    async with scripted_http_server(tmp_path, *flags, "--queued-turns-per-principal", "1", script=SCENES) as (
        server,
        model,
    ):
        doors = [await shake_hands(server.port, authorization="Bearer the-token-of-alice") for _ in range(3)]
        held = {"prompt": scene("gate"), "background": True}
        first = await result(doors[0], "codex", **held)
        await model.wait_for_gate("gate")
        second = await result(doors[1], "codex", **held)
        third = await result(doors[2], "codex", **held)
        assert [bool(each.get("isError")) for each in (first, second, third)] == [False, False, True]
        model.release("gate")


async def test_a_stateless_request_is_refused_because_it_has_no_session(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--private-sessions", script=SCENES) as (server, _model):
        message, headers = stateless(call(1, "codex", {"prompt": scene("say", text="One.")}))
        answer = await Door(server.port, **headers).ask("POST", message)
        assert answer.status == 400
        assert b"2025-11-25" in answer.body, "it names what is spoken"


async def test_private_sessions_and_a_shared_history_exclude_each_other(tmp_path: Path) -> None:
    flags = ("mcp-server", "--port", "0", "--private-sessions", "--shared-history")
    done = await asyncio.to_thread(command, tmp_path, *flags)
    assert done.returncode == 2
    assert "give private_sessions or shared_history" in done.stderr
