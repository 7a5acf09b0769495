"""Typed calls to an app-server whose end of the channel the test holds."""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import msgspec
import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.app_server import OVERLOAD_DELAYS, AppServer
from codex_mcp.codex.core import (
    BadThreadId,
    ConfigRefused,
    CoreError,
    CoreLost,
    OpenedThread,
    ThreadNotFound,
    ThreadSpec,
    TurnSpec,
)
from codex_mcp.wire.app.requests import TextInput
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, SERVER_BUSY
from tests.support.clock import Clock, run_with_clock
from tests.support.core.cores import Listener, no_pace
from tests.support.rpc.far_end import FarEnd, Json
from tests.support.rpc.memory_channel import memory_pair
from tests.support.settings import make_settings

Call = Callable[[AppServer], Awaitable[object]]


@dataclass(slots=True)
class Core(FarEnd):
    """The app-server's end."""

    app: AppServer
    listener: Listener
    tasks: TaskSet

    async def serve(self, call: Call, **answer: object) -> object:
        """Make a call, and answer it."""
        calling = self.tasks.spawn(_of(call(self.app)), name="call")
        self.say(id=(await self.hear_call())["id"], **answer)
        return await calling

    async def hear_call(self) -> Json:
        """The next request. A thread that is resumed has no goal."""
        asked = await self.hear()
        if asked["method"] == "thread/goal/get":
            self.say(id=asked["id"], result={"goal": None})
            asked = await self.hear()
        return asked


async def _of(awaitable: Awaitable[object]) -> object:
    return await awaitable


@contextlib.asynccontextmanager
async def core(**changed: object) -> AsyncIterator[Core]:
    near, far = memory_pair()
    listener, tasks = Listener(), TaskSet()
    settings = make_settings(codex_home="/nowhere", **changed)
    app = AppServer(near, listener, settings.core, no_pace)
    tasks.spawn(app.run(), name="app-server")
    try:
        yield Core(far, app, listener, tasks)
    finally:
        await app.aclose()
        await tasks.aclose()


async def test_hands_are_shaken_before_anything_else() -> None:
    async with core() as c:
        shaking = c.tasks.spawn(c.app.initialize(), name="initialize")
        asked = await c.hear()
        c.say(id=asked["id"], result={"userAgent": "codex/0.163.0", "codexHome": "/h"})
        assert (await shaking).user_agent == "codex/0.163.0"
        assert (await c.hear())["method"] == "initialized"
    assert asked["method"] == "initialize"
    assert asked["params"]["clientInfo"]["name"] == "codex-mcp-server"
    assert asked["params"]["capabilities"]["experimentalApi"] is True


SPEC = ThreadSpec(cwd="/x", model="m", approval_policy="never", sandbox="read-only", config={"a.b": 1}, raw_events=True)
SAID: Json = {"cwd": "/x", "model": "m", "approvalPolicy": "never", "sandbox": "read-only", "config": {"a.b": 1}}
OPENED: Json = {"thread": {"id": "t"}, "cwd": "/x"}
READING = ThreadSpec(sandbox="read-only")


@pytest.mark.parametrize(
    ("call", "method", "params", "result", "returned"),
    [
        (lambda app: app.start_thread(READING), "thread/start", {"sandbox": "read-only"}, OPENED, ("t", "/x")),
        (
            lambda app: app.start_thread(SPEC),
            "thread/start",
            {**SAID, "experimentalRawEvents": True},
            OPENED,
            ("t", "/x"),
        ),
        (
            lambda app: app.resume_thread("t", SPEC),
            "thread/resume",
            {**SAID, "threadId": "t", "excludeTurns": True},
            OPENED,
            ("t", "/x"),
        ),
        (
            lambda app: app.start_turn("t", TurnSpec("hi", ("/a.png", "data:x"), {"type": "object"})),
            "turn/start",
            {
                "threadId": "t",
                "input": [
                    {"type": "text", "text": "hi"},
                    {"type": "localImage", "path": "/a.png"},
                    {"type": "image", "url": "data:x"},
                ],
                "outputSchema": {"type": "object"},
            },
            {"turn": {"id": "u"}},
            "u",
        ),
        (lambda app: app.interrupt_turn("t", "u"), "turn/interrupt", {"threadId": "t", "turnId": "u"}, {}, None),
        (
            lambda app: app.steer_turn("t", "u", [TextInput("more")]),
            "turn/steer",
            {"threadId": "t", "expectedTurnId": "u", "input": [{"type": "text", "text": "more"}]},
            {"turnId": "u"},
            None,
        ),
        (
            lambda app: app.tell_model("t", {"type": "message"}),
            "thread/inject_items",
            {"threadId": "t", "items": [{"type": "message"}]},
            {},
            None,
        ),
        (
            lambda app: app.running_commands("t"),
            "thread/backgroundTerminals/list",
            {"threadId": "t"},
            {"data": [{"itemId": "i", "processId": "7", "command": "ls", "cwd": "/"}], "nextCursor": None},
            {"i": "7"},
        ),
        (
            lambda app: app.terminate_command("t", "7"),
            "thread/backgroundTerminals/terminate",
            {"threadId": "t", "processId": "7"},
            {},
            None,
        ),
        (lambda app: app.unload_thread("t"), "thread/unsubscribe", {"threadId": "t"}, {}, None),
        (lambda app: app.account(), "account/read", {"refreshToken": False}, {"account": None}, None),
    ],
)
async def test_each_call_is_the_right_request(
    call: Call, method: str, params: Json, result: Json, returned: object
) -> None:
    async with core() as c:
        calling = c.tasks.spawn(_of(call(c.app)), name="call")
        asked = await c.hear_call()
        c.say(id=asked["id"], result=result)
        answer = await calling
    assert (asked["method"], asked["params"]) == (method, params)
    if method.startswith("thread/start") or method == "thread/resume":
        assert (getattr(answer, "thread_id", ""), getattr(answer, "cwd", "")) == returned
    elif method == "turn/start":
        assert answer == returned


@pytest.mark.parametrize(("status", "is_paused"), [("active", True), ("paused", False), ("complete", False)])
async def test_an_active_goal_is_paused_before_its_thread_is_resumed(status: str, is_paused: bool) -> None:  # noqa: FBT001
    async with core() as c:
        resuming = c.tasks.spawn(c.app.resume_thread("t", READING), name="resume")
        asked = [await c.hear()]
        goal = {"threadId": "t", "objective": "all green", "status": status, "tokensUsed": 0, "timeUsedSeconds": 0}
        c.say(id=asked[-1]["id"], result={"goal": goal})
        if is_paused:
            asked.append(await c.hear())
            assert asked[-1]["params"] == {"threadId": "t", "status": "paused"}
            c.say(id=asked[-1]["id"], result={"goal": goal})
        asked.append(await c.hear())
        c.say(id=asked[-1]["id"], result=OPENED)
        assert (await resuming).paused_goal == ("" if status == "complete" else "all green")
    set_goal = ["thread/goal/set"] if is_paused else []
    assert [each["method"] for each in asked] == ["thread/goal/get", *set_goal, "thread/resume"]


async def test_a_thread_that_may_write_starts_read_only_and_is_granted_its_sandbox_then() -> None:
    async with core() as c:
        starting = c.tasks.spawn(c.app.start_thread(ThreadSpec(cwd="/x", sandbox="workspace-write")), name="start")
        asked = await c.hear()
        assert (asked["method"], asked["params"]) == ("config/read", {"cwd": "/x", "includeLayers": True})
        c.say(id=asked["id"], result={"config": {"sandbox_workspace_write": {"network_access": True}}, "layers": []})
        asked = await c.hear()
        assert (asked["method"], asked["params"]) == ("thread/start", {"cwd": "/x", "sandbox": "read-only"})
        c.say(id=asked["id"], result={**OPENED, "sandbox": {"type": "readOnly"}})
        asked = await c.hear()
        assert asked["method"] == "thread/settings/update"
        policy = asked["params"]["sandboxPolicy"]
        assert (policy["type"], policy["networkAccess"]) == ("workspaceWrite", True)
        c.say(id=asked["id"], result={})
        opened = await starting
    assert opened.answer is not None
    assert msgspec.to_builtins(opened.answer.sandbox) == policy


async def test_a_thread_that_cannot_be_granted_its_sandbox_is_let_go() -> None:
    async with core() as c:
        starting = c.tasks.spawn(c.app.start_thread(ThreadSpec(sandbox="danger-full-access")), name="start")
        c.say(id=(await c.hear())["id"], result=OPENED)
        c.say(id=(await c.hear())["id"], error={"code": -32600, "message": "not allowed here"})
        asked = await c.hear()
        assert (asked["method"], asked["params"]) == ("thread/unsubscribe", {"threadId": "t"})
        c.say(id=asked["id"], result={})
        with pytest.raises(CoreError, match="not allowed here"):
            await starting


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ("failed to load configuration: no such profile", ConfigRefused, "no such profile"),
        ("no rollout found for thread id x", ThreadNotFound, "no rollout found for thread id x"),
        ("thread not found: x", ThreadNotFound, "thread not found: x"),
        ("invalid session id: x", BadThreadId, "x"),
        ("invalid thread id: x", BadThreadId, "x"),
        ("something else", CoreError, "something else"),
    ],
)
async def test_a_refusal_is_told_apart_by_its_text(message: str, kind: type[CoreError], text: str) -> None:
    async with core() as c:
        with pytest.raises(CoreError) as caught:
            await c.serve(lambda app: app.unload_thread("x"), error={"code": -32600, "message": message})
    assert (type(caught.value), str(caught.value)) == (kind, text)


@pytest.mark.parametrize(
    "call", [lambda app: app.start_thread(READING), lambda app: app.start_turn("t", TurnSpec("hi"))]
)
async def test_an_answer_of_an_unknown_form_is_an_error_of_the_core(call: Call) -> None:
    async with core() as c:
        with pytest.raises(CoreError, match="in a form that this release cannot read"):
            await c.serve(call, result={"thread": 5, "turn": 5})


@pytest.mark.parametrize(
    "wrong",
    [
        {"sandbox": {"type": 5}},
        {"model": None},
        {"reasoningEffort": 5},
        {"collaborationMode": "plan"},
        {"thread": {"id": "t", "path": "/r.jsonl", "sessionId": 5}},
    ],
)
async def test_a_field_that_only_events_show_does_not_stop_a_thread_from_opening(wrong: Json) -> None:
    result = {"thread": {"id": "t", "path": "/r.jsonl"}, "cwd": "/x", "sandbox": {"type": "readOnly"}, **wrong}
    async with core() as c:
        for call in (lambda app: app.start_thread(READING), lambda app: app.resume_thread("t", READING)):
            assert await c.serve(call, result=result) == OpenedThread("t", "/x", "/r.jsonl", answer=None)


@pytest.mark.parametrize("wrong", [{"cwd": 5}, {"thread": {"id": 5}}, {"thread": {"id": "t", "path": 5}}])
async def test_a_thread_does_not_open_without_its_id_path_and_folder(wrong: Json) -> None:
    async with core() as c:
        with pytest.raises(CoreError, match="Codex answered thread/start in a form that this release cannot read"):
            await c.serve(lambda app: app.start_thread(READING), result={**OPENED, **wrong})


async def test_a_thread_without_readable_settings_is_granted_its_sandbox_all_the_same() -> None:
    async with core() as c:
        starting = c.tasks.spawn(c.app.start_thread(ThreadSpec(sandbox="danger-full-access")), name="start")
        c.say(id=(await c.hear())["id"], result={**OPENED, "model": 5})
        asked = await c.hear()
        c.say(id=asked["id"], result={})
        assert (await starting).answer is None
    assert (asked["method"], asked["params"]["sandboxPolicy"]) == (
        "thread/settings/update",
        {"type": "dangerFullAccess"},
    )


async def test_an_overloaded_core_is_asked_again_but_not_for_ever() -> None:
    busy = {"code": SERVER_BUSY, "message": "overloaded"}
    async with core() as c:
        calling = c.tasks.spawn(c.app.unload_thread("t"), name="call")
        c.say(id=(await c.hear())["id"], error=busy)
        c.say(id=(await c.hear())["id"], result={})
        await calling

        giving_up = c.tasks.spawn(c.app.unload_thread("t"), name="call")
        for _ in range(len(OVERLOAD_DELAYS) + 1):
            c.say(id=(await c.hear())["id"], error=busy)
        with pytest.raises(CoreError, match="overloaded"):
            await giving_up


async def test_a_core_that_does_not_answer_is_given_up() -> None:
    async with core(request_timeout=0.05) as c:
        with pytest.raises(CoreError, match=r"Codex did not answer thread/unsubscribe within 0\.05 seconds"):
            await c.app.unload_thread("t")


def test_an_answer_that_arrives_in_the_moment_when_the_time_is_up_counts() -> None:
    """The core is not ended for having been late: its caller only has not run yet."""

    @run_with_clock
    async def _(clock: Clock) -> None:
        async with core(request_timeout=30) as c:
            calling = c.tasks.spawn(c.app.request("thread/loaded/list", {}, dict[str, object]), name="call")
            asked = await c.hear()
            c.say(id=asked["id"], result={"data": []})
            clock.jump(30)
            assert await calling == {"data": []}


async def test_a_request_with_its_own_timeout_may_take_longer_and_holds_no_other_back() -> None:
    async with core(request_timeout=0.05, max_requests_in_flight=1) as c:
        long = c.tasks.spawn(c.app.request("command/exec", {}, dict[str, object], 600), name="long")
        asked = await c.hear()
        with pytest.raises(CoreError, match="did not answer thread/unsubscribe"):
            await c.app.unload_thread("t")
        c.say(id=asked["id"], result={"exitCode": 0})
        assert await long == {"exitCode": 0}


async def test_a_core_that_ends_leaves_nobody_waiting() -> None:
    async with core() as c:
        calling = c.tasks.spawn(c.app.unload_thread("t"), name="call")
        await c.hear()
        await c.channel.aclose()
        with pytest.raises(CoreLost, match="Codex ended before it answered thread/unsubscribe"):
            await calling


async def test_no_more_requests_are_open_than_the_core_can_take() -> None:
    async with core(max_requests_in_flight=1) as c:
        first = c.tasks.spawn(c.app.unload_thread("one"), name="call")
        second = c.tasks.spawn(c.app.unload_thread("two"), name="call")
        asked = await c.hear()
        c.say(id="meanwhile", method="item/fileChange/requestApproval", params={"threadId": "t"})
        assert (await c.hear())["id"] == "meanwhile"  # and not the second request
        c.say(id=asked["id"], result={})
        await first
        c.say(id=(await c.hear())["id"], result={})
        await second


async def test_what_happens_is_told_with_the_thread_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with core() as c:
        c.say(method="turn/started", params={"threadId": "t", "turn": {"id": "u"}})
        c.say(method="account/updated", params={"threadId": None})
        c.say(method="odd", params=[1])  # cannot be read, and is passed over
        c.say(method="turn/completed", params={"threadId": "t", "turn": 5})
        c.say(method="configWarning", params={"summary": "Invalid configuration"})
        await c.listener.changes.until(lambda: len(c.listener.notifications) == 3)
    assert c.listener.notifications == [
        ("t", "turn/started"),
        ("", "account/updated"),
        ("", "configWarning"),
    ]
    assert "Invalid configuration" in caplog.text


async def test_a_question_of_a_thread_is_answered_by_its_listener() -> None:
    async def answer() -> object:
        return {"decision": "accept"}

    async with core() as c:
        c.listener.answer = answer
        c.say(id=0, method="item/fileChange/requestApproval", params={"threadId": "t"})
        assert (await c.hear())["result"] == {"decision": "accept"}
    assert c.listener.questions == [("t", 0, "item/fileChange/requestApproval")]


async def test_a_question_of_no_thread_is_not_offered_here() -> None:
    async with core() as c:
        c.say(id=0, method="account/chatgptAuthTokens/refresh", params={})
        assert (await c.hear())["error"]["code"] == METHOD_NOT_FOUND
    assert c.listener.questions == []
