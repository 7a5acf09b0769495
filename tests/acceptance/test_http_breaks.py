"""Connections break, servers restart and stop: no answer is lost, and nobody waits for ever."""

import asyncio
import signal
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import http_server, scripted_http_server
from tests.support.http.mcp_client import BOTH, SESSION, Door, Json, call, initialize, request, shake_hands, stateless
from tests.support.patience import PATIENCE
from tests.support.processes import processes_at
from tests.support.servers.mcp_server import TOUR, Setup


def gate(name: str, text: str = "The gate is open.") -> Json:
    return {"prompt": f'[[scene: gate name={name} text="{text}"]]'}


def content(message: Json) -> str:
    text: str = message["result"]["structuredContent"]["content"]
    return text


async def test_a_turn_whose_post_was_cut_off_goes_on_and_is_read_to_its_end(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        async with door.stream("POST", call(1, "codex", gate("g"))) as events:
            await model.wait_for_gate("g")
            seen = [await events.next() for _ in range(3)]
        last = seen[-1]
        assert last is not None
        model.release("g")
        async with door.stream("GET", last_event_id=last.id) as events:
            rest = await events.rest()
        assert content(rest[-1]) == "The gate is open."
        kinds = [message["params"]["msg"]["type"] for message in rest[:-1]]
        assert kinds.count("task_complete") == 1
        assert last.message not in rest


async def test_a_get_stream_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    """What a turn in the background says after its answer is heard there."""
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        async with door.stream("GET") as events:
            answer = await door.ask("POST", call(1, "codex", {**gate("g"), "background": True}))
            assert answer.status == 200
            await model.wait_for_gate("g")
            first = await events.next()
            while first is not None and not first.data:
                first = await events.next()
            assert first is not None
        model.release("g")
        async with door.stream("GET", last_event_id=first.id) as events:
            kinds = []
            while (message := await events.message())["params"]["msg"]["type"] != "task_complete":
                kinds.append(message["params"]["msg"]["type"])
                assert message != first.message
            assert "agent_message" in kinds


async def test_a_session_goes_on_after_the_server_was_started_again(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        async with http_server(setup) as server:
            door = await shake_hands(server.port, capabilities={"elicitation": {}})
            async with door.stream("POST", call(1, "codex", {"prompt": '[[scene: say text="one"]]'})) as events:
                answer = (await events.rest())[-1]
            thread = answer["result"]["structuredContent"]["threadId"]
            async with door.stream("GET") as standing:
                event = await standing.next()
                assert event is not None
        async with http_server(setup) as server:
            door.port = server.port
            door.headers["host"] = f"127.0.0.1:{server.port}"
            async with door.stream("GET", last_event_id=event.id):
                reply = {"threadId": thread, "prompt": '[[scene: escalate cmd="touch made"]]'}
                async with door.stream("POST", call(1, "codex-reply", reply)) as events:
                    question = await events.until(method="elicitation/create")
                    accepted = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
                    assert (await door.ask("POST", accepted)).status == 202
                    assert content((await events.rest())[-1]) == "It ran."
        assert (setup.work / "made").exists()


async def test_a_deleted_session_ends_its_turn_and_its_thread_can_be_continued_by_another(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        async with door.stream("POST", call(1, "codex", gate("g"))) as events:
            await model.wait_for_gate("g")
            assert (await door.ask("DELETE")).status == 200
            result = (await events.rest())[-1]["result"]
        assert (result["isError"], result["structuredContent"]["status"]) == (True, "interrupted")
        assert (await door.ask("POST", request(2, "ping"))).status == 404

        another = await shake_hands(server.port)
        reply = {"threadId": result["structuredContent"]["threadId"], "prompt": '[[scene: say text="two"]]'}
        async with another.stream("POST", call(1, "codex-reply", reply)) as events:
            assert content((await events.rest())[-1]) == "two"


async def test_a_client_that_hangs_up_has_cancelled_its_turn_if_the_setting_says_so(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--on-client-timeout", "stop") as (server, model):
        body, headers = stateless(call(1, "codex", gate("g")))
        async with Door(server.port).stream("POST", body, **headers) as events:
            await model.wait_for_gate("g")
            thread = (await events.message())["params"]["_meta"]["threadId"]
        # The turn ends, though its gate stays shut. That is no news to the client that stopped it, unless it asks.
        wait = call(2, "codex_wait", {"threadIds": [thread], "timeout-seconds": 20, "again": True})
        body, headers = stateless(wait)
        answer = await Door(server.port).ask("POST", body, **headers)
        (finished,) = msgspec.json.decode(answer.body)["result"]["structuredContent"]["finished"]
        assert finished["status"] == "interrupted"


async def test_so_has_one_that_hangs_up_before_it_was_told_anything(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--on-client-timeout", "stop") as (server, model):
        body, headers = stateless(call(1, "codex", {**gate("g"), "events": "none"}))
        async with Door(server.port).waiting("POST", body, **{**headers, "accept": "application/json"}):
            await model.wait_for_gate("g")
        body, headers = stateless(call(2, "codex_wait", {"timeout-seconds": 20, "again": True}))
        answer = await Door(server.port).ask("POST", body, **headers)
        (finished,) = msgspec.json.decode(answer.body)["result"]["structuredContent"]["finished"]
        assert finished["status"] == "interrupted"


async def test_one_with_a_session_has_not(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        async with door.stream("POST", call(1, "codex", gate("g"))) as events:
            await model.wait_for_gate("g")
            while "params" not in (message := await events.message()):
                pass
            thread = message["params"]["_meta"]["threadId"]
        model.release("g")
        waiting = call(2, "codex_wait", {"threadIds": [thread], "timeout-seconds": 20})
        (finished,) = (await door.post(waiting))["result"]["structuredContent"]["finished"]
        assert (finished["status"], finished["content"]) == ("completed", "The gate is open.")


async def test_an_approval_is_answered_by_coming_again(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        asked = call(1, "codex", {"prompt": '[[scene: escalate cmd="touch made"]]'})
        body, headers = stateless(asked, elicitation={})
        async with Door(server.port).stream("POST", body, **headers) as events:
            required = (await events.rest())[-1]["result"]
        assert required["resultType"] == "input_required"
        (key,) = required["inputRequests"]
        again = call(
            2,
            "codex",
            asked["params"]["arguments"],
            inputResponses={key: {"action": "accept", "content": {}}},
            requestState=required["requestState"],
        )
        body, headers = stateless(again, elicitation={})
        async with Door(server.port).stream("POST", body, **headers) as events:
            result = (await events.rest())[-1]["result"]
        assert (result["resultType"], result["structuredContent"]["content"]) == ("complete", "It ran.")
        (server.setup.work / "made").unlink()

        replayed = await Door(server.port).post(body, **headers)
        assert replayed["result"]["structuredContent"] == result["structuredContent"]
        assert not (server.setup.work / "made").exists(), "an answer counts once"


async def test_a_call_that_comes_again_with_answers_waits_as_long_as_it_asked_to(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--soft-deadline", "2") as (server, model):
        door = Door(server.port)
        blocks = "until [ -e open ]; do sleep 0.05; done"
        patient = {"prompt": f'[[scene: escalate cmd="{blocks}"]]', "wait-seconds": 0}
        body, headers = stateless(call(1, "codex", patient), elicitation={})
        async with door.stream("POST", body, **headers) as events:
            required = (await events.rest())[-1]["result"]
        (key,) = required["inputRequests"]
        answers = {key: {"action": "accept", "content": {}}}
        again = call(2, "codex", patient, inputResponses=answers, requestState=required["requestState"])
        body, headers = stateless(again, elicitation={})
        async with door.stream("POST", body, **headers) as events:
            await events.message()  # it waits
            body, headers = stateless(call(3, "codex", gate("g")))
            async with Door(server.port).stream("POST", body, **headers) as others:
                other = (await others.rest())[-1]["result"]
            assert other["structuredContent"]["status"] == "running", "the server's own limit has passed"
            (server.setup.work / "open").touch()
            model.release("g")
            result = (await events.rest())[-1]["result"]
        assert (result["resultType"], result["structuredContent"]["content"]) == ("complete", "It ran.")


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_a_signal_ends_a_server_with_every_kind_of_stream_open(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--shutdown-grace", "1") as (server, model):
        door = await shake_hands(server.port)
        bus = Door(server.port, "/", mcp_session_id="mine")
        listen, listening = stateless(request(1, "subscriptions/listen", notifications={}))
        endless, calling = stateless(call(1, "codex", gate("two")))
        async with (
            door.stream("GET") as standing,
            bus.stream("GET") as heard,
            door.stream("POST", call(1, "codex", gate("one"))) as post,
            Door(server.port).stream("POST", listen, **listening) as listener,
            Door(server.port).stream("POST", endless, **calling) as alone,
        ):
            await model.wait_for_gate("one")
            await model.wait_for_gate("two")
            server.signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE):
                rests = await asyncio.gather(*(each.rest() for each in (standing, heard, post, listener, alone)))
        assert rests[:2] == [[], []]
        assert rests[2][-1]["result"]["structuredContent"]["status"] == "interrupted"
        assert rests[3][-1]["result"]["resultType"] == "complete"
        assert rests[4][-1]["result"]["structuredContent"]["status"] == "interrupted"
        assert await server.exit_code() == 0, server.stderr
        assert processes_at(server.setup.home) == []


async def test_a_finite_turn_may_finish_and_nothing_new_begins(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = await shake_hands(server.port)
        async with door.stream("POST", call(1, "codex", gate("g"))) as events:
            await model.wait_for_gate("g")
            server.signal(signal.SIGTERM)
            ready = Door(server.port, "/readyz")
            async with asyncio.timeout(PATIENCE):
                while (await ready.ask("GET")).status != 503:
                    pass
            assert (await door.post(request(2, "ping")))["error"]["code"] == -32001
            assert (await Door(server.port, accept=BOTH).ask("POST", initialize())).status == 503
            model.release("g")
            assert content((await events.rest())[-1]) == "The gate is open."
        assert await server.exit_code() == 0, server.stderr


async def test_two_signals_end_it_at_once(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path, "--shutdown-grace", "600") as (server, model):
        door = await shake_hands(server.port)
        assert SESSION in door.headers
        async with door.stream("POST", call(1, "codex", gate("g"))) as events:
            await model.wait_for_gate("g")
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGINT)
            assert (await events.rest())[-1]["result"]["structuredContent"]["status"] == "interrupted"
        assert await server.exit_code() == 0, server.stderr
