"""A client whose time is up does not destroy work: the turn goes on, and the next `codex_wait` returns its answer."""

from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from codex_mcp.base.logs import Subject
from codex_mcp.base.principals import LOCAL
from codex_mcp.mcp.calls.call import Call, CallRequest
from codex_mcp.mcp.calls.client_budgets import MAX_LEARNED, LearnedLimits, Whose, silent_limit, usual_limit
from codex_mcp.mcp.client import Client
from codex_mcp.wire.mcp import CallTool, ClientInfo, Meta
from tests.mcp.calls.test_waiting import all_gone, begin, gate, result_at, seen
from tests.mcp.tools.test_tasks import meta
from tests.support.clock import Clock, run_with_clock
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import Door, call, initialize, notification, shake_hands, stateless
from tests.support.servers.mcp_server import Json, scripted_server
from tests.support.servers.mcp_session import plain_peer
from tests.support.settings import make_settings

TIME_OUTS = [
    "timed out after 5s",
    "McpError: MCP error -32001: Request timed out",
    "TimeoutError: The operation was aborted due to timeout",
]

PERSON = "AbortError: The operation was aborted."


def gave_up(request_id: int | str, reason: str) -> Json:
    return notification("notifications/cancelled", requestId=request_id, reason=reason)


# -- while the turn runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("reason", TIME_OUTS)
async def test_a_turn_whose_caller_ran_out_of_time_goes_on_and_is_collected(
    tmp_path: Path, reason: str, era: str
) -> None:
    async with scripted_server(tmp_path) as (server, model):
        about = meta() if era == "stateless" else None
        if era == "handshake":
            await server.initialize()
        held = server.call("codex", {"prompt": gate("one")}, meta=about)
        await model.wait_for_gate("one")
        server.send(gave_up(held, reason))
        await server.answer(held)
        model.release("one")
        assert seen(await server.run("codex_wait", {}, meta=about)) == (["one"], 0)
        assert seen(await server.run("codex_wait", {}, meta=about)) == ([], 0)


async def test_so_does_one_whose_thread_was_not_open_yet(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        held = server.call("codex", {"prompt": gate("one")})
        server.send(gave_up(held, TIME_OUTS[0]))
        await server.answer(held)
        model.release("one")
        assert seen(await server.run("codex_wait", {})) == (["one"], 0)


@pytest.mark.parametrize(("reason", "flags"), [(PERSON, ()), (TIME_OUTS[0], ("--on-client-timeout", "stop"))])
async def test_a_person_stops_it_and_so_does_the_setting(tmp_path: Path, reason: str, flags: tuple[str, ...]) -> None:
    async with scripted_server(tmp_path, *flags) as (server, model):
        await server.initialize()
        held = server.call("codex", {"prompt": gate("one")})
        await model.wait_for_gate("one")
        server.send(gave_up(held, reason))
        assert (await server.result(held))["structuredContent"]["status"] == "interrupted"


@pytest.mark.parametrize(
    ("client", "flags", "status"),
    [
        ("tests", (), "completed"),
        ("claude-code", (), "interrupted"),
        ("tests", ("--on-client-timeout", "stop"), "interrupted"),
    ],
)
async def test_without_a_session_a_lost_connection_leaves_the_turn_unless_it_is_how_the_client_cancels(
    tmp_path: Path, client: str, flags: tuple[str, ...], status: str
) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", "0.01", *flags) as (server, model):
        door = Door(server.port)

        def said(message: Json) -> tuple[Json, dict[str, str]]:
            sent, headers = stateless(message)
            sent["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": client, "version": "1"}
            return sent, headers

        sent, headers = said(call(1, "codex", {"prompt": gate("one"), "events": "standard"}))
        async with door.stream("POST", sent, **headers):
            await model.wait_for_gate("one")
        await all_gone(server, "stateless_requests")
        model.release("one")
        sent, headers = said(call(2, "codex_wait", {"again": status == "interrupted"}))
        (turn,) = (await result_at(door, sent, **headers))["structuredContent"]["finished"]
        assert turn["status"] == status


async def entered(port: int, name: str) -> Door:
    """A client of this name with a session."""
    door = await shake_hands(port)
    hello = initialize()
    hello["params"]["clientInfo"]["name"] = name
    answer = await Door(port, accept=door.headers["accept"]).ask("POST", hello)
    door.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
    return door


@pytest.mark.parametrize(("other", "found"), [("frame", ["one"]), ("another", [])])
async def test_what_an_ended_session_has_not_collected_another_one_of_the_same_client_does(
    tmp_path: Path, other: str, found: list[str]
) -> None:
    """Frameworks that open a session for each call end it while the agent works."""
    async with scripted_http_server(tmp_path) as (server, model):
        first = await entered(server.port, "frame")
        await result_at(first, call(1, "codex", {"prompt": gate("one"), "background": True}))
        assert (await first.ask("DELETE")).status == 200
        model.release("one")
        second = await entered(server.port, other)
        assert seen(await result_at(second, call(1, "codex_wait"))) == (found, 0)
        assert seen(await result_at(second, call(2, "codex_wait"))) == ([], 0)
        third = await entered(server.port, "frame")
        assert seen(await result_at(third, call(1, "codex_wait"))) == ([] if found else ["one"], 0)


@pytest.mark.parametrize("is_background", [False, True])
async def test_what_a_killed_client_has_not_collected_the_next_one_of_its_name_does(
    tmp_path: Path, *, is_background: bool
) -> None:
    """It cannot end its session. Its connections are lost: that of its call, or its standing stream."""
    async with scripted_http_server(tmp_path, "--quiet-time", "0.01") as (server, model):
        killed, next_one = await entered(server.port, "frame"), await entered(server.port, "frame")
        asked = call(1, "codex", {"prompt": gate("one"), "background": is_background, "events": "standard"})
        if is_background:
            async with killed.stream("GET"):
                await result_at(killed, asked)
                assert seen(await result_at(next_one, call(1, "codex_wait"))) == ([], 0), "it is still there"
        else:
            async with killed.stream("POST", asked):
                await model.wait_for_gate("one")
        await all_gone(server, "streams")
        waiting = result_at(next_one, call(2, "codex_wait"))
        model.release("one")
        assert seen(await waiting) == (["one"], 0)
        assert seen(await result_at(next_one, call(3, "codex_wait"))) == ([], 0)


async def test_a_client_whose_connection_comes_back_collects_its_answers_itself(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        first, other = await entered(server.port, "frame"), await entered(server.port, "frame")
        async with first.stream("GET"):
            await result_at(first, call(1, "codex", {"prompt": gate("one"), "background": True}))
        await all_gone(server, "streams")
        async with first.stream("GET"):
            model.release("one")
            assert seen(await result_at(first, call(2, "codex_wait"))) == (["one"], 0)
            await result_at(first, call(3, "codex", {"prompt": gate("two"), "background": True}))
            assert seen(await result_at(other, call(1, "codex_wait"))) == ([], 0)
            model.release("two")
            assert seen(await result_at(first, call(4, "codex_wait"))) == (["two"], 0)


async def test_only_the_call_that_began_the_work_says_that_it_ends_with_the_server(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        begun = await server.run("codex", {"prompt": gate("one"), "background": True})
        waited = await server.run("codex_wait", {"timeout-seconds": 0})
        told = [result["content"][0]["text"] for result in (begun, waited)]
        assert ["ends with this server" in text for text in told] == [True, False]
        model.release("one")
        await server.run("codex_wait", {})


# -- after the answer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reason", "again"), [(PERSON, []), ("", []), *((each, ["one"]) for each in TIME_OUTS)])
async def test_a_cancel_after_the_answer_repeats_it_only_if_the_client_had_not_waited_for_it(
    tmp_path: Path, reason: str, again: list[str]
) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        await begin(server, gate("one"))
        model.release("one")
        told = server.call("codex_wait", {})
        assert seen(await server.result(told)) == (["one"], 0)
        server.send(gave_up(told, reason))
        assert seen(await server.run("codex_wait", {})) == (again, 0)
        assert seen(await server.run("codex_wait", {})) == ([], 0)


# -- how long a client waits ------------------------------------------------------------------------------------------


def waiting_call(
    limits: LearnedLimits,
    name: str = "frame",
    tool: str = "codex",
    arguments: Json | None = None,
    principal: str = LOCAL,
) -> Call:
    client = Client(plain_peer())
    client.introduce(ClientInfo(name, "1"), {})
    request = CallRequest(
        1, CallTool(tool, arguments or {}, Meta(progress_token=UNSET)), Subject(), principal=principal
    )
    return Call(client, request, make_settings(codex_home="unused").calls, limits)


@pytest.mark.parametrize("how", ["cancel", "hang-up"])
def test_after_the_first_time_out_calls_of_that_client_return_before_the_next(how: str) -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        limits = LearnedLimits()
        first = waiting_call(limits)
        assert first.patience(None) == 45
        await clock.advance(5.25, step=0.25)
        first.cancelled(TIME_OUTS[0]) if how == "cancel" else first.hung_up()
        assert not first.is_cancelled
        assert waiting_call(limits).patience(None) == pytest.approx(4.1, abs=0.15)
        assert waiting_call(limits).patience(60) == waiting_call(limits).patience(None), "the model asks for more"
        assert waiting_call(limits).patience(2) == 2
        assert waiting_call(limits, "another").patience(None) == 45


def test_a_connection_lost_at_an_unusual_time_teaches_nothing() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        limits = LearnedLimits()
        first = waiting_call(limits)
        await clock.advance(7.5, step=0.5)
        first.hung_up()
        assert waiting_call(limits).patience(None) == 45


def test_the_shortest_limit_counts_and_a_hopeless_one_is_not_learned() -> None:
    limits, frame = LearnedLimits(), Whose("local", "frame", has_progress_token=True)
    for seconds in (300, 60, 120, 0.3):
        limits.gave_up(frame, seconds)
    assert limits.deadline(frame) == 50
    assert limits.deadline(replace(frame, has_progress_token=False)) is None
    for number in range(2 * MAX_LEARNED):
        limits.gave_up(replace(frame, client=f"client {number}"), 60)
    assert limits.deadline(frame) is None


def test_what_a_client_of_one_principal_does_teaches_nothing_about_those_of_another() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        limits = LearnedLimits()
        first = waiting_call(limits, "Claude-Code", principal="alice")
        await clock.advance(1, step=0.5)
        first.cancelled(TIME_OUTS[0])
        assert waiting_call(limits, "claude-code", principal="alice").patience(None) == 0.5
        assert waiting_call(limits, "claude-code", principal="bob").patience(None) == 1500


@pytest.mark.parametrize(("seconds", "limit"), [(4.99, None), (5.0, 5), (5.6, 5), (5.8, None), (60.1, 60), (299, None)])
def test_a_usual_limit_is_recognised(seconds: float, limit: float | None) -> None:
    assert usual_limit(seconds) == limit


# -- clients that say nothing -----------------------------------------------------------------------------------------


WAIT = CallTool("codex_wait", {})


@pytest.mark.parametrize(
    ("name", "seconds", "is_left"),
    [("frame", 4.5, False), ("frame", 5.5, True), ("mcp", 5.5, True), ("cline", 5.5, False)],
)
def test_a_call_during_which_its_client_waits_for_news_does_not_count_as_read(
    name: str, seconds: float, *, is_left: bool
) -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        limits = LearnedLimits()
        first = waiting_call(limits, name)
        await clock.advance(seconds, step=0.5)
        first.news_wanted(WAIT)
        assert first.can_deliver is not is_left
        assert not first.has_left, "it is answered when its turn ends"
        assert waiting_call(limits, name).patience(None) == waiting_call(LearnedLimits(), name).patience(None)


def test_a_client_that_waits_twice_for_the_same_news_has_given_the_first_wait_up() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        limits = LearnedLimits()
        other, first = (waiting_call(limits, tool="codex_wait", arguments=each) for each in ({"agents": ["a"]}, {}))
        await clock.advance(5.5, step=0.5)
        for each in (other, first):
            each.news_wanted(WAIT)
        assert (other.has_left, first.has_left) == (False, True)
        assert waiting_call(limits).patience(None) == 4


@pytest.mark.parametrize(
    ("seconds", "limit"), [(4.99, None), (5.0, 5), (34, 5), (40, 10), (63, 30), (95, 60), (400, 300)]
)
def test_a_silent_limit_leaves_time_to_think(seconds: float, limit: float | None) -> None:
    assert silent_limit(seconds) == limit
