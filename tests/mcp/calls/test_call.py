"""A call keeps its client informed until it is answered, and not a moment longer."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from codex_mcp.base.logs import Subject
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import Event
from codex_mcp.mcp.calls.call import Call, CallRequest, GivenUp
from codex_mcp.mcp.client import Client
from codex_mcp.rpc.peer import Peer
from codex_mcp.threads.questions.board import denied
from codex_mcp.threads.questions.decisions import NO_CAPABILITY
from codex_mcp.threads.questions.questions import Method
from codex_mcp.wire.mcp import CallTool, ClientInfo, Meta
from tests.support.clock import Clock, run_with_clock
from tests.support.core.questions import COMMAND, ask
from tests.support.rpc.memory_channel import MemoryChannel, memory_pair
from tests.support.servers.mcp_server import McpServer, scripted_server
from tests.support.servers.mcp_session import FarEnd, Json, plain_peer
from tests.support.settings import make_settings

Token = int | str | UnsetType


class MarkedEnd(FarEnd):
    """Hears everything that was said so far."""

    def __init__(self, channel: MemoryChannel, peer: Peer) -> None:
        super().__init__(channel)
        self._peer = peer

    async def heard(self) -> list[Json]:
        self._peer.notify("marker", {})
        heard = []
        while (message := await self.next())["method"] != "marker":
            heard.append(message)
        return heard


Test = Callable[[Call, MarkedEnd, Clock], Coroutine[Any, Any, None]]


NO_TURN: Any = None
"""A question that is denied at once needs none."""


def with_call(token: Token, **settings: Any) -> Callable[[Test], None]:
    """Run the decorated test at once: with a call of request 7, the client that hears of it, and a clock."""
    chosen = make_settings(codex_home="unused", **settings)

    def run(test: Test) -> None:
        async def body(clock: Clock) -> None:
            ours, theirs = memory_pair()
            peer = plain_peer(ours)
            client = Client(peer)
            client.introduce(ClientInfo("ada", "1"), {})
            params = CallTool("codex", {}, Meta(progress_token=token))
            request = CallRequest(7, params, Subject("s1", "local", "7"))
            await test(Call(client, request, chosen.calls), MarkedEnd(theirs, peer), clock)
            await peer.aclose()

        run_with_clock(body)

    return run


@pytest.mark.parametrize("token", [0, "", 1, "abc"])
def test_whoever_gives_a_token_gets_progress_under_it(token: int | str) -> None:
    @with_call(token)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.begin()
        await clock.advance(10)
        call.end()
        assert [message["params"] for message in await far.heard()] == [
            {"progressToken": token, "progress": 5.0, "message": "starting"},
            {"progressToken": token, "progress": 10.0, "message": "starting"},
        ]


def test_whoever_gives_no_token_gets_no_progress() -> None:
    @with_call(UNSET)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.begin()
        call.activity_changed("thinking")
        await clock.advance(60)
        call.end()
        assert await far.heard() == []


def test_after_the_end_there_is_no_progress_whatever_the_agent_does() -> None:
    @with_call(0)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.begin()
        call.end()
        call.activity_changed("thinking")
        await clock.advance(60)
        call.end()
        assert await far.heard() == []


def test_what_the_agent_does_is_told_with_the_progress() -> None:
    @with_call(0)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.begin()
        call.activity_changed("running make")
        await clock.advance(1)
        call.end()
        assert [message["params"]["message"] for message in await far.heard()] == ["running make"]


def test_events_carry_the_request_and_the_thread() -> None:
    @with_call(UNSET)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.event_happened("t-1", Event("turn-1", {"type": "task_started"}))
        call.send_events(Events.NONE)
        call.event_happened("t-1", Event("turn-1", {"type": "task_complete"}))
        assert await far.heard() == [
            {
                "jsonrpc": "2.0",
                "method": "codex/event",
                "params": {
                    "_meta": {"requestId": 7, "threadId": "t-1"},
                    "msg": {"type": "task_started"},
                    "id": "turn-1",
                },
            }
        ]


@pytest.mark.parametrize(
    ("token", "soft_deadline", "asked", "patience"),
    [
        (UNSET, None, None, 45),
        (0, None, None, 240),
        (0, 10.0, None, 10),
        (0, 0.0, None, None),
        (0, None, 20.0, 20),
        (0, 10.0, 20.0, 20),
        (0, 10.0, 0.0, None),
    ],
)
def test_a_call_has_as_much_patience_as_its_caller_says_or_its_client_has(
    token: Token, soft_deadline: float | None, asked: float | None, patience: float | None
) -> None:
    @with_call(token, soft_deadline=soft_deadline)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        assert call.patience(asked) == patience
        await clock.advance(4, step=4)
        assert call.patience(asked) == (None if patience is None else patience - 4)
        await clock.advance(1000, step=1000)
        assert call.patience(asked) == (None if patience is None else 0)


def test_a_client_that_cannot_be_asked_has_said_no_and_the_agent_goes_on_with_what_it_did() -> None:
    @with_call(0)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        call.begin()
        call.activity_changed("running make")
        assert await call.ask(ask(Method.EXEC, COMMAND), NO_TURN) == denied(NO_CAPABILITY)
        await clock.advance(1)
        call.end()
        assert [message["params"]["message"] for message in await far.heard()] == ["running make"]


async def test_progress_tells_that_somebody_is_asked_and_afterwards_what_was_allowed(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--progress-interval", "0.01") as (server, _model):
        await server.initialize()
        os.mkfifo(server.setup.work / "fifo")
        fifo = os.open(server.setup.work / "fifo", os.O_RDWR)
        arguments = {"sandbox": "read-only", "approval-policy": "on-request"}
        prompt = '[[scene: escalate cmd="read line <fifo"]]'
        call = server.call("codex", {"prompt": prompt, **arguments}, meta={"progressToken": 0})
        question = await server.question()
        asked = await progress_that(server, lambda text: text == "waiting for an approval")
        server.reply(question["id"], {"action": "accept"})
        after = server.messages.index(asked)
        allowed = await progress_that(server, lambda text: "read line" in text, after)
        assert server.messages.index(allowed) > after
        os.write(fifo, b"go on\n")
        assert (await server.result(call))["structuredContent"]["content"] == "It ran."
        os.close(fifo)


async def progress_that(server: McpServer, says: Callable[[str], bool], after: int = -1) -> Json:
    """Wait for progress with a matching message, after the message with this index."""
    return await server.wait_for(
        lambda message: (
            message.get("method") == "notifications/progress"
            and says(message["params"]["message"])
            and server.messages.index(message) > after
        )
    )


async def test_a_real_call_has_no_progress_after_its_answer(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--progress-interval", "0.01") as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": "[[scene: gate]]"}, meta={"progressToken": ""})
        await model.wait_for_gate("gate")
        first = await server.wait_for(lambda message: message.get("method") == "notifications/progress")
        model.release("gate")
        answer = await server.answer(call)
        server.close_stdin()
        await server.exit_code()
        progress = [message for message in server.messages if message.get("method") == "notifications/progress"]
        assert first["params"]["progressToken"] == ""
        assert server.messages.index(progress[-1]) < server.messages.index(answer)
        values = [message["params"]["progress"] for message in progress]
        assert values == sorted(set(values))


async def test_a_call_that_is_cancelled_while_somebody_is_asked_takes_the_question_back(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        arguments = {"prompt": "[[scene: escalate]]", "sandbox": "read-only", "approval-policy": "on-request"}
        call = server.call("codex", arguments)
        question = await server.question()
        server.cancel(call)
        result = await server.result(call)
        withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        server.reply(question["id"], {"action": "accept"})
        assert withdrawn["params"]["requestId"] == question["id"]
        assert result["structuredContent"]["status"] == "interrupted"
        assert await server.result(server.request("ping")) == {}
        assert not (server.setup.work / "escalated").exists()


async def test_a_question_that_nobody_answers_in_time_is_a_no_that_the_model_reads(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--approval-timeout", "0.2") as (server, model):
        await server.initialize()
        arguments = {"prompt": "[[scene: escalate]]", "sandbox": "read-only", "approval-policy": "on-request"}
        call = server.call("codex", arguments)
        question = await server.question()
        result = await server.result(call)
        withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert result["structuredContent"]["content"] == "It was refused."
        assert withdrawn["params"]["requestId"] == question["id"]
        assert "no one answered within 0.2 seconds" in model.requests[-1].body.decode()


async def test_a_wait_can_be_cancelled_and_leaves_the_turn_alone(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        await server.run("codex", {"prompt": '[[scene: gate text="Done."]]', "background": True})
        await model.wait_for_gate("gate")
        waiting = server.call("codex_wait", {})
        server.cancel(waiting)
        cancelled = (await server.result(waiting))["structuredContent"]
        model.release("gate")
        collected = (await server.run("codex_wait", {}))["structuredContent"]
        assert [turn["status"] for turn in cancelled["running"]] == ["running"]
        assert [turn["content"] for turn in collected["finished"]] == ["Done."]


def test_once_it_is_cancelled_its_thread_is_waited_for_as_long_as_the_end_of_a_turn() -> None:
    @with_call(UNSET, interrupt_grace=10)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        async def open_thread() -> None:
            async with call.opening():
                await asyncio.Event().wait()

        async with asyncio.TaskGroup() as group:
            opening = group.create_task(expected(open_thread()))
            await clock.advance(1000)
            call.cancel()
            await clock.advance(9)
            call.cancel()
            assert not opening.done()
            await clock.advance(1)
            assert opening.done()
        assert await expected(open_thread()) == opening.result()  # and the next one is not waited for at all
        assert opening.result() == "The call was cancelled, and Codex had not opened its thread 10 s later."


async def expected(opening: Coroutine[Any, Any, None]) -> str:
    with pytest.raises(GivenUp) as given_up:
        await opening
    return str(given_up.value)


def test_nobody_else_s_impatience_is_taken_for_a_cancelled_call() -> None:
    @with_call(UNSET)
    async def _(call: Call, far: MarkedEnd, clock: Clock) -> None:
        with pytest.raises(TimeoutError, match="theirs"):
            async with call.opening():
                raise TimeoutError("theirs")
        async with call.opening():
            call.cancel()  # in time
        call.cancel()
