"""Counterparts of the recordings 11: a model that fails, and the tools that it uses."""

import base64
from pathlib import Path

import pytest

from tests.acceptance.recordings.exchange import (
    BEGUN,
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
from tests.support.servers.mcp_server import Json

ERROR = ["error", "task_complete"]


@pytest.mark.parametrize(
    ("prompt", "text", "info"),
    [
        pytest.param(
            scene("error"), "stream disconnected before completion: out of luck", "other", id="response.failed"
        ),
        pytest.param(
            scene("error", code="context_length_exceeded"),
            "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before "
            "retrying.",
            "context_window_exceeded",
            id="context length",
        ),
        pytest.param(
            scene("error", code="insufficient_quota"),
            "Quota exceeded. Check your plan and billing details.",
            "usage_limit_exceeded",
            id="quota",
        ),
        pytest.param(
            scene("error", code="rate_limit_exceeded", message="slow down"),
            "rate limit exceeded: slow down",
            "rate_limit_exceeded",
            id="rate limit",
        ),
        pytest.param(
            scene("fail", status="500"),
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "internal_server_error",
            id="http 500",
        ),
        pytest.param(
            scene("fail", status="429"),
            "exceeded retry limit, last status: 429 Too Many Requests",
            {"response_too_many_failed_attempts": {"http_status_code": 429}},
            id="http 429",
        ),
    ],
)
async def test_a_failure_of_the_model_is_an_error_in_codex_words(
    tmp_path: Path, prompt: str, text: str, info: object
) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": prompt})
        result = await server.result(call)

        assert as_recorded(result) == failed(thread_of(result), text)
        counts = ["token_count"] if info == "context_window_exceeded" else []
        assert event_types(server, call) == [*NEW, *counts, *ERROR]
        error = event_of(server, call, "error")
        assert (error["message"], error["codex_error_info"]) == (text, info)


async def test_other_failures_carry_what_the_model_server_said(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        dropped = await server.run("codex", {"prompt": scene("disconnect")})
        bad_request = await server.run("codex", {"prompt": scene("fail", status="400", message="scripted HTTP 400")})
        stranger = await server.run("codex", {"prompt": scene("fail", status="401", message="scripted HTTP 401")})

        for result in (dropped, bad_request, stranger):
            assert as_recorded(result) == failed(thread_of(result), text_of(result))
        assert text_of(dropped).startswith("stream disconnected before completion: ")
        assert '"message":"scripted HTTP 400"' in text_of(bad_request)
        assert text_of(stranger).startswith("unexpected status 401 Unauthorized: scripted HTTP 401, url: ")
        assert model.base_url in text_of(stranger)


def text_of(result: Json) -> str:
    text: str = result["structuredContent"]["content"]
    return text


async def test_after_a_failure_each_reply_gets_its_own_answer_and_its_own_events(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        first = server.call("codex", {"prompt": scene("error")})
        thread = thread_of(await server.result(first))

        for text in ("Recovered.", "Still well."):
            call = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text=text)})
            assert as_recorded(await server.result(call)) == answered(thread, text)
            assert event_types(server, call) == [*BEGUN, *ENDED]
        assert event_types(server, first)[-2:] == ERROR


async def test_a_missing_key_is_named(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        provider = {"name": "elsewhere", "base_url": model.base_url, "env_key": "NO_SUCH_KEY", "wire_api": "responses"}
        config = {"model_providers.elsewhere": provider, "model_provider": "elsewhere"}
        call = server.call("codex", {"prompt": scene("say"), "config": config})
        result = await server.result(call)

        assert as_recorded(result) == failed(thread_of(result), "Missing environment variable: `NO_SUCH_KEY`.")
        assert event_types(server, call) == [*NEW, *ERROR]


async def test_a_plan_is_told_when_the_model_has_the_tool_for_it(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        config = {"tools.update_plan": {"enabled": True}}
        with_tool = server.call("codex", {"prompt": scene("plan"), "config": config})
        first = await server.result(with_tool)
        without = server.call("codex", {"prompt": scene("plan")})
        second = await server.result(without)

        assert as_recorded(first) == answered(thread_of(first), "Planned.")
        assert as_recorded(second) == answered(thread_of(second), "Planned.")
        assert event_types(server, with_tool) == [*NEW, "plan_update", "token_count", *ENDED]
        assert event_types(server, without) == [*NEW, "token_count", *ENDED]
        update = event_of(server, with_tool, "plan_update")
        assert update["explanation"] == "Two steps."
        assert update["plan"] == [
            {"step": "Look", "status": "in_progress"},
            {"step": "Change", "status": "pending"},
        ]


async def test_a_question_of_the_model_is_refused_to_it_in_the_default_mode(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("ask-user")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The question is over.")
        assert event_types(server, call) == [*NEW, "token_count", *ENDED]


async def test_a_command_is_told_with_its_output_and_its_exit_code(tmp_path: Path) -> None:
    command = "for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.2; done; exit 3"
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("run", cmd=command)})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        ran = ["exec_command_begin", "exec_command_output_delta", "exec_command_end", "token_count"]
        assert event_types(server, call) == [*NEW, *ran, *ENDED]
        end = event_of(server, call, "exec_command_end")
        output: str = end["aggregated_output"]
        assert (end["exit_code"], end["status"]) == (3, "failed")
        # Codex reads the two streams apart and joins them, so that their order is left to chance.
        assert sorted(output.splitlines()) == ["err 1", "err 2", "err 3", "out 1", "out 2", "out 3"]
        assert end["command"] == ["/bin/bash", "-lc", command]
        assert end["cwd"] == f"file://{server.setup.work}"
        assert end["source"] == "unified_exec_startup"
        deltas = [event for event in server.events(call) if event["type"] == "exec_command_output_delta"]
        assert output.endswith("".join(base64.b64decode(delta["chunk"]).decode() for delta in deltas))


async def test_a_long_output_is_told_in_part(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("run", cmd="head -c 300000 /dev/zero | tr '\\\\0' x")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        end = event_of(server, call, "exec_command_end")
        assert end["exit_code"] == 0
        assert 32_000 < len(end["aggregated_output"]) < 34_000


async def test_what_the_sandbox_refuses_is_not_asked_about_and_never_means_never(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        sandboxed = server.call("codex", {"prompt": scene("run", cmd="touch made.txt"), "sandbox": "read-only"})
        first = await server.result(sandboxed)
        forbidden = server.call("codex", {"prompt": scene("escalate"), "approval-policy": "never"})
        second = await server.result(forbidden)

        assert as_recorded(first) == answered(thread_of(first), "The command is over.")
        assert as_recorded(second) == answered(thread_of(second), "The command is over.")
        # On a busy machine Codex sees the command begin before the sandbox has refused it.
        told = [kind for kind in event_types(server, sandboxed) if not kind.startswith("exec_command_")]
        assert told == [*NEW, "token_count", *ENDED]
        assert event_types(server, forbidden) == [*NEW, "token_count", *ENDED]
        assert "approval policy is never" in model.requests[-1].body.decode().lower()
        assert not (server.setup.work / "made.txt").exists()
        assert [message for message in server.messages if message.get("method") == "elicitation/create"] == []
