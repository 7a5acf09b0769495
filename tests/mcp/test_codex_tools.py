"""The three tools in the words of 0.153.4, on the real Codex."""

from pathlib import Path

from tests.mcp.test_tools import NOBODY, refusal
from tests.support.mcp_server import scripted_server


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
        assert "1 more prompts are waiting already" in refused["structuredContent"]["content"]
        model.release("gate")


async def test_what_is_only_approximately_so_is_an_event(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": "hi", "approval-policy": "on-failure"})
        assert [event["type"] for event in server.events()].count("warning") == 1
