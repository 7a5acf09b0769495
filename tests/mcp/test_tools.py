"""Each tool in the words of 0.153.4, on the real Codex; what goes wrong is a result, and never silence."""

from pathlib import Path

import pytest

from tests.support.mcp_server import scripted_server
from tests.support.mcp_session import NO_CODEX, FarEnd, Json, memory_session

NOBODY = "00000000-0000-7000-8000-000000000000"
BAD = "Failed to parse configuration for Codex tool: "


async def run(client: FarEnd, tool: str, arguments: object = None) -> Json:
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    result: Json = (await client.ask("tools/call", params))["result"]
    return result


def refusal(text: str) -> Json:
    return {"isError": True, "content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("nope", {"a": 1}, "Unknown tool 'nope'"),
        ("", None, "Unknown tool ''"),
        ("codex", None, "Missing arguments for codex tool-call; the `prompt` field is required."),
        (
            "codex-reply",
            None,
            "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
        ),
        ("codex", {}, f"{BAD}missing field `prompt`"),
        ("codex", {"prompt": 42}, f"{BAD}invalid type: number, expected a string"),
        (
            "codex",
            {"prompt": "hi", "sandbox": "none"},
            f"{BAD}unknown variant `none`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
        ),
        ("codex-reply", {"threadId": NOBODY}, f"{BAD}missing field `prompt`"),
        (
            "codex-reply",
            {"prompt": "hi"},
            "Failed to parse thread_id: either threadId or conversationId must be provided",
        ),
        (
            "codex_wait",
            {"threadIds": [NOBODY]},
            f"No turn of thread {NOBODY} is known here; codex-reply continues a thread of an earlier server.",
        ),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_result(tmp_path: Path, tool: str, arguments: object, text: str) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await run(client, tool, arguments) == refusal(text)


async def test_without_a_codex_a_call_says_so(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await run(client, "codex", {"prompt": "hi", "cwd": str(tmp_path)}) == refusal(NO_CODEX)
        assert await run(client, "codex-reply", {"prompt": "hi", "threadId": NOBODY}) == refusal(NO_CODEX)


async def test_a_folder_that_is_none_is_said_as_a_matter_of_configuration(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        result = await run(client, "codex", {"prompt": "hi", "cwd": str(tmp_path / "gone")})
        assert result["content"][0]["text"].startswith("Failed to load Codex configuration from overrides: cwd `")


@pytest.mark.parametrize("arguments", [None, {}, {"threadIds": []}, {"timeout-seconds": 0}])
async def test_a_wait_for_nothing_ends_at_once(tmp_path: Path, arguments: object) -> None:
    async with memory_session(tmp_path) as (client, _session):
        result = await run(client, "codex_wait", arguments)
        assert result["structuredContent"] == {"finished": [], "running": []}


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


async def test_a_background_turn_is_collected_by_a_wait_once(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        started = await server.run("codex", {"prompt": '[[scene: gate text="Done."]]', "background": True})
        thread = started["structuredContent"]["threadId"]
        await model.wait_for_gate("gate")

        looked = await server.run("codex_wait", {"threadIds": [thread], "timeout-seconds": 0})
        model.release("gate")
        collected = await server.run("codex_wait", {})
        again = await server.run("codex_wait", {})
        named = await server.run("codex_wait", {"threadIds": [thread]})

        assert started["structuredContent"]["status"] == "running"
        assert [turn["threadId"] for turn in looked["structuredContent"]["running"]] == [thread]
        assert [turn["content"] for turn in collected["structuredContent"]["finished"]] == ["Done."]
        assert again["structuredContent"] == {"finished": [], "running": []}
        assert [turn["content"] for turn in named["structuredContent"]["finished"]] == ["Done."]


async def test_a_wait_ends_with_the_first_of_several_turns(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        for name in ("one", "two"):
            await server.run("codex", {"prompt": f'[[scene: gate name={name} text="{name}"]]', "background": True})
            await model.wait_for_gate(name)
        waiting = server.call("codex_wait", {})
        model.release("two")
        structured = (await server.result(waiting))["structuredContent"]
        assert [turn["content"] for turn in structured["finished"]] == ["two"]
        assert len(structured["running"]) == 1


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
