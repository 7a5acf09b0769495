"""Counterparts of the recordings 13: retries, pictures, terminals, compaction, instructions, searches."""

import base64
from pathlib import Path

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import (
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_of,
    event_types,
    failed,
    scene,
    serve,
    thread_of,
)

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


async def test_a_broken_stream_is_tried_again_before_it_is_an_error(tmp_path: Path) -> None:
    retries = ("model_providers.scripted.stream_max_retries=2",)
    async with serve(tmp_path, overrides=retries) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("disconnect")})
        result = await server.result(call)

        error = event_of(server, call, "error")
        assert as_recorded(result) == failed(thread_of(result), error["message"])
        assert error["message"].startswith("stream disconnected before completion: ")
        types = event_types(server, call, but=("agent_message_content_delta",))
        assert types == [*NEW, "stream_error", "stream_error", "error", "task_complete"]
        attempts = [event for event in server.events(call) if event["type"] == "stream_error"]
        assert [attempt["message"] for attempt in attempts] == ["Reconnecting... 1/2", "Reconnecting... 2/2"]
        for attempt in attempts:
            assert attempt["codex_error_info"] == {"response_stream_disconnected": {"http_status_code": None}}
            assert attempt["additional_details"].startswith("stream disconnected before completion: ")


async def test_a_picture_that_the_model_looks_at_is_told(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        picture = server.setup.work / "dot.png"
        picture.write_bytes(DOT)
        call = server.call("codex", {"prompt": scene("view-image", path=str(picture))})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Seen.")
        assert event_types(server, call) == [*NEW, "view_image_tool_call", "token_count", *ENDED]
        assert event_of(server, call, "view_image_tool_call")["path"] == f"file://{picture}"


async def test_what_is_typed_into_a_terminal_is_told(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("terminal")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The terminal is closed.")
        types = event_types(server, call, but=("exec_command_output_delta",))
        typed = ["exec_command_begin", "token_count", "terminal_interaction", "exec_command_end", "token_count"]
        assert types == [*NEW, *typed, *ENDED]
        typing, end = (event_of(server, call, kind) for kind in ("terminal_interaction", "exec_command_end"))
        assert typing["stdin"] == "blue\n"
        assert (typing["call_id"], typing["process_id"]) == (end["call_id"], end["process_id"])
        assert end["aggregated_output"] == "blue\r\ngot blue\r\n"


async def test_a_thread_that_gets_too_long_is_shortened_and_goes_on(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        config = {"model_auto_compact_token_limit": 5}
        thread = thread_of(await server.run("codex", {"prompt": scene("say", text="one"), "config": config}))
        call = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text="two")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread, "two")
        types = event_types(server, call, but=("token_count", "warning"))
        assert types == ["task_started", "context_compacted", "user_message", *ENDED[:2], "task_complete"]
        assert "In short: nothing." in model.requests[-1].body.decode()


async def test_every_setting_of_a_call_reaches_the_thread_and_the_model(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        call = server.call(
            "codex",
            {
                "prompt": scene("say"),
                "base-instructions": "BASE-INSTR",
                "developer-instructions": "DEV-INSTR",
                "compact-prompt": "COMPACT",
                "model": "other-model",
                "approval-policy": "never",
                "sandbox": "read-only",
                "config": {"model_reasoning_effort": "low"},
            },
        )
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Good day.")
        assert event_types(server, call, but=("warning",)) == [*NEW, *ENDED]
        assert "`other-model`" in event_of(server, call, "warning")["message"]
        session = event_of(server, call, "session_configured")
        assert (session["model"], session["approval_policy"]) == ("other-model", "never")
        assert (session["reasoning_effort"], session["cwd"]) == ("low", str(server.setup.work))
        assert model.requests[-1].json["model"] == "other-model"
        assert developer_texts(model)[:2] == ["BASE-INSTR", "DEV-INSTR"]


def developer_texts(model: ScriptedModel) -> list[str]:
    """What the model reads as words of the developer."""
    items = model.requests[-1].json["input"]
    assert isinstance(items, list)
    messages = [item for item in items if item.get("role") == "developer"]
    return [part["text"] for message in messages for part in message["content"]]


async def test_a_compact_prompt_of_the_call_asks_for_the_summary(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        config = {"model_auto_compact_token_limit": 5}
        arguments = {"prompt": scene("say"), "config": config, "compact-prompt": "Say it shorter."}
        thread = thread_of(await server.run("codex", arguments))
        await server.run("codex-reply", {"threadId": thread, "prompt": scene("say")})

        assert any("Say it shorter." in seen.body.decode() for seen in model.requests)


async def test_a_search_of_the_model_is_told(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("search")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Searched.")
        assert event_types(server, call) == [*NEW, "web_search_begin", "web_search_end", *ENDED]
        end = event_of(server, call, "web_search_end")
        assert (end["query"], end["action"]) == ("weather", {"type": "search", "query": "weather"})
