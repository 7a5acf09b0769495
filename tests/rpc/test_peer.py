"""Two ends of a conversation: every request is answered exactly once, whatever happens at either end."""

import asyncio
import logging

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.channel import Frame, FrameKind, UnreadableFrame
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, invalid_params, request_failed
from codex_mcp.rpc.peer import PACED_BYTES, PACED_FRAMES, Handlers, Peer
from codex_mcp.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    SERVER_BUSY,
    ErrorObject,
    Id,
    Notification,
    Request,
)
from tests.support.core.cores import no_pace
from tests.support.rpc.memory_channel import MemoryChannel
from tests.support.rpc.talk import MAX_REQUESTS, talk


async def test_a_request_is_answered_with_what_its_handler_returns() -> None:
    async with talk() as t:
        t.ask("a", "hello")
        assert await t.hear() == {"jsonrpc": "2.0", "id": "a", "result": {"echo": "hello"}}


async def test_a_handler_may_take_its_time_and_later_requests_are_not_held_up() -> None:
    door = asyncio.Event()

    async def slow() -> object:
        await door.wait()
        return "slow"

    async with talk(lambda request: slow() if request.method == "slow" else "quick") as t:
        t.ask(1, "slow")
        t.ask(2, "quick")
        assert (await t.hear())["id"] == 2
        door.set()
        assert await t.hear() == {"jsonrpc": "2.0", "id": 1, "result": "slow"}


async def test_a_handler_answers_with_an_error_by_raising_it() -> None:
    async def later() -> object:
        raise request_failed(-7, "not today", {"day": "Monday"})

    def handler(request: Request) -> object:
        if request.method == "later":
            return later()
        raise request_failed(-6, "never")

    async with talk(handler) as t:
        t.ask(1, "now")
        assert (await t.hear())["error"] == {"code": -6, "message": "never"}
        t.ask(2, "later")
        assert (await t.hear())["error"] == {"code": -7, "message": "not today", "data": {"day": "Monday"}}


@pytest.mark.parametrize("method", ["now", "later", "unwritable", "unwritable error"])
async def test_what_goes_wrong_in_a_handler_is_logged_and_its_text_stays_off_the_wire(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def later() -> object:
        raise ValueError("the secret reason")

    def handler(request: Request) -> object:
        match request.method:
            case "later":
                return later()
            case "unwritable":
                return {"text": "\ud800"}
            case "unwritable error":
                raise request_failed(1, "no", object())
            case "now":
                raise ValueError("the secret reason")
        return "well"

    async with talk(handler) as t:
        t.ask(1, method)
        error = (await t.hear())["error"]
        t.ask(2, "another")
        assert (await t.hear())["result"] == "well"
    assert error["code"] == INTERNAL_ERROR
    assert method in error["message"]
    assert "secret" not in error["message"]
    assert f"cannot answer {method}" in caplog.text


async def test_a_notification_that_cannot_be_handled_does_not_end_the_conversation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(message: Notification) -> None:
        raise ValueError("the reason")

    async with talk(on_notification=fail) as t:
        t.say(b'{"jsonrpc":"2.0","method":"bad news"}')
        t.ask(1)
        assert (await t.hear())["id"] == 1
    assert "cannot handle bad news" in caplog.text


async def test_an_id_that_still_runs_is_refused_and_its_request_still_answered() -> None:
    door = asyncio.Event()

    async def wait() -> object:
        await door.wait()
        return "first"

    async with talk(lambda request: wait()) as t:
        t.ask(1)
        t.ask(1)
        assert (await t.hear())["error"]["code"] == INVALID_REQUEST
        door.set()
        assert (await t.hear())["result"] == "first"
        t.ask(1)
        assert (await t.hear())["result"] == "first"


async def test_more_requests_than_may_run_are_refused() -> None:
    door = asyncio.Event()

    async def wait() -> object:
        await door.wait()
        return None

    async with talk(lambda request: wait()) as t:
        for number in range(MAX_REQUESTS + 1):
            t.ask(number)
        refused = await t.hear()
        assert (refused["id"], refused["error"]["code"]) == (MAX_REQUESTS, SERVER_BUSY)
        door.set()
        assert sorted([(await t.hear())["id"] for _ in range(MAX_REQUESTS)]) == list(range(MAX_REQUESTS))


async def test_whoever_closes_answers_what_runs() -> None:
    async def wait() -> object:
        await asyncio.Event().wait()
        return None

    async with talk(lambda request: wait()) as t:
        t.ask(1)
        t.ask(2, "m")
        await t.all_met()
        await t.peer.aclose()
        answers = [await t.hear(), await t.hear()]
    assert {answer["id"]: answer["error"]["code"] for answer in answers} == {1: INTERNAL_ERROR, 2: INTERNAL_ERROR}


async def test_a_request_whose_work_has_not_begun_at_the_close_is_answered_too() -> None:
    closing = TaskSet()

    async def never_begun() -> object:
        raise AssertionError("it was closed before")

    def handler(request: Request) -> object:
        closing.spawn(t.peer.aclose(), name="close")  # stands before the work in the loop's queue
        return never_begun()

    async with talk(handler) as t:
        t.ask(1)
        assert (await t.hear())["error"]["message"] == "the server stopped before the request was done"
        assert await t.far.receive() == []


async def test_who_stops_accepting_refuses_what_is_new_and_may_still_ask() -> None:
    door = asyncio.Event()

    async def wait() -> object:
        await door.wait()
        return "done"

    async with talk(lambda request: wait()) as t:
        t.ask(1)
        await t.all_met()
        t.peer.stop_accepting()
        t.ask(2)
        assert (await t.hear())["error"]["code"] == SERVER_BUSY
        question = t.peer.start("may I?", {})
        assert (await t.hear())["method"] == "may I?"
        t.say(b'{"jsonrpc":"2.0","id":1,"result":true}')
        assert msgspec.json.decode(await question.answer) is True
        door.set()
        assert (await t.hear())["result"] == "done"


async def test_frames_of_one_read_are_met_in_order_before_any_work_goes_on() -> None:
    order: list[str] = []
    answered = asyncio.Event()
    one_read: list[Frame] = [
        b'{"jsonrpc":"2.0","id":1,"method":"begun"}',
        UnreadableFrame("it was too large"),
        b'{"jsonrpc":"2.0","method":"cancelled"}',
    ]

    class OneRead(MemoryChannel):
        async def receive(self) -> list[Frame]:
            frames, one_read[:] = list(one_read), []
            return frames

        def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
            order.append(frame.decode())
            if b'"result"' in frame:
                answered.set()

    async def work() -> object:
        order.append("work")
        return None

    def begin(request: Request) -> object:
        order.append(request.method)
        return work()

    handlers = Handlers(begin, lambda message: order.append(message.method))
    peer = Peer(OneRead(), handlers, max_requests=1, pace=no_pace)
    await peer.run()
    await answered.wait()
    assert order[0] == "begun"
    assert "it was too large" in order[1]
    assert order[2:4] == ["cancelled", "work"]
    await peer.aclose()


async def test_we_ask_and_are_answered() -> None:
    async with talk() as t, asyncio.TaskGroup() as group:
        asking = group.create_task(t.peer.call("question", {"a": 1}))
        assert await t.hear() == {"jsonrpc": "2.0", "id": 0, "method": "question", "params": {"a": 1}}
        t.say(b'{"jsonrpc":"2.0","id":0,"result":{"b":2}}')
        assert await asking == Raw(b'{"b":2}')


async def test_we_ask_and_are_refused() -> None:
    async with talk() as t:
        pending = t.peer.start("question", {})
        t.say(b'{"jsonrpc":"2.0","id":0,"error":{"code":-3,"message":"no"}}')
        with pytest.raises(RequestFailed, match="no") as caught:
            await pending.answer
        assert caught.value.error.code == -3


async def test_whoever_waits_for_an_answer_hears_of_the_end() -> None:
    async with talk() as t:
        impatient, pending = t.peer.start("question", {}), t.peer.start("question", {})
        impatient.answer.cancel()
        await t.far.aclose()
        with pytest.raises(ConnectionLost):
            await pending.answer
        with pytest.raises(ConnectionLost):
            await t.peer.call("another", {})


async def test_nobody_need_wait_for_an_answer() -> None:
    async with talk() as t:
        pending = t.peer.start("question", {})
        t.peer.forget(pending)
        t.peer.forget(pending)
        assert pending.answer.cancelled()


async def test_answers_that_come_late_twice_or_for_nothing_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with talk() as t:
        forgotten, kept, impatient = (t.peer.start("question", {}) for _ in range(3))
        t.peer.forget(forgotten)
        impatient.answer.cancel()
        t.say(
            b'{"jsonrpc":"2.0","id":0,"result":"late"}',
            b'{"jsonrpc":"2.0","id":99,"result":"for nothing"}',
            b'{"jsonrpc":"2.0","id":"1","result":"another id"}',
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
            b'{"jsonrpc":"2.0","id":2,"result":"nobody waits"}',
            b'{"jsonrpc":"2.0","id":1,"result":"once"}',
            b'{"jsonrpc":"2.0","id":1,"result":"twice"}',
        )
        assert msgspec.json.decode(await kept.answer) == "once"
        t.ask(5)
        for _ in range(3):
            await t.hear()  # the questions
        assert (await t.hear())["id"] == 5
    assert caplog.text.count("which is not (or no longer) open") == 5


@pytest.mark.parametrize(
    ("frame", "message_id", "code"),
    [(b"hello", None, PARSE_ERROR), (b"[]", None, INVALID_REQUEST), (b'{"jsonrpc":"2.0","id":7}', 7, INVALID_REQUEST)],
)
async def test_what_cannot_be_read_is_answered_with_the_reason(frame: bytes, message_id: int | None, code: int) -> None:
    async with talk() as t:
        t.say(frame)
        answer = await t.hear()
        assert (answer["id"], answer["error"]["code"]) == (message_id, code)


async def test_a_notification_goes_out_with_or_without_parameters() -> None:
    async with talk() as t:
        t.peer.notify("bare")
        t.peer.notify("full", {"a": 1})
        assert [await t.hear(), await t.hear()] == [
            {"jsonrpc": "2.0", "method": "bare"},
            {"jsonrpc": "2.0", "method": "full", "params": {"a": 1}},
        ]


async def test_the_reader_is_held_back_while_the_pace_says_so() -> None:
    door = asyncio.Event()
    async with talk(pace=door.wait) as t:
        for number in range(PACED_FRAMES + 1):
            t.ask(number)
        for number in range(PACED_FRAMES):
            assert (await t.hear())["id"] == number
        assert "0 theirs" in repr(t.peer)
        door.set()
        assert (await t.hear())["id"] == PACED_FRAMES


async def test_one_large_message_holds_the_reader_back_as_well() -> None:
    door = asyncio.Event()
    async with talk(pace=door.wait) as t:
        t.ask(1, "m" * PACED_BYTES)
        t.ask(2)
        assert (await t.hear())["id"] == 1
        assert "0 theirs" in repr(t.peer)
        door.set()
        assert (await t.hear())["id"] == 2


async def test_closing_twice_is_fine() -> None:
    async with talk() as t:
        await t.peer.aclose()
        await t.peer.aclose()
        await t.running


BEHAVIOURS = st.sampled_from(["value", "raise", "refuse", "later", "later raise", "never"])


@given(st.lists(st.tuples(st.integers(0, 5), BEHAVIOURS), max_size=12))
async def test_every_request_has_exactly_one_answer_whatever_its_handler_does(requests: list[tuple[int, str]]) -> None:
    async def work(behaviour: str) -> object:
        if behaviour == "never":
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if behaviour == "later raise":
            raise ValueError(behaviour)
        return behaviour

    def handler(request: Request) -> object:
        if request.method == "raise":
            raise ValueError(request.method)
        if request.method == "refuse":
            raise request_failed(1, "no")
        return request.method if request.method == "value" else work(request.method)

    logging.disable(logging.ERROR)
    try:
        async with talk(handler) as t:
            for number, behaviour in requests:
                t.ask(number, behaviour)
            await t.all_met()
            await t.peer.aclose()
            answered = [(await t.hear())["id"] for _ in requests]
    finally:
        logging.disable(logging.NOTSET)
    assert sorted(answered) == sorted(number for number, _ in requests)


def test_a_failed_request_is_read_as_its_message_and_written_as_its_error() -> None:
    error = request_failed(-5, "no such thing", {"name": "x"})
    assert isinstance(error, RequestFailed)
    assert str(error) == "no such thing"
    assert error.error == ErrorObject(-5, "no such thing", {"name": "x"})
    assert request_failed(-5, "no").error.data is UNSET


def test_parameters_that_do_not_fit_have_their_own_code() -> None:
    assert invalid_params("a prompt is missing").error == ErrorObject(
        INVALID_PARAMS, "Invalid params: a prompt is missing"
    )
