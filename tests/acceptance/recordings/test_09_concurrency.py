"""Counterparts of the recordings 09: several things at once."""

from pathlib import Path

from tests.acceptance.recordings.exchange import (
    BEGUN,
    ENDED,
    NEW,
    SAID,
    answered,
    as_recorded,
    event_types,
    scene,
    serve,
    thread_of,
)


async def test_two_threads_run_at_once_and_their_events_do_not_mix(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        slow = server.call("codex", {"prompt": scene("gate")})
        quick = server.call("codex", {"prompt": scene("say", text="The quick one.")})
        first = await server.result(quick)
        await model.wait_for_gate("gate")
        assert not [message for message in server.messages if message.get("id") == slow]
        model.release("gate")
        second = await server.result(slow)

        assert as_recorded(first) == answered(thread_of(first), "The quick one.")
        assert as_recorded(second) == answered(thread_of(second), "At last.")
        assert thread_of(first) != thread_of(second)
        assert event_types(server, quick) == [*NEW, *ENDED]
        assert event_types(server, slow) == [*NEW, *SAID[:2], *ENDED]


async def test_a_reply_to_a_busy_thread_waits_for_its_turn_and_both_are_answered(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        first = server.call("codex", {"prompt": scene("gate")})
        thread = (await server.event("session_configured", first))["params"]["_meta"]["threadId"]
        await model.wait_for_gate("gate")
        second = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text="The second.")})
        third = server.call("codex-reply", {"threadId": thread, "prompt": scene("say", text="The third.")})
        await server.result(server.request("ping"))
        model.release("gate")

        assert as_recorded(await server.result(first)) == answered(thread, "At last.")
        assert as_recorded(await server.result(second)) == answered(thread, "The second.")
        assert as_recorded(await server.result(third)) == answered(thread, "The third.")
        assert event_types(server, first) == [*NEW, *SAID[:2], *ENDED]
        assert event_types(server, second) == event_types(server, third) == [*BEGUN, *ENDED]
        kinds = ("task_started", "task_complete")
        order = [
            message["params"]["_meta"]["requestId"]
            for message in server.messages
            if message.get("method") == "codex/event" and message["params"]["msg"]["type"] in kinds
        ]
        assert order == [first, first, second, second, third, third]
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_a_second_request_with_the_id_of_one_that_runs_is_refused(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        server.call("codex", {"prompt": scene("gate")}, request_id=5)
        server.call("codex", {"prompt": scene("say", text="dup")}, request_id=5)
        refusal = await server.wait_for(lambda message: message.get("id") == 5 and "error" in message)
        model.release("gate")
        answer = await server.wait_for(lambda message: message.get("id") == 5 and "result" in message)

        assert refusal["error"]["code"] == -32600
        assert "still running" in refusal["error"]["message"]
        assert as_recorded(answer["result"]) == answered(thread_of(answer["result"]), "At last.")
        assert event_types(server, 5) == [*NEW, *SAID[:2], *ENDED]


async def test_two_questions_of_one_turn_are_open_at_once_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate-two"), "cwd": str(server.setup.work)})
        questions = [await server.question(0), await server.question(1)]
        by_command = {question["params"]["codex_command"][-1]: question["id"] for question in questions}
        server.reply(by_command["touch a.txt"], {"decision": "approved"})
        server.reply(by_command["touch b.txt"], {"decision": {"denied": {"rejection": "not that one"}}})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Both are over.")
        assert (server.setup.work / "a.txt").exists()
        assert not (server.setup.work / "b.txt").exists()
        one_ran = ["exec_approval_request"] * 2 + ["exec_command_begin", "exec_command_end", "token_count"]
        assert event_types(server, call) == [*NEW, *one_ran, *ENDED]
