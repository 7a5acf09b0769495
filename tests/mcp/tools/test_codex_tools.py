"""The three tools in the words of 0.153.4, on the real Codex."""

import os
import signal
from pathlib import Path

from tests.mcp.tools.test_dispatch import NOBODY, refusal
from tests.support.processes import commands_at
from tests.support.servers.mcp_server import McpServer, scripted_server


def send_codex(server: McpServer, number: signal.Signals) -> None:
    for process in commands_at(server.setup.home, "app-server"):
        os.kill(process.pid, number)


async def test_threads_that_codex_does_not_know_are_named(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        unknown = await server.run("codex-reply", {"threadId": NOBODY, "prompt": "hi"})
        unreadable = await server.run("codex-reply", {"threadId": "not-a-uuid", "prompt": "hi"})
        config = await server.run("codex", {"prompt": "hi", "config": {"model_provider": "missing"}})
        assert unknown["isError"] is True
        assert unknown["structuredContent"]["content"] == f"Session not found for thread_id: {NOBODY}"
        assert unreadable["content"][0]["text"].startswith("Failed to parse thread_id: invalid character")
        assert config == refusal(
            "Failed to load Codex configuration from overrides: Model provider `missing` not found"
        )


async def test_a_thread_takes_so_many_waiting_prompts_and_refuses_the_next(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--max-turns-waiting", "1") as (server, model):
        await server.initialize()
        first = await server.run("codex", {"prompt": "[[scene: gate]]", "background": True})
        thread = first["structuredContent"]["threadId"]
        await model.wait_for_gate("gate")
        await server.run("codex-reply", {"threadId": thread, "prompt": "two", "background": True})
        refused = await server.run("codex-reply", {"threadId": thread, "prompt": "three"})
        assert refused["isError"] is True
        assert "1 more prompt is waiting already" in refused["structuredContent"]["content"]
        model.release("gate")


async def test_what_is_only_approximately_so_is_an_event(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": "hi", "approval-policy": "on-failure"})
        assert [event["type"] for event in server.events()].count("warning") == 1


async def test_calls_that_are_cancelled_while_codex_hangs_are_answered_and_their_threads_go_on_when_it_wakes(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        of_earlier_server = (await server.run("codex", {"prompt": "hi"}))["structuredContent"]["threadId"]
    async with scripted_server(tmp_path, "--interrupt-grace", "0.5") as (server, _model):
        await server.initialize()
        loaded = (await server.run("codex", {"prompt": "hi"}))["structuredContent"]["threadId"]
        send_codex(server, signal.SIGSTOP)
        starts = server.call("codex", {"prompt": "never"})
        resumes = server.call("codex-reply", {"threadId": of_earlier_server, "prompt": "never"})
        begins = server.call("codex-reply", {"threadId": loaded, "prompt": "[[scene: endless]]"})
        calls = (starts, resumes, begins)
        for call in calls:
            server.cancel(call)
        not_opened = "The call was cancelled, and Codex had not opened its thread 0.5 s later."
        assert await server.result(starts) == await server.result(resumes) == refusal(not_opened)
        assert (await server.result(begins))["structuredContent"]["status"] == "interrupted"
        send_codex(server, signal.SIGCONT)
        for thread in (of_earlier_server, loaded):
            again = await server.run("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="back"]]'})
            assert again["structuredContent"]["content"] == "back"
        answers = [message["id"] for message in server.messages if "result" in message]
        assert [answers.count(call) for call in calls] == [1, 1, 1]
