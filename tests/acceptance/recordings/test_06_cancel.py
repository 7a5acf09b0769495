"""Counterparts of the recordings 06: a client takes a call back."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.recordings.exchange import (
    BEGUN,
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_types,
    failed,
    scene,
    serve,
    thread_of,
)
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json, McpServer

STOPPED = "The turn was interrupted."

COUNTED = ("token_count",)
"""Comes if the response of the model was over when the turn was stopped."""


def answers(server: McpServer) -> list[int | str]:
    """The ids of all responses, in order."""
    return [message["id"] for message in server.messages if "method" not in message]


def was_stopped(result: Json) -> bool:
    text: str = as_recorded(result)["content"][0]["text"]
    return result["isError"] and text.startswith("The turn was interrupted.")


class Lifeline:
    """A pipe that a command holds open: when nobody does any longer, the command and its children are dead."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        self.command = f"exec 3<> {path.name}; while true; do echo tick; sleep 0.1; done"

    @asynccontextmanager
    async def held(self) -> AsyncIterator[asyncio.Event]:
        """Enter it while the command runs; the event is set when the command is dead."""
        reader = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        loop, let_go = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(reader, let_go.set)  # nobody writes: a pipe without writers is readable, and at its end
        try:
            yield let_go
        finally:
            loop.remove_reader(reader)
            os.close(reader)


async def test_a_cancelled_call_is_answered_and_the_next_ones_get_their_own_answers_and_events(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        cancelled = server.call("codex", {"prompt": scene("endless")})
        await server.event("agent_message_content_delta", cancelled)
        server.notify("notifications/cancelled", {"requestId": cancelled, "reason": "the user pressed stop"})
        result = await server.result(cancelled)
        thread = thread_of(result)
        assert was_stopped(result)
        assert event_types(server, cancelled)[-1] == "turn_aborted"
        of_cancelled = len(server.events(cancelled))

        for text in ("after the cancel", "and after that"):
            call = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text=text)})
            assert as_recorded(await server.result(call)) == answered(thread, text)
            assert event_types(server, call) == [*BEGUN, *ENDED]

        assert await server.result(server.request("ping")) == {}
        assert len(server.events(cancelled)) == of_cancelled
        assert len(answers(server)) == len(set(answers(server)))
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_a_server_whose_only_call_was_cancelled_ends_when_stdin_does(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("endless")})
        await server.event("agent_message_content_delta", call)
        server.cancel(call)
        server.close_stdin()

        assert await server.exit_code() == 0
        assert was_stopped(await server.result(call))
        # After the end of stdin nothing but answers is written, so that `turn_aborted` may be missing.
        assert event_types(server, call)[: len(NEW) + 1] == [*NEW, "agent_message_content_delta"]


async def test_a_cancel_in_the_same_breath_as_its_call_stops_it(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("gate")})
        server.cancel(call)
        result = await server.result(call)

        assert was_stopped(result)
        assert "task_complete" not in event_types(server, call)
        model.release("gate")
        after = await server.run("codex-reply", {"threadId": thread_of(result), "prompt": scene("say")})
        assert as_recorded(after) == answered(thread_of(result), "Good day.")


async def test_cancels_of_nothing_in_particular_change_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("gate")}, request_id=7)
        await model.wait_for_gate("gate")
        for params in ({"requestId": 999}, {"requestId": "7"}, {}):
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        assert await server.result(server.request("ping")) == {}
        model.release("gate")
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "At last.")
        server.notify("notifications/cancelled", {"requestId": 7, "reason": "too late"})
        assert await server.result(server.request("ping")) == {}
        assert answers(server).count(7) == 1


async def test_a_cancel_during_a_question_takes_the_question_back_and_a_late_yes_does_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate", cmd="touch made.txt")})
        question = await server.question()
        server.cancel(call)
        result = await server.result(call)
        taken_back = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        server.reply(question["id"], {"decision": "approved"})
        after = await server.run("codex-reply", {"threadId": thread_of(result), "prompt": scene("say")})

        assert as_recorded(result) == failed(thread_of(result), STOPPED)
        assert event_types(server, call, but=COUNTED) == [*NEW, "exec_approval_request", "turn_aborted"]
        assert taken_back["params"]["requestId"] == question["id"]
        assert as_recorded(after) == answered(thread_of(result), "Good day.")
        assert not (server.setup.work / "made.txt").exists()
        server.close_stdin()
        assert await server.exit_code() == 0


@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
async def test_a_cancel_kills_the_command_that_runs(tmp_path: Path, sandbox: str) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        lifeline = Lifeline(server.setup.work / "lifeline")
        prompt = scene("run", cmd=lifeline.command, **{"yield": "30000"})
        call = server.call("codex", {"prompt": prompt, "sandbox": sandbox})
        await server.event("exec_command_output_delta", call)
        async with lifeline.held() as dead, asyncio.timeout(PATIENCE):
            assert not dead.is_set()
            server.cancel(call)
            result = await server.result(call)
            await dead.wait()

        assert as_recorded(result) == failed(thread_of(result), STOPPED)
        after = server.call("codex-reply", {"threadId": thread_of(result), "prompt": scene("say")})
        assert as_recorded(await server.result(after)) == answered(thread_of(result), "Good day.")
        assert event_types(server, after) == [*BEGUN, *ENDED]
        # The end of the command is told to the call that ran it, before its turn's end or after.
        await server.event("exec_command_end", call)
        types = event_types(server, call)
        assert types[:6] == [*NEW, "exec_command_begin", "exec_command_output_delta"]
        assert [kind for kind in types if not kind.startswith(("exec_command", *COUNTED))] == [*NEW, "turn_aborted"]
        assert types.count("exec_command_end") == 1
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_a_cancel_kills_an_approved_command_too(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        lifeline = Lifeline(server.setup.work / "lifeline")
        call = server.call("codex", {"prompt": scene("escalate", cmd=lifeline.command)})
        server.reply((await server.question())["id"], {"decision": "approved"})
        await server.event("exec_command_output_delta", call)
        async with lifeline.held() as dead, asyncio.timeout(PATIENCE):
            assert not dead.is_set()
            server.cancel(call)
            result = await server.result(call)
            await dead.wait()

        assert as_recorded(result) == failed(thread_of(result), STOPPED)
