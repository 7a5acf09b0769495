"""The last Codex that had an mcp-server of its own (0.153.4, from npm), as our core."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.processes.marks import variables
from codex_mcp.base.processes.termination import end_processes
from codex_mcp.codex.core import CannotResume, ThreadSpec, TurnSpec
from codex_mcp.codex.legacy.core import COMMAND_MARK
from codex_mcp.mcp.tools.specs import CONFIG_REFUSED
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.team.roster import Member
from codex_mcp.threads.questions.decisions import Aborted, Decision, Denied
from codex_mcp.threads.questions.questions import CommandQuestion, PatchQuestion, Question
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from tests.support.clients import mcp_tool_server
from tests.support.clients.judges import package
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.processes import all_ended
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import scripted_server
from tests.support.team.local_team import local_team

GATE = "[[scene: gate]]"
ENDLESS = "[[scene: endless]]"
PLAIN_TURN = [
    "session_configured",
    "mcp_startup_complete",
    "task_started",
    "user_message",
    "agent_message_content_delta",
    "agent_message",
    "token_count",
    "task_complete",
]


def old_codex() -> str:
    return str(package("codex-old") / "bin/codex.js")


def old_threads(folder: Path, **changed: object) -> AbstractAsyncContextManager[tuple[Threads, ScriptedModel]]:
    return scripted_threads(folder, codex_bin=old_codex(), **changed)  # type: ignore[arg-type]  # the test knows the types


def say(text: str) -> str:
    return f'[[scene: say text="{text}"]]'


def submit(thread: Thread, prompt: str, watcher: Watcher | None = None, **changed: object) -> Turn:
    spec = TurnSpec(prompt, **changed)  # type: ignore[arg-type]  # the test knows the types
    return thread.submit(spec, watcher or Watcher(), full_events=False)


async def ended(turn: Turn) -> Outcome:
    outcome = await turn.wait(PATIENCE)
    assert turn.ended, turn
    return outcome


async def run(thread: Thread, prompt: str, watcher: Watcher | None = None) -> Outcome:
    return await ended(submit(thread, prompt, watcher))


@requirement("NFR-4")
async def test_a_thread_gets_its_own_id_with_its_first_turn_and_goes_on(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path)))
        provisional, watcher = thread.id, Watcher()
        first = await run(thread, say("one"), watcher)
        second = await run(thread, say("two"))

        assert (first.content, second.content) == ("one", "two")
        assert {first.thread_id, second.thread_id} == {thread.id} != {provisional}
        assert watcher.kinds == PLAIN_TURN
        assert watcher.events[0].msg["session_id"] == thread.id
        assert await threads.find(thread.id) is thread
        with pytest.raises(CannotResume):
            await threads.find(provisional)
        assert first.usage == second.usage
        assert first.usage is not None
        assert first.usage.total_tokens == 120
        assert b"one" in model.requests[-1].body


async def test_two_threads_run_at_once_in_one_child(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, model):
        both = [await threads.start(ThreadSpec()), await threads.start(ThreadSpec())]
        turns = [submit(thread, GATE) for thread in both]
        await model.wait_for_gate("gate", 2)
        model.release("gate")
        outcomes = [await ended(turn) for turn in turns]
        assert [outcome.content for outcome in outcomes] == ["The gate is open."] * 2
        assert len({outcome.thread_id for outcome in outcomes}) == 2
        assert threads.supervisor.starts == 1


async def test_a_cancelled_turn_ends_and_the_next_ones_get_their_own_answers_and_events(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec())
        watcher = Watcher()
        turn = submit(thread, ENDLESS, watcher)
        await watcher.saw("agent_message_content_delta")
        thread.cancel(turn)
        assert (await ended(turn)).status is Status.INTERRUPTED
        for text in ("one", "two", "three"):
            watcher = Watcher()
            assert (await run(thread, say(text), watcher)).content == text
            assert watcher.kinds == PLAIN_TURN[2:]


async def test_a_cancel_kills_the_command_that_runs(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path), sandbox="workspace-write"))
        watcher = Watcher()
        turn = submit(thread, '[[scene: run cmd="sleep 1000"]]', watcher)
        await watcher.saw("exec_command_begin")
        thread.cancel(turn)
        assert (await ended(turn)).status is Status.INTERRUPTED
        mark = {COMMAND_MARK: thread.id}
        assert end_processes(lambda pid: variables(pid, mark) == mark) == 0
        assert "exec_command_end" in watcher.kinds


async def test_a_turn_is_stopped_at_its_time_limit(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec())
        outcome = await ended(submit(thread, ENDLESS, time_limit=0.2))
        assert outcome.status is Status.FAILED
        assert "time limit" in outcome.content


@pytest.mark.parametrize(
    ("decision", "said", "is_there"),
    [
        (None, "It ran.", True),
        (Denied("not on a Sunday"), "It was refused.", False),
    ],
)
async def test_a_command_is_asked_about_with_what_the_event_says_of_it(
    tmp_path: Path, decision: Decision | None, said: str, *, is_there: bool
) -> None:
    watcher = Watcher() if decision is None else Watcher(always(decision))
    async with old_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path)))
        prompt = '[[scene: escalate cmd="touch escalated" why="It must be."]]'
        outcome = await run(thread, prompt, watcher)
        (question,) = watcher.questions
        assert isinstance(question, CommandQuestion)
        assert (question.command[-1], question.reason) == ("touch escalated", "It must be.")
        assert question.proposed_rule == ("touch", "escalated")
        assert question.thread_id == thread.id
        assert (outcome.content, (tmp_path / "escalated").exists()) == (said, is_there)
        assert (b"rejected: not on a Sunday" in model.requests[-1].body) is not is_there


async def test_a_patch_outside_of_the_workspace_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    outside = tmp_path / "outside.txt"
    config = {f"sandbox_workspace_write.{name}": True for name in ("exclude_slash_tmp", "exclude_tmpdir_env_var")}
    watcher = Watcher()
    async with old_threads(tmp_path) as (threads, _model):
        spec = ThreadSpec(cwd=str(tmp_path / "work"), sandbox="workspace-write", config=config)
        outcome = await run(await threads.start(spec), f'[[scene: patch file="{outside}"]]', watcher)
        (question,) = watcher.questions
        assert isinstance(question, PatchQuestion)
        assert list(question.changes) == [str(outside)]
        assert [(change.path, change.kind) for change in outcome.files] == [(str(outside), "add")]
        assert outside.read_text() == "hello\n"


async def test_abort_ends_the_turn_and_the_thread_goes_on(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path)))
        outcome = await run(thread, "[[scene: escalate]]", Watcher(always(Aborted())))
        assert outcome.status is Status.INTERRUPTED
        assert (await run(thread, say("on"))).content == "on"


async def test_a_cancel_takes_an_open_question_back(tmp_path: Path) -> None:
    never = asyncio.get_running_loop().create_future()

    async def wait(_: Question) -> Decision:
        return await asyncio.shield(never)

    watcher = Watcher(wait)
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec(cwd=str(tmp_path)))
        turn = submit(thread, "[[scene: escalate]]", watcher)
        await watcher.changes.until(lambda: bool(watcher.questions))
        thread.cancel(turn)
        assert (await ended(turn)).status is Status.INTERRUPTED
        assert thread.asking == 0
    never.cancel()


async def test_a_killed_codex_is_an_error_and_its_threads_are_lost(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        killed(threads)
        outcome = await ended(turn)
        assert outcome.status is Status.FAILED
        assert "signal SIGKILL" in outcome.content
        assert "start a new one with codex" in outcome.content
        assert (await run(thread, say("gone"))).content == outcome.content
        with pytest.raises(CannotResume, match="Its threads are lost"):
            await threads.find(thread.id)
        assert threads.supervisor.starts == 1
        assert (await run(await threads.start(ThreadSpec()), say("new"))).content == "new"


async def test_after_a_failure_of_the_model_the_thread_is_given_up(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        watcher = Watcher()
        failed = await run(thread, "[[scene: error]]", watcher)
        asked = len(model.requests)
        refused = await run(thread, say("lost"))
        assert (failed.status, refused.status) == (Status.FAILED, Status.FAILED)
        assert "the script says so" in failed.content
        assert watcher.kinds[-2:] == ["error", "task_complete"]
        assert "after a failed turn" in refused.content
        assert len(model.requests) == asked
        with pytest.raises(CannotResume, match="after a failed turn"):
            await threads.find(thread.id)


async def test_a_failure_after_a_cancel_is_heard_to_its_end_and_the_thread_goes_on(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec())
        watcher = Watcher()
        turn = submit(thread, ENDLESS, watcher)
        await watcher.saw("agent_message_content_delta")
        thread.cancel(turn)
        await ended(turn)
        assert (await run(thread, "[[scene: error]]")).status is Status.FAILED
        assert (await run(thread, say("on"))).content == "on"


async def test_a_question_that_it_lets_nobody_answer_fails_the_turn(tmp_path: Path) -> None:
    inner = {"command": sys.executable, "args": [mcp_tool_server.__file__]}
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec(config={"mcp_servers.inner": inner}))
        prompt = '[[scene: mcp namespace="mcp__inner" arguments="{\\"text\\": \\"hi\\"}"]]'
        outcome = await run(thread, prompt)
        assert outcome.status is Status.FAILED
        assert "no client can answer" in outcome.content
        assert (await run(thread, say("on"))).content == "on"


@pytest.mark.parametrize(
    ("spec", "turn", "why"),
    [
        (ThreadSpec(), {"images": ("https://example.com/x.png",)}, "Codex 0.153.4 knows no images"),
        (ThreadSpec(), {"output_schema": {}}, "Codex 0.153.4 knows no output schemas"),
        (ThreadSpec(approval_policy="untrusted"), {}, "approval-policy `untrusted` is not known to Codex 0.153.4"),
        (ThreadSpec(config={"model_provider": "nobody"}), {}, "Model provider `nobody` not found"),
    ],
)
async def test_what_it_cannot_do_is_refused_in_a_sentence(
    tmp_path: Path, spec: ThreadSpec, turn: dict[str, object], why: str
) -> None:
    async with old_threads(tmp_path) as (threads, _model):
        thread = await threads.start(spec)
        outcome = await ended(submit(thread, "hello", None, **turn))
        assert (outcome.status, outcome.thread_id) == (Status.FAILED, "")
        assert why in outcome.content
        await threads.unload_idle(float("inf"))
        assert (await ended(submit(await threads.start(ThreadSpec()), say("fine")))).content == "fine"


async def test_a_server_that_is_killed_takes_it_along_in_mid_turn(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--codex-bin", old_codex()) as (server, model):
        await server.initialize()
        server.call("codex", {"prompt": GATE})
        await model.wait_for_gate("gate")
        server.process.kill()
        await server.exit_code()
        await all_ended(server.setup.home)


async def test_a_server_that_is_left_ends_it_at_once_even_with_a_cancelled_call(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--codex-bin", old_codex()) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": ENDLESS})
        await server.event("agent_message_content_delta", call)
        server.cancel(call)
        await server.answer(call)
        server.close_stdin()
        assert await server.exit_code() == 0
        await all_ended(server.setup.home)


async def test_an_exec_server_is_refused(tmp_path: Path) -> None:
    async with old_threads(tmp_path, exec_server="ws://127.0.0.1:9") as (threads, _model):
        with pytest.raises(Refused, match="cannot use an exec-server with Codex"):
            await threads.start(ThreadSpec())


async def test_a_thread_that_was_put_away_is_still_there(tmp_path: Path) -> None:
    async with old_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        turn = submit(thread, say("remember this"))
        await ended(turn)
        turn.mark_delivered()
        await threads.unload_idle(float("inf"))
        assert list(threads) == []
        found = await threads.find(thread.id)
        assert (await run(found, say("back"))).content == "back"
        assert b"remember this" in model.requests[-1].body


async def test_the_whole_server_runs_on_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--codex-bin", old_codex()) as (server, model):
        await server.initialize()
        background = await server.run("codex", {"prompt": GATE, "background": True})
        thread = background["structuredContent"]["threadId"]
        await model.wait_for_gate("gate")
        model.release("gate")
        (collected,) = (await server.run("codex_wait", {"threadIds": [thread]}))["structuredContent"]["finished"]
        assert (collected["threadId"], collected["content"]) == (thread, "The gate is open.")

        call = server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: escalate]]"})
        question = await server.question()
        assert question["params"]["codex_command"][-1] == "touch escalated"
        server.reply(question["id"], {"action": "accept", "content": {"decision": "approved"}})
        result = await server.result(call)
        assert result["structuredContent"]["content"] == "It ran."
        events = {msg["type"] for msg in server.events(call)}
        assert {"task_started", "exec_approval_request", "exec_command_end", "task_complete"} <= events

        refused = await server.run("codex", {"prompt": "hello", "config": {"model_provider": "nobody"}})
        assert refused == {
            "content": [{"type": "text", "text": f"{CONFIG_REFUSED}Model provider `nobody` not found"}],
            "isError": True,
        }

        failed = await server.run("codex", {"prompt": "[[scene: error]]"})
        assert failed["content"][0]["text"].endswith("(the thread is lost; codex starts a new one)")

        unknown = await server.run("codex-reply", {"threadId": str(server.process.pid), "prompt": "hello"})
        assert "cannot resume thread" in unknown["content"][0]["text"]
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_an_agent_keeps_its_name_when_its_thread_gets_one_and_gets_a_new_thread_when_that_is_lost(
    tmp_path: Path,
) -> None:
    async with local_team(tmp_path, codex_bin=old_codex()) as c:
        member = await c.start("arch")
        turn = await c.submit(member, GATE)
        await c.model.wait_for_gate("gate")
        first = turn.thread_id
        assert await c.find(first) is member
        c.model.release("gate")
        assert (await ended(turn)).content == "The gate is open."
        assert (member.agent.thread_id, member.agent.turns) == (first, 1)

        killed(c.team._threads)
        await asyncio.wait_for(lost(member), PATIENCE)
        found = await c.find("arch")
        assert (await c.ask(found, say("I am new here."))).content == "I am new here."
        assert found.agent.thread_id not in (None, first)


async def lost(member: Member) -> None:
    while member.thread is None or not member.thread.gone:  # noqa: ASYNC110  nobody is told
        await asyncio.sleep(0)


def always(decision: Decision) -> Callable[[Question], Coroutine[Any, Any, Decision]]:
    async def decide(_: Question) -> Decision:
        return decision

    return decide


def killed(threads: Threads) -> None:
    pid = threads.supervisor.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
