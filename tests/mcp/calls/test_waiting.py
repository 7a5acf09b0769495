"""`codex_wait` on the real Codex: it blocks until there is news, and tells each caller once."""

import asyncio
from pathlib import Path

import pytest
from msgspec import UNSET

from codex_mcp.base.logs import Subject
from codex_mcp.mcp.calls.call import Call, CallRequest
from codex_mcp.mcp.calls.waiting import LONGEST_IDLE, Wait, WatchedAgent, _patience
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.news import WaitVerdict
from codex_mcp.wire.mcp import CallTool, Meta
from tests.mcp.tools.test_tasks import meta
from tests.support.clock import Clock, run_with_clock
from tests.support.http.http_server import ChildServer, scripted_http_server
from tests.support.http.mcp_client import Door, call, notification, shake_hands, stateless
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json, McpServer, scripted_server
from tests.support.servers.mcp_session import plain_peer
from tests.support.settings import make_settings

Seen = tuple[list[str], int]


def seen(result: Json) -> Seen:
    """The answers that a wait has returned, and how many turns still run."""
    structured = result["structuredContent"]
    return [turn["content"] for turn in structured["finished"]], len(structured["running"])


def text_of(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text


def gate(name: str) -> str:
    return f'[[scene: gate name={name} text="{name}"]]'


async def begin(server: McpServer, prompt: str) -> str:
    """Start a turn in the background; return its thread."""
    started = await server.run("codex", {"prompt": prompt, "background": True})
    thread: str = started["structuredContent"]["threadId"]
    return thread


def is_unanswered(server: McpServer, *requests: int | str) -> bool:
    return not any(message.get("id") in requests and "method" not in message for message in server.messages)


async def busy(server: McpServer) -> None:
    """Let the server do something else, long enough for any answer that is due to have come."""
    await server.run("codex", {"prompt": '[[scene: say text="meanwhile"]]'})


async def test_a_thread_that_has_answered_is_waited_for_until_it_answers_again(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        thread = await begin(server, gate("one"))
        model.release("one")
        assert seen(await server.run("codex_wait", {"threadIds": [thread]})) == (["one"], 0)
        waiting = server.call("codex_wait", {"threadIds": [thread]})
        await busy(server)
        assert is_unanswered(server, waiting)
        reply = await server.run("codex-reply", {"threadId": thread, "prompt": gate("two"), "background": True})
        assert reply["structuredContent"]["status"] == "running"
        assert is_unanswered(server, waiting)
        model.release("two")
        assert seen(await server.result(waiting)) == (["two"], 0)


async def test_an_answer_that_its_own_call_returned_is_no_news(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        started = await server.run("codex", {"prompt": '[[scene: say text="said"]]'})
        thread = started["structuredContent"]["threadId"]
        waiting = server.call("codex_wait", {"threadIds": [thread]})
        await busy(server)
        assert is_unanswered(server, waiting)
        again = await server.run("codex_wait", {"threadIds": [thread], "again": True})
        assert seen(again) == (["said"], 0)
        assert is_unanswered(server, waiting), "asking again is no news to others"
        server.cancel(waiting)
        unchanged = await server.result(waiting)
        assert seen(unchanged) == ([], 0)
        assert [turn["threadId"] for turn in unchanged["structuredContent"]["unchanged"]] == [thread]
        assert "`again: true` repeats it" in text_of(unchanged)


async def test_of_many_waits_of_one_caller_one_has_each_piece_of_news(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        threads = [await begin(server, gate(name)) for name in ("one", "two")]
        waits = [server.call("codex_wait", {"threadIds": threads}) for _ in range(8)]
        model.release("one")
        first = await server.wait_for(lambda message: message.get("id") in waits)
        await busy(server)
        waits.remove(first["id"])
        assert seen(first["result"]) == (["one"], 1)
        assert is_unanswered(server, *waits)
        model.release("two")
        second = await server.wait_for(lambda message: message.get("id") in waits)
        waits.remove(second["id"])
        assert seen(second["result"]) == (["two"], 0)
        await busy(server)
        assert is_unanswered(server, *waits)


async def test_a_wait_for_all_is_answered_when_nothing_runs_any_more(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        for name in ("one", "two"):
            await begin(server, gate(name))
        waiting = server.call("codex_wait", {"mode": "all"})
        model.release("one")
        await busy(server)
        assert is_unanswered(server, waiting)
        async with asyncio.timeout(PATIENCE):  # the first turn may end after the one in between
            while seen(late := await server.run("codex_wait", {"mode": "all", "timeout-seconds": 0})) == ([], 2):
                pass
        assert seen(late) == (["one"], 1), "at its own limit it tells what there is"
        model.release("two")
        assert seen(await server.result(waiting)) == (["two"], 0)


async def test_a_wait_whose_time_is_up_says_what_is_still_running(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        thread = await begin(server, gate("one"))
        for arguments in ({"timeout-seconds": 0.05}, {"threadIds": [thread], "timeout-seconds": 0}):
            result = await server.run("codex_wait", arguments)
            assert seen(result) == ([], 1)
            assert "Still working: " in text_of(result)
        model.release("one")
        assert seen(await server.run("codex_wait", {"threadIds": [thread]})) == (["one"], 0)
        unchanged = await server.run("codex_wait", {"threadIds": [thread], "timeout-seconds": 0.05})
        assert "Nothing new: the last turn is completed" in text_of(unchanged)


async def test_a_wait_without_ids_answers_at_once_if_no_work_of_the_caller_is_left(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        for _ in range(2):
            assert seen(await server.run("codex_wait", {})) == ([], 0)
            await busy(server)


@pytest.mark.parametrize("ids", [True, False])
async def test_a_wait_that_is_cancelled_has_told_nothing(tmp_path: Path, *, ids: bool) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        thread = await begin(server, gate("one"))
        named = {"threadIds": [thread]} if ids else {}
        early = server.call("codex_wait", named)
        server.cancel(early)
        await server.result(early)
        model.release("one")
        told = server.call("codex_wait", named)
        assert seen(await server.result(told)) == (["one"], 0)


async def test_another_wait_is_told_what_a_lost_answer_had_told(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        thread = await begin(server, gate("one"))
        waits = [server.call("codex_wait", {"threadIds": [thread]}) for _ in range(2)]
        model.release("one")
        first = await server.wait_for(lambda message: message.get("id") in waits)
        server.send(notification("notifications/cancelled", requestId=first["id"], reason="Request timed out"))
        waits.remove(first["id"])
        assert seen(await server.result(waits[0])) == (["one"], 0)


async def test_in_the_stateless_era_the_same_holds_on_a_pipe(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        started = await server.run("codex", {"prompt": gate("one"), "background": True}, meta=meta())
        named = {"threadIds": [started["structuredContent"]["threadId"]]}
        model.release("one")
        assert seen(await server.run("codex_wait", {}, meta=meta())) == (["one"], 0)
        waiting = server.call("codex_wait", named, meta=meta())
        await server.run("codex", {"prompt": '[[scene: say text="meanwhile"]]'}, meta=meta())
        assert is_unanswered(server, waiting)
        assert seen(await server.run("codex_wait", {**named, "again": True}, meta=meta())) == (["one"], 0)


async def test_a_turn_that_its_caller_has_stopped_is_no_news_to_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        held = server.call("codex", {"prompt": gate("one")})
        await model.wait_for_gate("one")
        server.send(notification("notifications/cancelled", requestId=held))
        thread = (await server.result(held))["structuredContent"]["threadId"]
        await server.run("codex-reply", {"threadId": thread, "prompt": gate("two"), "background": True})
        model.release("two")
        assert seen(await server.run("codex_wait", {"threadIds": [thread]})) == (["two"], 0)


JSON = "application/json"

# -- over HTTP --------------------------------------------------------------------------------------------------------


async def result_at(door: Door, message: Json, **headers: str) -> Json:
    result: Json = (await door.post(message, **{**headers, "accept": "application/json"}))["result"]
    return result


def begins(number: int, name: str) -> Json:
    return call(number, "codex", {"prompt": gate(name), "background": True})


async def all_gone(server: ChildServer, gauge: str) -> None:
    """Wait until the server knows that every connection is gone. What it writes before, it takes for read."""
    async with asyncio.timeout(PATIENCE):
        while f"codex_mcp_{gauge} 0.0" not in (await Door(server.port, "/metrics").ask("GET")).body.decode():
            pass


async def test_a_wait_without_ids_is_about_the_work_of_its_own_session(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        ours, theirs = await shake_hands(server.port), await shake_hands(server.port)
        started = await result_at(ours, begins(1, "one"))
        thread = started["structuredContent"]["threadId"]
        assert seen(await result_at(theirs, call(1, "codex_wait"))) == ([], 0), "there is nothing to wait for"
        model.release("one")
        assert seen(await result_at(ours, call(2, "codex_wait"))) == (["one"], 0)
        assert seen(await result_at(theirs, call(2, "codex_wait"))) == ([], 0)
        assert seen(await result_at(theirs, call(3, "codex_wait", {"threadIds": [thread]}))) == (["one"], 0)
        assert seen(await result_at(ours, call(3, "codex_wait"))) == ([], 0)


async def test_clients_without_a_session_are_told_apart_by_what_they_say_of_themselves(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = Door(server.port)

        async def run(message: Json, who: str) -> Json:
            sent, headers = stateless(message)
            sent["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": who, "version": "1"}
            return await result_at(door, sent, **headers)

        await run(begins(1, "one"), "ada")
        model.release("one")
        assert seen(await run(call(1, "codex_wait"), "bob")) == ([], 0)
        assert seen(await run(call(1, "codex_wait"), "ada")) == (["one"], 0)
        assert seen(await run(call(1, "codex_wait"), "ada")) == ([], 0)


@pytest.mark.parametrize("tool", ["codex_wait", "codex"])
async def test_an_answer_whose_connection_was_cut_is_news_to_its_session(tmp_path: Path, tool: str) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", "0.01") as (server, model):
        door = await shake_hands(server.port)
        message = call(1, "codex", {"prompt": gate("one")})
        if tool == "codex_wait":
            await result_at(door, begins(0, "one"))
            message = call(1, "codex_wait")
        async with door.stream("POST", message):
            await model.wait_for_gate("one")
        await all_gone(server, "streams")
        model.release("one")
        assert seen(await result_at(door, call(2, "codex_wait"))) == (["one"], 0)


@pytest.mark.parametrize(("path", "accept"), [("/mcp", JSON), ("/mcp", f"{JSON}, text/event-stream"), ("/", JSON)])
async def test_an_answer_whose_connection_was_cut_before_it_began_is_news(
    tmp_path: Path, path: str, accept: str
) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", "30") as (server, model):
        door = await shake_hands(server.port) if path == "/mcp" else Door(server.port, path, mcp_session_id="chosen")
        await result_at(door, begins(1, "one"))
        async with door.waiting("POST", call(2, "codex_wait"), accept=accept):
            await answers_others(server)
        await answers_others(server)
        model.release("one")
        assert seen(await result_at(door, call(3, "codex_wait"))) == (["one"], 0)


async def answers_others(server: ChildServer) -> None:
    """Two round trips on other connections: by then the server has handled what came before on any connection."""
    for _ in range(2):
        assert (await Door(server.port, "/readyz").ask("GET")).status == 200


async def test_a_client_without_a_session_that_hangs_up_was_told_nothing(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", "0.01") as (server, model):
        door = Door(server.port)
        sent, headers = stateless(begins(1, "one"))
        await result_at(door, sent, **headers)
        waiting, headers = stateless(call(1, "codex_wait"))
        async with door.stream("POST", waiting, **headers):
            await model.wait_for_gate("one")
        await all_gone(server, "stateless_requests")
        model.release("one")
        assert seen(await result_at(door, waiting, **headers)) == (["one"], 0)
        assert seen(await result_at(door, waiting, **headers)) == ([], 0)


async def test_a_client_that_gave_up_before_the_answer_over_http_is_told_again(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        await result_at(door, begins(1, "one"))
        model.release("one")
        assert seen(await result_at(door, call(2, "codex_wait"))) == (["one"], 0)
        await door.ask("POST", notification("notifications/cancelled", requestId=2, reason="Request timed out"))
        assert seen(await result_at(door, call(3, "codex_wait"))) == (["one"], 0)


# -- how long ---------------------------------------------------------------------------------------------------------


class Nothing:
    """Nothing to wait for."""

    early: tuple[str, ...] = ()

    async def prepare(self) -> None:
        """There is nothing."""

    def watched(self) -> list[WatchedAgent]:
        """There is nothing."""
        return []


@pytest.mark.parametrize(
    ("decided", "soft_deadline", "timeout", "named", "patience"),
    [
        (WaitVerdict.WAIT, None, None, True, 45),
        (WaitVerdict.WAIT, 0.0, None, True, None),
        (WaitVerdict.WAIT, 0.0, None, False, None),
        (WaitVerdict.WAIT, 10.0, 600.0, True, 600),
        (WaitVerdict.WAIT, 10.0, 0.0, True, 0),
        (WaitVerdict.IDLE, 10.0, None, True, 10),
        (WaitVerdict.IDLE, 0.0, None, True, LONGEST_IDLE),
        (WaitVerdict.IDLE, 600.0, None, True, LONGEST_IDLE),
        (WaitVerdict.IDLE, 10.0, 600.0, True, 600),
        (WaitVerdict.IDLE, 10.0, 0.0, True, 0),
        (WaitVerdict.IDLE, 10.0, None, False, 0),
        (WaitVerdict.IDLE, 10.0, 600.0, False, 0),
    ],
)
def test_a_wait_lasts_as_long_as_its_client_allows_and_not_for_hours_without_anything_to_wait_for(
    decided: WaitVerdict, soft_deadline: float | None, timeout: float | None, *, named: bool, patience: float | None
) -> None:
    settings = make_settings(codex_home="unused", soft_deadline=soft_deadline)

    @run_with_clock
    async def _(clock: Clock) -> None:
        request = CallRequest(1, CallTool("codex_wait", {}, Meta(progress_token=UNSET)), Subject())
        waiting = Call(Client(plain_peer()), request, settings.calls)
        wait = Wait(Nothing(), timeout=timeout, is_named=named)
        assert _patience(waiting, wait, decided) == patience
        await clock.advance(4, step=4)
        assert _patience(waiting, wait, decided) == (max(0, patience - 4) if patience else patience)
