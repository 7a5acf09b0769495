"""The scripted model over bare HTTP. With the real Codex: tests/acceptance/test_scripted_model.py."""

import asyncio
import tomllib
from contextlib import AsyncExitStack

import msgspec
import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.scripted_model.load import packaged_script
from codex_mcp.scripted_model.request import call_id
from codex_mcp.scripted_model.server import KEPT_REQUESTS, ScriptedModel
from tests.support.http.client import Answer, Wire, connect
from tests.support.patience import PATIENCE

TOUR = packaged_script("tour")


def port_of(model: ScriptedModel) -> int:
    return int(model.base_url.split(":")[2].split("/")[0])


def body(prompt: str, *more: dict[str, object]) -> bytes:
    return msgspec.json.encode({"model": "m", "stream": True, "input": [{"role": "user", "content": prompt}, *more]})


def ask(wire: Wire, prompt: str, *more: dict[str, object], thread: str = "t1") -> None:
    wire.send("POST", "/v1/responses", body(prompt, *more), {"thread-id": thread})


async def answer(wire: Wire, prompt: str, *more: dict[str, object], thread: str = "t1") -> Answer:
    ask(wire, prompt, *more, thread=thread)
    return await wire.read_answer()


async def test_a_prompt_is_answered_with_a_stream_of_events() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        first = await answer(wire, "Good day")
        assert first.status == 200
        assert first.headers["content-type"] == "text/event-stream"
        assert b'"delta":"Hello! You said: Good day"' in first.body
        assert first.body.split(b"\n\n")[-2].startswith(b"event: response.completed\n")
        [seen] = model.requests
        assert (seen.thread, seen.scene, seen.json["model"]) == ("t1", "hello", "m")


async def test_the_answer_of_a_tool_leads_to_the_next_step_even_on_another_connection() -> None:
    async with ScriptedModel(TOUR) as model:
        async with connect(port_of(model)) as wire:
            assert b"echo hello" in (await answer(wire, "[[scene: run]]")).body
        output: dict[str, object] = {"type": "function_call_output", "call_id": call_id("a", 0, 0), "output": "hi"}
        async with connect(port_of(model)) as wire:
            assert b'"delta":"The command answered:\\nhi"' in (await answer(wire, "[[scene: run]]", output)).body


async def test_failures_are_counted_per_thread_and_message() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        statuses = [
            (await answer(wire, "[[scene: fail status=503 times=2]]", thread=thread)).status
            for thread in ("t1", "t1", "t2", "t1", "t2", "t2")
        ]
    assert statuses == [503, 503, 503, 200, 503, 200]


async def test_a_gate_holds_an_answer_until_it_is_released() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire, connect(port_of(model)) as other:
        ask(wire, "[[scene: gate name=door]]")
        await asyncio.wait_for(model.wait_for_gate("door"), PATIENCE)
        assert b'"delta":"Waiting."' in (await wire.read_head(), await wire.read_chunk())[1]
        assert (await other.ask("GET", "/gates")).body == b'{"waiting":{"door":1}}'
        assert (await other.ask("POST", "/gates/door")).status == 200
        assert b"The gate is open." in await wire.read_chunk()
        assert await wire.read_chunk() == b""
        assert (await other.ask("GET", "/gates")).body == b'{"waiting":{}}'


async def test_a_gate_can_be_shut_again_from_both_sides() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire, connect(port_of(model)) as other:
        model.release("door")
        assert (await answer(wire, "[[scene: gate name=door]]")).status == 200
        assert (await other.ask("DELETE", "/gates/door")).status == 200
        ask(wire, "[[scene: gate name=door]]")
        await asyncio.wait_for(model.wait_for_gate("door"), PATIENCE)


async def test_a_client_that_hangs_up_no_longer_waits_at_a_gate() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as other:
        async with connect(port_of(model)) as wire:
            ask(wire, "[[scene: gate]]")
            await asyncio.wait_for(model.wait_for_gate("gate"), PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while (await other.ask("GET", "/gates")).body != b'{"waiting":{}}':
                pass


async def test_only_what_was_answered_is_counted() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as other:
        async with connect(port_of(model)) as wire:
            ask(wire, "[[scene: gate]]")
            await asyncio.wait_for(model.wait_for_gate("gate"), PATIENCE)
        await answer(other, "hello")
        await answer(other, "[[scene: fail]]")
        assert [(each.scene, each.tokens) for each in model.counts] == [("gate", None), ("hello", 120), ("fail", None)]


async def test_a_disconnect_leaves_half_a_stream() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        ask(wire, "[[scene: disconnect]]")
        got = await wire.read_to_the_end()
    assert b'"delta":"And then"' in got
    assert not got.endswith(b"0\r\n\r\n")


async def test_closing_is_immediate_whatever_is_still_open() -> None:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel(TOUR))
        gate, endless, silent, _ = [await stack.enter_async_context(connect(port_of(model))) for _ in range(4)]
        ask(gate, "[[scene: gate]]")
        ask(endless, "[[scene: endless]]")
        ask(silent, "[[scene: silence]]")
        await endless.read_head()
        await silent.read_head()
        await model.wait_for_gate("gate")
        async with asyncio.timeout(PATIENCE):
            await model.aclose()
            await model.aclose()


async def test_twenty_threads_at_once_are_held_and_released_together() -> None:
    async def one(number: int) -> bytes:
        async with connect(port_of(model)) as wire:
            return (await answer(wire, f"[[scene: gate text=answer-{number}]]", thread=f"t{number}")).body

    async with ScriptedModel(TOUR) as model, asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(20)]
        await asyncio.wait_for(model.wait_for_gate("gate", 20), PATIENCE)
        model.release("gate")
        for number, body_of in enumerate(await asyncio.gather(*tasks)):
            assert f'"answer-{number}"'.encode() in body_of


async def test_a_marker_that_cannot_be_played_is_answered_with_a_sentence() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        refused = await answer(wire, "[[scene: nope]]")
        assert refused.status == 400
        assert refused.body.startswith(b"cannot play [[scene: nope]]: no such scene in ")
        assert (await wire.ask("POST", "/v1/responses", b"{")).body.startswith(b"cannot read the request: ")


async def test_what_codex_is_given_is_toml_that_points_to_the_model_and_keeps_it_at_home() -> None:
    async with ScriptedModel(TOUR) as model:
        config = tomllib.loads("\n".join(model.codex_overrides(retries=2)))
        provider = config["model_providers"][config["model_provider"]]
        assert provider["base_url"] == model.base_url
    assert (provider["wire_api"], provider["request_max_retries"], provider["stream_max_retries"]) == (
        "responses",
        2,
        2,
    )
    assert config["model"] == "gpt-5.5"
    assert config["features"] == {"plugins": False, "apps": False}
    assert config["analytics"] == {"enabled": False}


async def test_it_can_be_awaited_until_a_scene_is_played() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire, asyncio.TaskGroup() as group:
        waiting = group.create_task(asyncio.wait_for(model.wait_for_scene("say", 2), PATIENCE))
        for prompt in ("hello", "[[scene: say]]"):
            await answer(wire, prompt)
        assert not waiting.done()
        await answer(wire, "[[scene: say]]")


async def test_other_addresses_are_answered_too() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        models = msgspec.json.decode((await wire.ask("GET", "/v1/models")).body)
        assert models == {"object": "list", "data": [{"id": "gpt-5.5", "object": "model", "owned_by": "scripted"}]}
        nothing = await wire.ask("GET", "/v1/nothing")
        assert nothing.status == 404
        assert b"cannot GET /v1/nothing: the scripted model has no such address" in nothing.body


async def test_only_the_newest_requests_are_kept() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        for number in range(KEPT_REQUESTS + 5):
            await answer(wire, "hello", thread=f"t{number}")
        assert [seen.thread for seen in model.requests] == [f"t{number + 5}" for number in range(KEPT_REQUESTS)]


async def test_a_port_that_is_taken_is_a_sentence() -> None:
    async with ScriptedModel(TOUR) as model:
        with pytest.raises(Refused, match=rf"^cannot start the scripted model on port {port_of(model)}: "):
            await ScriptedModel(TOUR, port=port_of(model)).__aenter__()


async def test_a_client_that_asks_for_no_stream_gets_the_answer_in_one_piece() -> None:
    async with ScriptedModel(TOUR) as model, connect(port_of(model)) as wire:
        wire.send("POST", "/v1/responses", msgspec.json.encode({"model": "m", "input": "Good day"}), {})
        said = await wire.read_answer()
        assert (said.status, said.headers["content-type"]) == (200, "application/json")
        whole = msgspec.json.decode(said.body)
        assert (whole["object"], whole["status"], whole["usage"]["input_tokens"]) == ("response", "completed", 100)
        (message,) = whole["output"]
        assert message["content"][0]["text"] == "Hello! You said: Good day"
        wire.send("POST", "/v1/responses", msgspec.json.encode({"input": "[[scene: fail status=503]]"}), {})
        assert (await wire.read_answer()).status == 503
