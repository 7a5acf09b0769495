"""An old Codex whose end of the channel the test holds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CannotResume, Core, CoreError, CoreLost, NotSteerable, ThreadSpec, TurnSpec
from codex_mcp.codex.legacy.calls import NO_SUBAGENTS, UNOWNED
from codex_mcp.codex.legacy.core import LegacyCore, OldRelease
from codex_mcp.wire.legacy import LegacyApproval
from tests.support.core.cores import Listener, no_pace
from tests.support.rpc.far_end import FarEnd, Json
from tests.support.rpc.memory_channel import memory_pair
from tests.support.settings import make_settings

TOOLS = [
    {"name": "codex", "inputSchema": {"properties": {"prompt": {}, "config": {}, "model": {}}}},
    {"name": "codex-reply", "inputSchema": {"properties": {"prompt": {}, "threadId": {}}}},
]


@dataclass(slots=True)
class Old(FarEnd):
    """The old Codex's end."""

    core: LegacyCore
    listener: Listener
    tasks: TaskSet

    async def shake_hands(self) -> list[Json]:
        shaking = self.tasks.spawn(self.core.initialize(), name="initialize")
        heard = [await self.hear()]
        self.say(id=heard[0]["id"], result={"serverInfo": {"version": "0.153.4", "user_agent": "old/0.153.4"}})
        heard += [await self.hear(), await self.hear()]
        self.say(id=heard[2]["id"], result={"tools": TOOLS})
        assert (await shaking).user_agent == "old/0.153.4"
        return heard

    def event(self, call: int, thread: str, turn: str, kind: str, **fields: object) -> None:
        params = {"_meta": {"requestId": call, "threadId": thread}, "id": turn, "msg": {"type": kind, **fields}}
        self.say(method="codex/event", params=params)

    async def begin(self, thread_id: str, turn: str = "a") -> Json:
        """Let a turn begin; return the call."""
        starting = self.tasks.spawn(self.core.start_turn(thread_id, TurnSpec("do")), name="turn")
        call = await self.hear()
        self.event(call["id"], "own", turn, "task_started", turn_id=turn)
        assert await starting == turn
        return call

    async def new_thread(self) -> str:
        return (await self.core.start_thread(ThreadSpec())).thread_id

    async def told(self, method: str) -> None:
        await self.listener.changes.until(lambda: any(told == method for _, told in self.listener.notifications))


@contextlib.asynccontextmanager
async def old(**changed: object) -> AsyncIterator[Old]:
    near, far = memory_pair()
    listener, tasks = Listener(), TaskSet()
    settings = make_settings(codex_home="/nowhere", **changed)
    core = LegacyCore(near, listener, settings.core, no_pace, OldRelease("0.153.4", {"server": {"key": 1}}))
    tasks.spawn(core.run(), name="old codex")
    o = Old(far, core, listener, tasks)
    try:
        yield o
    finally:
        await core.aclose()
        await tasks.aclose()


async def test_hands_are_shaken_and_its_tools_are_asked_for_once() -> None:
    async with old() as o:
        core: Core = o.core
        heard = await o.shake_hands()
    assert [message["method"] for message in heard] == ["initialize", "notifications/initialized", "tools/list"]
    assert "start a new one with codex" in core.after_loss
    assert core.why_lost("any") == f"Codex has ended. {core.after_loss}"


async def test_a_first_turn_is_a_call_of_codex_and_the_thread_is_named_before_anything_is_told_of_it() -> None:
    async with old() as o:
        await o.shake_hands()
        opened = await o.core.start_thread(ThreadSpec(model="m", sandbox="read-only"))
        assert opened.is_provisional
        call = await o.begin(opened.thread_id)
        assert call["params"] == {
            "name": "codex",
            "arguments": {"prompt": "do", "model": "m", "config": {"server.key": 1, **UNOWNED, **NO_SUBAGENTS}},
        }
        assert o.listener.named == [(opened.thread_id, "own")]
        assert o.listener.notifications == [("own", "codex/event")]
        found = await o.core.resume_thread("own", ThreadSpec())
        assert (found.thread_id, found.is_provisional) == ("own", False)


async def test_the_next_turn_is_a_reply() -> None:
    async with old() as o:
        await o.shake_hands()
        before = o.core.leaves
        call = await o.begin(await o.new_thread())
        assert (before, o.core.leaves) == (True, False)
        o.event(call["id"], "own", "a", "task_complete", turn_id="a")
        o.say(id=call["id"], result={"content": [{"type": "text", "text": "done"}]})
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 2)
        reply = await o.begin("own", "b")
        assert reply["params"] == {"name": "codex-reply", "arguments": {"threadId": "own", "prompt": "do"}}


async def test_a_preface_goes_before_the_prompt() -> None:
    async with old() as o:
        await o.shake_hands()
        spec = TurnSpec("do", preface="You are new here.")
        o.tasks.spawn(o.core.start_turn(await o.new_thread(), spec), name="turn")
        assert (await o.hear())["params"]["arguments"]["prompt"] == "You are new here.\n\ndo"


async def test_a_thread_of_another_process_cannot_be_resumed() -> None:
    async with old() as o:
        for call in (o.core.resume_thread("x", ThreadSpec()), o.core.start_turn("x", TurnSpec("do"))):
            with pytest.raises(CannotResume, match=r"Codex 0\.153\.4 cannot resume thread x: .* start a new one"):
                await call


async def test_what_is_refused_before_the_turn_begins_is_an_error_and_may_be_tried_again() -> None:
    async with old() as o:
        await o.shake_hands()
        thread = await o.new_thread()
        starting = o.tasks.spawn(o.core.start_turn(thread, TurnSpec("do")), name="turn")
        o.say(id=(await o.hear())["id"], result={"content": [{"type": "text", "text": "bad config"}], "isError": True})
        with pytest.raises(CoreError, match="bad config"):
            await starting
        await o.begin(thread)


async def test_a_model_error_is_told_as_the_end_of_the_turn_and_the_thread_is_given_up() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        assert (o.core.why_lost("own"), o.core.why_lost("nobody")) == ("", "")
        o.event(call["id"], "own", "a", "error", message="no quota")
        o.say(id=call["id"], result={"content": [{"type": "text", "text": "no quota"}], "isError": True})
        await o.told("turn/completed")
        assert "after a failed turn" in o.core.why_lost("own")
        for call_of_it in (o.core.start_turn("own", TurnSpec("do")), o.core.resume_thread("own", ThreadSpec())):
            with pytest.raises(CannotResume, match="after a failed turn"):
                await call_of_it


async def test_a_thread_that_is_busy_takes_no_second_prompt() -> None:
    async with old() as o:
        await o.shake_hands()
        await o.begin(await o.new_thread())
        with pytest.raises(CoreError, match="still busy with a turn of thread own"):
            await o.core.start_turn("own", TurnSpec("do"))


async def test_an_interrupt_cancels_the_call_of_the_turn_that_runs_and_of_no_other() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        await o.core.interrupt_turn("own", "another")
        await o.core.interrupt_turn("own", "a")
        cancelled = await o.hear()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == call["id"]


async def test_a_turn_that_does_not_begin_in_time_is_cancelled() -> None:
    async with old(request_timeout=1.5) as o:
        await o.shake_hands()
        starting = o.tasks.spawn(o.core.start_turn(await o.new_thread(), TurnSpec("do")), name="turn")
        call = await o.hear()
        with pytest.raises(CoreError, match=r"did not begin the turn within 1\.5 seconds"):
            await starting
        assert (await o.hear())["params"]["requestId"] == call["id"]


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_turn_that_begins_after_it_was_given_up_is_cancelled_then_and_the_thread_goes_on(
    *, is_first: bool
) -> None:
    async with old(request_timeout=1.5) as o:
        await o.shake_hands()
        thread = await o.new_thread()
        if not is_first:
            o.event((await o.begin(thread))["id"], "own", "a", "turn_aborted", turn_id="a")
            thread = "own"
        starting = o.tasks.spawn(o.core.start_turn(thread, TurnSpec("do")), name="turn")
        call = await o.hear()
        with pytest.raises(CoreError, match="did not begin the turn"):
            await starting
        await o.hear()  # a cancellation that this Codex does not heed
        o.event(call["id"], "own", "b", "task_started", turn_id="b")
        cancelled = await o.hear()
        assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", call["id"])
        o.event(call["id"], "own", "b", "turn_aborted", turn_id="b")
        assert (await o.begin("own", "c"))["params"]["name"] == "codex-reply"


async def test_who_waits_for_a_turn_hears_that_it_is_gone() -> None:
    async with old() as o:
        await o.shake_hands()
        starting = o.tasks.spawn(o.core.start_turn(await o.new_thread(), TurnSpec("do")), name="turn")
        await o.hear()
        await o.channel.aclose()
        with pytest.raises(CoreLost):
            await starting


async def test_a_question_goes_on_with_the_event_that_announced_it_and_its_answer_comes_back() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())

        async def approve() -> object:
            return {"decision": "approved"}

        o.listener.answer = approve
        o.event(call["id"], "own", "a", "exec_approval_request", call_id="c", reason="why")
        asked = {"codex_elicitation": "exec-approval", "threadId": "own", "codex_call_id": "c"}
        o.say(id=0, method="elicitation/create", params=asked)
        assert (await o.hear())["result"] == {"decision": "approved"}
        (whole,) = o.listener.asked
        announced = {"type": "exec_approval_request", "call_id": "c", "reason": "why"}
        assert whole == msgspec.convert({"elicitation": asked, "announced": announced}, LegacyApproval)


@pytest.mark.parametrize("params", [{}, {"codex_elicitation": "exec-approval", "threadId": "nobody"}])
async def test_a_question_that_cannot_be_handed_on_is_denied_and_never_an_error(params: Json) -> None:
    async with old() as o:
        o.say(id=0, method="elicitation/create", params=params)
        assert "denied" in (await o.hear())["result"]["decision"]


async def test_other_requests_are_not_offered() -> None:
    async with old() as o:
        o.say(id=0, method="roots/list", params={})
        assert (await o.hear())["error"]["message"] == "roots/list is not offered here"


async def test_the_end_of_a_turn_takes_its_questions_back() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        forever: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        async def wait() -> object:
            return await forever

        o.listener.answer = wait
        o.say(id=0, method="elicitation/create", params={"codex_elicitation": "exec-approval", "threadId": "own"})
        await o.listener.changes.until(lambda: bool(o.listener.questions))
        o.event(call["id"], "own", "a", "turn_aborted", turn_id="a")
        await o.told("QuestionWithdrawn")
        forever.cancel()


async def test_a_question_that_nobody_can_answer_ends_the_turn_as_a_failure() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        o.event(call["id"], "own", "a", "elicitation_request", server_name="inner")
        assert (await o.hear())["method"] == "notifications/cancelled"
        o.event(call["id"], "own", "a", "turn_aborted", turn_id="a")
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 4)
        assert [method for _, method in o.listener.notifications[-2:]] == ["TurnEnded", "codex/event"]


@pytest.mark.parametrize(("said", "failed"), [(None, True), ("It worked in the end.", False)])
async def test_an_end_that_does_not_tell_of_the_error_before_it_is_a_failure_all_the_same(
    said: str | None, *, failed: bool
) -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        o.event(call["id"], "own", "a", "error", message="no quota")
        o.event(call["id"], "own", "a", "task_complete", turn_id="a", last_agent_message=said)
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 3 + failed)
        assert (("own", "TurnEnded") in o.listener.notifications) is failed


async def test_events_of_nobody_and_other_notifications_are_passed_over() -> None:
    async with old() as o:
        await o.shake_hands()
        o.event(77, "nobody", "z", "warning")
        o.say(method="notifications/tools/list_changed")
        o.say(method="codex/event", params={"_meta": {}, "msg": {"type": "warning"}})
        await o.begin(await o.new_thread())
        assert o.listener.notifications == [("own", "codex/event")]


async def test_tokens_are_told_once_for_each_change() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        for total in (5, 5, 8):
            o.event(call["id"], "own", "a", "token_count", info={"total_token_usage": {"total_tokens": total}})
        o.event(call["id"], "own", "a", "task_complete", turn_id="a")
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 7)
        assert [method for _, method in o.listener.notifications].count("TokensCounted") == 2


async def test_what_it_cannot_do_is_said_or_does_nothing() -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        o.event(call["id"], "own", "a", "exec_command_begin", call_id="c", command=["ls"])
        o.event(call["id"], "own", "a", "exec_command_begin", call_id="d", command=["ls"])
        o.event(call["id"], "own", "a", "exec_command_end", call_id="d", command=["ls"])
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 4)
        assert await o.core.running_commands("own") == {"c": "c"}
        await o.core.terminate_command("own", "c")  # there is none to be found
        await o.core.unload_thread("own")
        await o.core.unload_thread("nobody's")
        assert (await o.core.resume_thread("own", ThreadSpec())).thread_id == "own"
        unused = await o.new_thread()
        await o.core.unload_thread(unused)
        with pytest.raises(CannotResume):
            await o.core.resume_thread(unused, ThreadSpec())
        assert not (await o.core.account()).requires_openai_auth
        with pytest.raises(CoreError, match="does not offer thread/list; use Codex"):
            await o.core.request("thread/list", {}, object)
        with pytest.raises(NotSteerable, match="takes no input while a turn runs"):
            await o.core.steer_turn("own", "turn", [])
        with pytest.raises(CoreError, match="takes nothing but prompts"):
            await o.core.tell_model("own", {})


async def test_an_error_of_the_protocol_is_an_error_of_the_core() -> None:
    async with old() as o:
        shaking = o.tasks.spawn(o.core.initialize(), name="initialize")
        o.say(id=(await o.hear())["id"], error={"code": -32600, "message": "called more than once"})
        with pytest.raises(CoreError, match="called more than once"):
            await shaking


async def test_a_greeting_that_cannot_be_read_is_an_error_of_the_core() -> None:
    async with old() as o:
        shaking = o.tasks.spawn(o.core.initialize(), name="initialize")
        o.say(id=(await o.hear())["id"], result={})
        await o.hear()
        o.say(id=(await o.hear())["id"], result={"tools": [{"name": "codex", "inputSchema": None}]})
        with pytest.raises(CoreError, match="answered tools/list in a form that this release cannot read"):
            await shaking


async def test_an_event_that_cannot_be_read_is_passed_over_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with old() as o:
        await o.shake_hands()
        call = await o.begin(await o.new_thread())
        o.event(call["id"], "own", "a", "token_count", info=7)
        o.event(call["id"], "own", "a", "agent_message", message="still here")
        await o.listener.changes.until(lambda: len(o.listener.notifications) == 2)
    (line,) = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert (line.levelname, line.exc_info) == ("WARNING", None)
    assert "cannot read an event of Codex" in line.getMessage()


@pytest.mark.parametrize("answer", [{"error": {"code": -32601, "message": "method not found"}}, {"result": 7}])
async def test_an_answer_that_is_no_result_fails_the_turn(answer: Json) -> None:
    async with old() as o:
        await o.shake_hands()
        starting = o.tasks.spawn(o.core.start_turn(await o.new_thread(), TurnSpec("do")), name="turn")
        o.say(id=(await o.hear())["id"], **answer)
        with pytest.raises(CoreError, match=r"method not found|cannot read"):
            await starting
