"""All threads of a server, on the real Codex: opened, found, asked about, put away and brought back."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import BadThreadId, ConfigRefused, CoreError, ThreadNotFound, ThreadSpec, TurnSpec
from codex_mcp.codex.launch import launcher
from codex_mcp.state.embedded.owners import EmbeddedOwners
from codex_mcp.threads.limits.account import NOT_SIGNED_IN
from codex_mcp.threads.loading import EARLY_NOTIFICATIONS
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from tests.support.core.app_events import heard
from tests.support.core.cores import Watcher, environment_below, no_pace, scripted_threads, settings_below
from tests.support.core.questions import COMMAND, asked
from tests.support.patience import PATIENCE

GATE = "[[scene: gate]]"
UNKNOWN = "01990000-0000-7000-8000-000000000000"
ACCEPTED = {"decision": "accept"}
DECLINED = {"decision": "decline"}


def say(text: str) -> str:
    return f'[[scene: say text="{text}"]]'


def submit(thread: Thread, prompt: str, watcher: Watcher | None = None) -> Turn:
    return thread.submit(TurnSpec(prompt), watcher or Watcher(), full_events=False)


async def run(thread: Thread, prompt: str) -> Outcome:
    turn = submit(thread, prompt)
    outcome = await turn.wait(PATIENCE)
    assert turn.ended, turn
    turn.mark_delivered()
    return outcome


def tell(threads: Threads, thread_id: str, method: str, **params: object) -> None:
    threads.notification_received(thread_id, *heard(method, threadId=thread_id, **params))


async def ask(threads: Threads, thread_id: str) -> object:
    return await threads.question_received(1, asked(Method.EXEC, COMMAND, threadId=thread_id))


async def test_threads_are_started_found_and_told_apart(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        threads.supervisor.warm_up()
        one, two = await asyncio.gather(threads.start(ThreadSpec()), threads.start(ThreadSpec()))
        assert one.id != two.id
        assert set(threads) == {one, two}
        assert await threads.find(one.id) is one
        assert (threads.known(two.id), threads.known(UNKNOWN)) == (two, None)
        outcomes = await asyncio.gather(run(one, say("one")), run(two, say("two")))
    assert [outcome.content for outcome in outcomes] == ["one", "two"]


async def test_a_thread_is_one_however_its_id_is_written(tmp_path: Path) -> None:
    """Else the second spelling would take the thread's place, and whoever waits for the first would wait for ever."""
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        for spelling in (thread.id.upper(), thread.id.replace("-", ""), f"urn:uuid:{thread.id}", f"{{{thread.id}}}"):
            assert await threads.find(spelling) is thread
            assert threads.known(spelling) is thread
        model.release("gate")
        await turn.wait(PATIENCE)
        assert turn.ended
        turn.mark_delivered()


async def test_a_thread_of_another_life_is_found_on_disk_by_all_who_ask_at_once(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await threads.start(ThreadSpec())
        await run(thread, say("remember this"))
    async with scripted_threads(tmp_path) as (threads, model):
        found = await asyncio.gather(*(threads.find(thread.id) for _ in range(3)))
        assert len(set(map(id, found))) == 1
        assert found[0].id == thread.id
        assert (await run(found[0], say("back"))).content == "back"
        assert b"remember this" in model.requests[-1].body


@pytest.mark.parametrize(("thread_id", "kind"), [(UNKNOWN, ThreadNotFound), ("no id at all", BadThreadId)])
async def test_a_thread_that_is_not_there_is_not_found(tmp_path: Path, thread_id: str, kind: type[CoreError]) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        told = await asyncio.gather(threads.find(thread_id), threads.find(thread_id), return_exceptions=True)
        assert [type(error) for error in told] == [kind, kind]
        assert list(threads) == []


async def test_a_broken_configuration_is_told_and_a_mended_one_works(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        config = tmp_path / "home/.codex/config.toml"
        config.write_text("model = [")
        with pytest.raises(ConfigRefused):
            await threads.start(ThreadSpec())
        config.write_text("")
        assert (await run(await threads.start(ThreadSpec()), say("mended"))).content == "mended"


async def test_who_is_not_signed_in_is_told_at_once(tmp_path: Path) -> None:
    settings = settings_below(tmp_path)
    threads = Threads(settings.core, settings.calls, launcher(settings.core, environment_below(tmp_path)), no_pace)
    try:
        with pytest.raises(CoreError) as caught:
            await threads.start(ThreadSpec())
        assert str(caught.value) == NOT_SIGNED_IN
        provider = {"name": "x", "base_url": "http://127.0.0.1:9/v1"}
        config = {"model_provider": "x", "model_providers.x": provider}
        assert (await threads.start(ThreadSpec(config=config))).idle
    finally:
        await threads.aclose()


async def test_who_signs_in_meanwhile_can_start_a_thread(tmp_path: Path) -> None:
    settings, environment = settings_below(tmp_path), environment_below(tmp_path)
    threads = Threads(settings.core, settings.calls, launcher(settings.core, environment), no_pace)
    try:
        with pytest.raises(CoreError, match="not signed in"):
            await threads.start(ThreadSpec())
        login = [sys.executable, "-m", "codex_mcp", "login", "--with-api-key"]
        await asyncio.to_thread(subprocess.run, login, env=environment, input=b"sk-test", check=True, timeout=PATIENCE)
        assert (await threads.start(ThreadSpec())).idle
        assert threads.supervisor.last_exit is None
    finally:
        await threads.aclose()


@pytest.mark.parametrize(
    ("text", "said", "sandbox"),
    [
        ("[projects\n", "config.toml:1:10: unclosed table", None),
        ('model_provider = "nope"\n', "Model provider `nope` not found: the likely cause is that this is Codex", None),
        ('approval_policy = "sometimes"\n', "config.toml:1:19: unknown variant `sometimes`", "danger-full-access"),
    ],
)
async def test_a_broken_configuration_is_told_before_that_somebody_must_sign_in(
    tmp_path: Path, text: str, said: str, sandbox: str | None
) -> None:
    settings = settings_below(tmp_path)
    config = tmp_path / "home/.codex/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)
    threads = Threads(settings.core, settings.calls, launcher(settings.core, environment_below(tmp_path)), no_pace)
    try:
        with pytest.raises(ConfigRefused) as caught:
            await threads.start(ThreadSpec(sandbox=sandbox))
        assert said in str(caught.value)
    finally:
        await threads.aclose()


async def test_what_is_said_of_a_thread_before_it_is_open_is_not_lost(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        first = await threads.start(ThreadSpec())
        await run(first, say("one"))
        await threads.unload_idle(float("inf"))
        assert list(threads) == []

        async with asyncio.TaskGroup() as group:
            finding = group.create_task(threads.find(first.id))
            while not threads.early.opens:  # noqa: ASYNC110  nobody is told
                await asyncio.sleep(0)
            item = {"type": "agentMessage", "id": "i", "text": "early"}
            for _ in range(EARLY_NOTIFICATIONS + 5):
                tell(threads, first.id, "item/completed", turnId="", item=item)
            tell(threads, UNKNOWN, "item/completed", turnId="", item=item)
        watcher, thread = Watcher(), await finding
        turn = submit(thread, say("two"), watcher)
        await turn.wait(PATIENCE)
        assert 0 < sum(event.msg.get("message") == "early" for event in watcher.events) <= EARLY_NOTIFICATIONS
        assert len(threads.early) == 0


async def test_what_is_said_of_the_core_as_a_whole_is_told_to_threads_that_are_busy(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        busy, idle = await threads.start(ThreadSpec()), await threads.start(ThreadSpec())
        watcher, past = Watcher(), Watcher()
        await submit(idle, say("one"), past).wait(PATIENCE)
        turn = submit(busy, GATE, watcher)
        await model.wait_for_gate("gate")
        seen = len(past.events)
        tell(threads, "", "warning", message="the disk is full")
        model.release("gate")
        await turn.wait(PATIENCE)
    assert "the disk is full" in [event.msg.get("message") for event in watcher.events]
    assert len(past.events) == seen


async def test_the_question_of_an_agent_that_ours_started_goes_to_our_person(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread, watcher = await threads.start(ThreadSpec()), Watcher()
        turn = submit(thread, GATE, watcher)
        await model.wait_for_gate("gate")
        tell(threads, "child", "thread/started", thread={"id": "child", "parentThreadId": thread.id})
        tell(threads, "grandchild", "thread/started", thread={"id": "grandchild", "parentThreadId": "child"})
        tell(threads, "odd", "thread/started", thread=5)
        for one, other in [("a", "b"), ("b", "a")]:
            tell(threads, one, "thread/started", thread={"id": one, "parentThreadId": other})

        assert [await ask(threads, name) for name in (thread.id, "child", "grandchild")] == [ACCEPTED] * 3
        assert [await ask(threads, name) for name in ("stranger", "odd", "a")] == [DECLINED] * 3
        tell(threads, "child", "thread/closed")
        assert await ask(threads, "child") == DECLINED
        model.release("gate")
        await turn.wait(PATIENCE)
    assert len(watcher.questions) == 3


async def test_a_question_that_comes_with_the_end_of_the_turn_of_its_parent_is_asked(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread, watcher = await threads.start(ThreadSpec()), Watcher()
        turn = submit(thread, GATE, watcher)
        await model.wait_for_gate("gate")
        child = {"id": "turn of the child", "rootTurnId": turn.place.turn_id, "items": [], "status": "inProgress"}
        tell(threads, "child", "turn/started", turn=child)
        question = threads.question_received(1, asked(Method.EXEC, COMMAND, threadId="child"))
        model.release("gate")
        assert (await turn.wait(PATIENCE)).status is Status.COMPLETED
        assert await question == ACCEPTED
        tell(threads, "child", "turn/completed", turn={**child, "status": "completed"})
        await thread.until_idle()
    assert len(watcher.questions) == 1


async def test_a_core_that_died_takes_its_agents_with_it(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        tell(threads, "child", "thread/started", thread={"id": "child", "parentThreadId": thread.id})
        pid = threads.supervisor.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await turn.wait(PATIENCE)
        assert await ask(threads, "child") == DECLINED


async def test_an_idle_thread_is_unloaded_and_comes_back_with_its_settings(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        spec = ThreadSpec(developer_instructions="Speak in rhymes.", config={"tools.update_plan.enabled": True})
        idle, busy = await threads.start(spec), await threads.start(ThreadSpec())
        await run(idle, say("one"))
        turn = submit(busy, GATE)
        await model.wait_for_gate("gate")

        await threads.unload_idle(time.monotonic())
        assert set(threads) == {idle, busy}
        await threads.unload_idle(float("inf"))
        assert set(threads) == {busy}

        again = await threads.find(idle.id)
        assert again is not idle
        assert again.spec == spec
        assert (await run(again, say("two"))).content == "two"
        assert b"update_plan" in model.requests[-1].body
        model.release("gate")
        await turn.wait(PATIENCE)


async def test_a_thread_whose_core_dies_while_it_is_loaded_comes_back_in_the_next_one_with_its_settings(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        spec = ThreadSpec(config={"tools.update_plan.enabled": True})
        thread = await threads.start(spec)
        await run(thread, say("one"))
        await threads.unload_idle(float("inf"))
        pid = threads.supervisor.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        async with asyncio.TaskGroup() as group:
            finding = group.create_task(threads.find(thread.id))
            while not threads.early.opens:  # noqa: ASYNC110  nobody is told
                await asyncio.sleep(0)
            os.kill(pid, signal.SIGKILL)
        assert finding.result().spec == spec
        assert threads.supervisor.starts == 2


async def test_an_answer_that_nobody_has_seen_keeps_its_thread_here_unless_there_are_too_many(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, finished_turns_kept=1) as (threads, _model):
        first = await threads.start(ThreadSpec())
        await submit(first, say("unseen")).wait(PATIENCE)
        await threads.unload_idle(float("inf"))
        assert list(threads) == [first]
        second = await threads.start(ThreadSpec())
        await submit(second, say("unseen too")).wait(PATIENCE)
        await threads.unload_idle(float("inf"))
        assert list(threads) == [second]


async def test_idle_threads_are_looked_for_from_time_to_time(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, thread_idle=0.05) as (threads, _model):
        thread = await threads.start(ThreadSpec())
        await run(thread, say("one"))
        async with asyncio.timeout(PATIENCE):
            while list(threads):  # noqa: ASYNC110  nobody is told
                await asyncio.sleep(0.01)
        assert (await run(await threads.find(thread.id), say("two"))).content == "two"


async def test_closing_answers_everybody(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        await threads.aclose()
        assert (turn.ended, turn.outcome.content) == (True, "the server has stopped")
        await threads.aclose()


async def test_a_thread_that_gets_its_own_id_is_known_by_that_alone_and_keeps_its_owner(tmp_path: Path) -> None:
    owners = EmbeddedOwners(str(tmp_path))
    await owners.open()
    async with scripted_threads(tmp_path) as (threads, _model):
        threads._owners = owners
        thread = await threads.start(ThreadSpec(), "ada")
        provisional = thread.id
        turn = submit(thread, GATE)
        threads.thread_named("nobody", "else")
        threads.thread_named(provisional, UNKNOWN)
        known = threads.known(UNKNOWN, "ada"), threads.known(UNKNOWN), threads.known(provisional, "ada")
        assert known == (thread, None, None)
        assert {thread.id, turn.thread_id} == {UNKNOWN}
    assert await owners.owner(UNKNOWN) == "ada"
    await owners.aclose()


async def test_a_thread_that_nobody_waits_for_any_longer_is_opened_all_the_same_and_unloaded(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        first = await threads.start(ThreadSpec())
        await run(first, say("one"))
        await threads.unload_idle(float("inf"))
        pid, tasks = threads.supervisor.pid, TaskSet()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        tasks.spawn(threads.start(ThreadSpec()), name="start")
        tasks.spawn(threads.find(first.id), name="find")
        while threads.early.opens < 2:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0)
        await tasks.aclose()
        os.kill(pid, signal.SIGCONT)
        async with asyncio.timeout(PATIENCE):
            while len(list(threads)) < 2:  # noqa: ASYNC110  nobody is told
                await asyncio.sleep(0.01)
        assert all(thread.idle for thread in threads)
        await threads.unload_idle(float("inf"))
        assert list(threads) == []
        assert (await run(await threads.find(first.id), say("two"))).content == "two"


async def test_who_waits_for_a_thread_when_the_server_ends_is_told_so(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        await threads.start(ThreadSpec())
        pid, tasks = threads.supervisor.pid, TaskSet()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        starting = tasks.spawn(threads.start(ThreadSpec()), name="start")
        while not threads.early.opens:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0)
        await threads.aclose()
        with pytest.raises(CoreError):
            await starting


async def test_a_thread_can_be_opened_with_other_settings_and_be_archived(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await threads.start(ThreadSpec())
        threads.callers.note("a caller", thread.id)
        await run(thread, say("one"))
        held = submit(thread, GATE)
        await model.wait_for_gate("gate")
        with pytest.raises(Refused, match="is in use"):
            await threads.change(thread.id, ThreadSpec(model="another"))
        model.release("gate")
        await held.wait(PATIENCE)
        held.mark_delivered()
        await threads.change(thread.id, ThreadSpec(model="another"))
        again = await threads.find(thread.id)
        assert again is not thread
        assert again.spec.model == "another"
        threads.archived(thread.id)
        assert not threads.callers.has("a caller", thread.id)
