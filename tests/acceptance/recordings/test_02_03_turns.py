"""Counterparts of the recordings 02 and 03: plain turns, and threads that are continued."""

from pathlib import Path

from tests.acceptance.recordings.exchange import (
    BEGUN,
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_types,
    scene,
    serve,
    thread_of,
)


async def test_a_prompt_is_answered_and_the_events_tell_how(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("say")})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Good day.")
        assert event_types(server, call) == [*NEW, *ENDED]
        assert "isError" not in result


async def test_events_say_which_call_thread_and_turn_they_belong_to(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("say")}, request_id="a-word")
        thread = thread_of(await server.result(call))

        events = [message["params"] for message in server.messages if message.get("method") == "codex/event"]
        assert {tuple(event["_meta"].items()) for event in events} == {(("requestId", "a-word"), ("threadId", thread))}
        started = next(event for event in events if event["msg"]["type"] == "task_started")
        assert [event["id"] for event in events] == ["", ""] + [started["msg"]["turn_id"]] * (len(events) - 2)


async def test_reasoning_is_shown_under_a_request_id_that_is_a_word(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("think")}, request_id="string-id-7")
        result = await server.result(call)

        thought = ["agent_reasoning_section_break", "reasoning_content_delta", "agent_reasoning"]
        assert as_recorded(result) == answered(thread_of(result), "Thought and said.")
        assert event_types(server, "string-id-7") == [*NEW, *thought, *ENDED]


async def test_whoever_gives_a_progress_token_gets_progress_while_the_turn_runs(tmp_path: Path) -> None:
    async with serve(tmp_path, "--progress-interval", "0.05") as (server, model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("gate")}, meta={"progressToken": "tok-1"})
        first = await server.wait_for(lambda message: message.get("method") == "notifications/progress")
        second = await server.wait_for(
            lambda message: message.get("method") == "notifications/progress" and message != first
        )
        model.release("gate")
        result = await server.result(call)

        assert first["params"]["progressToken"] == second["params"]["progressToken"] == "tok-1"
        assert first["params"]["progress"] < second["params"]["progress"]
        assert as_recorded(result) == answered(thread_of(result), "At last.")


async def test_a_thread_is_continued_by_either_name_of_its_id(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        first = await server.run("codex", {"prompt": scene("say", text="first answer")})
        thread = thread_of(first)
        assert as_recorded(first) == answered(thread, "first answer")

        for named, text in [
            ({"threadId": thread}, "second answer"),
            ({"conversationId": thread}, "third answer"),
            ({"threadId": thread, "conversationId": "ignored-no-uuid"}, "fourth answer"),
        ]:
            call = server.call("codex-reply", {**named, "prompt": scene("say", text=text)})
            assert as_recorded(await server.result(call)) == answered(thread, text)
            assert event_types(server, call) == [*BEGUN, *ENDED]

        told = model.requests[-1].body.decode()
        assert all(text in told for text in ("first answer", "second answer", "third answer"))


async def test_a_thread_of_an_earlier_server_is_continued_from_disk(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        thread = thread_of(await server.run("codex", {"prompt": scene("say", text="first answer")}))
        server.close_stdin()
        assert await server.exit_code() == 0

    async with serve(tmp_path) as (server, model):
        await server.initialize()
        result = await server.run("codex-reply", {"threadId": thread, "prompt": scene("say", text="still here")})

        assert as_recorded(result) == answered(thread, "still here")
        assert "first answer" in model.requests[-1].body.decode()
