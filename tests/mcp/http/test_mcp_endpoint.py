"""`/mcp` for clients with a handshake, over real sockets: what a client sends, and what it sees."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from codex_mcp.mcp.http.channel import INBOX
from tests.support.http.echo_methods import serving, within
from tests.support.http.mcp_client import BOTH, SESSION, Door, initialize, notification, request, shake_hands

# -- with a handshake -------------------------------------------------------------------------------------------------


async def test_a_session_begins_with_initialize_and_its_id_goes_with_every_request(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, accept=BOTH)
        first = await door.ask("POST", initialize())
        assert (first.status, first.headers["content-type"]) == (200, "application/json")
        assert msgspec.json.decode(first.body)["result"]["protocolVersion"] == "2025-11-25"

        assert (await door.ask("POST", request(1, "echo"))).status == 400
        again = await door.ask("POST", request(1, "echo", a=1), mcp_session_id=first.headers[SESSION])
        assert msgspec.json.decode(again.body)["result"] == {"echo": {"a": 1}}
        assert again.headers[SESSION] == first.headers[SESSION]


async def test_what_is_no_request_is_accepted_without_an_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        for message in (notification("notifications/anything"), {"jsonrpc": "2.0", "id": 7, "result": {}}):
            answer = await door.ask("POST", message)
            assert (answer.status, answer.body) == (202, b"")


async def test_a_call_that_says_something_first_is_answered_by_a_stream(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "talk", count=2)) as events:
            priming, first, second, answer, end = [await events.next() for _ in range(5)]
        assert priming is not None
        assert (priming.data, priming.retry) == ("", "1000")
        assert first is not None
        assert second is not None
        assert answer is not None
        assert [event.message.get("params") for event in (first, second)] == [{"number": 0}, {"number": 1}]
        assert answer.message["result"] == {"talked": {"count": 2}}
        assert end is None
        assert len({priming.id, first.id, second.id, answer.id}) == 4


@pytest.mark.parametrize(
    ("revision", "is_primed"),
    [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", False), ("2025-11-25", True)],
)
async def test_only_sessions_that_know_it_get_an_event_without_a_message(
    tmp_path: Path, revision: str, *, is_primed: bool
) -> None:
    """Older SDKs parse its empty data as JSON, and disconnect. A restored session is of the same revision."""
    async with serving(tmp_path) as (server, _):
        door = await shake_hands(server.port, revision)
        async with door.stream("POST", request(1, "talk")) as events:
            first = await events.next()
    async with serving(tmp_path) as (server, _):
        door.port, door.headers["host"] = server.port, f"127.0.0.1:{server.port}"
        async with door.stream("POST", request(2, "talk")) as events:
            again = await events.next()
    for event in (first, again):
        assert event is not None
        assert (event.data == "", event.id != "") == (is_primed, True)


async def test_who_does_not_take_streams_gets_the_answer_alone_and_the_rest_on_its_get_stream(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        async with door.stream("GET") as events:
            answer = await door.post(request(1, "talk", count=1), accept="application/json")
            assert answer["result"] == {"talked": {"count": 1}}
            assert (await events.message())["params"] == {"number": 0}


async def test_a_question_comes_on_the_stream_of_its_request_and_is_answered_by_a_post(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port, capabilities={"roots": {}})
        async with door.stream("GET") as standing, door.stream("POST", request(1, "ask")) as events:
            question = await events.message()
            assert question["method"] == "roots/list"
            answered = await door.ask("POST", {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
            assert answered.status == 202
            assert (await events.message())["result"] == {"answered": '{"roots":[]}'}
            session = server.hub.find("local", door.headers[SESSION])
            assert session is not None
            session.session.client.notify("marker", {})
            assert (await standing.message())["method"] == "marker", "nothing of the call was here"


async def test_a_client_that_cannot_answer_is_not_asked(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        answer = await door.post(request(1, "ask"))
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"roots": {}}}


async def test_an_id_that_is_in_use_is_refused_and_its_request_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request("same", "hold")) as events:
            await within(methods.held.get())
            second = await door.ask("POST", request("same", "echo"))
            assert second.status == 400
            assert msgspec.json.decode(second.body)["id"] == "same"
            methods.gate.set()
            assert (await events.rest())[-1]["result"] == {"held": "same"}


async def test_two_sessions_may_use_the_same_ids(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        one, two = await shake_hands(server.port), await shake_hands(server.port)
        async with one.stream("POST", request(1, "hold")) as events:
            await within(methods.held.get())
            assert (await two.post(request(1, "echo", of="two")))["result"] == {"echo": {"of": "two"}}
            methods.gate.set()
            assert (await events.rest())[-1]["result"] == {"held": 1}


async def test_a_deleted_session_is_not_found_any_more_and_what_ran_in_it_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, interrupt_grace=0.01) as (server, methods):
        door = await shake_hands(server.port)
        async with door.stream("GET") as standing, door.stream("POST", request(1, "hold")) as events:
            await within(methods.held.get())
            assert (await door.ask("DELETE")).status == 200
            assert (await events.rest())[-1]["error"]["code"] == -32603
            assert await standing.rest() == []
        for method in ("POST", "GET", "DELETE"):
            assert (await door.ask(method, request(2, "echo") if method == "POST" else None)).status == 404


async def test_a_session_id_that_we_did_not_make_is_not_found(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        ours = door.headers[SESSION]
        for other in ("x", ours[:-1], f"{ours}A", ours.swapcase()):
            assert (await door.ask("POST", request(1, "echo"), mcp_session_id=other)).status == 404


async def test_a_session_is_taken_up_by_a_server_with_the_same_key(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port, capabilities={"elicitation": {}})
    async with serving(tmp_path) as (server, _methods):
        door.port = server.port
        door.headers["host"] = f"127.0.0.1:{server.port}"
        async with door.stream("GET", last_event_id="s:9") as events:
            assert (await door.post(request(1, "echo")))["result"] == {"echo": {}}
            session = server.hub.find("local", door.headers[SESSION])
            assert session is not None
            assert session.session.client.name == "tests"
            assert session.session.client.capabilities == {"elicitation": {}}
            session.session.client.notify("marker", {})
            assert (await events.message())["method"] == "marker"


# -- connections that break -------------------------------------------------------------------------------------------


async def test_a_post_that_was_cut_off_goes_on_and_is_read_to_its_end_by_a_get(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "hold")) as events:
            await events.next()
            note = await events.next()
            assert note is not None
            assert note.message["params"] == {"held": 1}
        methods.gate.set()
        async with door.stream("GET", last_event_id=note.id) as events:
            assert [message.get("params") or message.get("result") for message in await events.rest()] == [
                {"released": 1},
                {"held": 1},
            ]
        assert methods.cancelled.empty()


async def test_it_can_be_read_again_after_its_end_from_any_event(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "talk", count=3)) as events:
            ids = [event.id for event in [await events.next() for _ in range(5)] if event is not None]
        for place, event_id in enumerate(ids):
            async with door.stream("GET", last_event_id=event_id) as events:
                assert len(await events.rest()) == len(ids) - 1 - place


async def test_a_get_stream_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        session = server.hub.find("local", door.headers[SESSION])
        assert session is not None
        async with door.stream("GET") as events:
            session.session.client.notify("one", {})
            session.session.client.notify("two", {})
            await events.next()
            one = await events.next()
            assert one is not None
        session.session.client.notify("three", {})
        async with door.stream("GET", last_event_id=one.id) as events:
            assert [(await events.message())["method"] for _ in range(2)] == ["two", "three"]


@pytest.mark.parametrize("last", ["", ":", "x", "STREAM", "STREAM:x", "p1:1", "STREAM:-1", "STREAM:9999999999", "x:²"])
async def test_an_event_id_that_means_nothing_begins_the_standing_stream(tmp_path: Path, last: str) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        session = server.hub.find("local", door.headers[SESSION])
        assert session is not None
        event_id = last.replace("STREAM", session.channel.standing.name)
        async with door.stream("GET", last_event_id=event_id) as events:
            session.session.client.notify("marker", {})
            assert (await events.message())["method"] == "marker"


async def test_the_newest_get_has_the_stream_and_the_one_before_ends(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        session = server.hub.find("local", door.headers[SESSION])
        assert session is not None
        async with door.stream("GET") as old:
            await old.next()
            async with door.stream("GET") as new:
                assert await old.rest() == []
                session.session.client.notify("marker", {})
                assert (await new.message())["method"] == "marker"


# -- what is refused --------------------------------------------------------------------------------------------------


async def test_a_full_inbox_is_told_to_come_later(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        session = server.hub.find("local", door.headers[SESSION])
        assert session is not None
        await stop_processing(session.session.id)
        for _ in range(INBOX):
            assert (await door.ask("POST", notification("n"))).status == 202
        for message in (notification("n"), request(1, "echo"), request(1, "echo")):
            refused = await door.ask("POST", message)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")


async def stop_processing(session_id: str) -> None:
    """Let a session handle no more messages, as if it were stuck."""
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == f"session {session_id}")
    task.cancel()
    await asyncio.wait([task])


async def test_too_many_sessions_are_told_to_come_later(tmp_path: Path) -> None:
    async with serving(tmp_path, max_sessions=1) as (server, _methods):
        door = await shake_hands(server.port)
        refused = await Door(server.port, accept=BOTH).ask("POST", initialize())
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert (await door.ask("DELETE")).status == 200
        await shake_hands(server.port)


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", b"{", {}, 400),
        ("POST", b"\xff", {}, 400),
        ("POST", b"[]", {}, 400),
        ("POST", b"[" * 100_000, {}, 400),
        ("POST", b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":[' + b"[]," * 200_000 + b"0]}}", {}, 400),
        ("POST", b"{}", {}, 400),
        ("POST", b'{"jsonrpc":"1.0","id":1,"method":"echo"}', {}, 400),
        ("POST", b"{}", {"content_type": "text/plain"}, 415),
        ("POST", b" " * 2000 + b"{}", {}, 413),
        ("POST", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', {}, 400),
        ("GET", None, {"accept": "application/json"}, 406),
        ("PUT", b"{}", {}, 405),
        ("OPTIONS", None, {}, 405),
        ("POST", b"{}", {"host": "evil.example"}, 421),
        ("POST", b"{}", {"origin": "https://evil.example"}, 403),
    ],
)
async def test_what_is_wrong_is_refused_with_a_sentence(
    tmp_path: Path, method: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    async with serving(tmp_path, max_body_bytes=1000 if status == 413 else 10**6) as (server, _methods):
        door = await shake_hands(server.port)
        refused = await door.ask(method, body, **headers)
        assert refused.status == status
        assert len(msgspec.json.decode(refused.body)["error"]["message"].split()) >= 2
        assert (await door.post(request(1, "echo")))["result"] == {"echo": {}}


async def test_with_strict_sessions_nobody_gets_a_stream_without_one(tmp_path: Path) -> None:
    async with serving(tmp_path, strict_sessions=True) as (server, _methods):
        assert (await Door(server.port, accept=BOTH).ask("GET")).status == 400


async def test_a_client_can_shut_its_own_session_down_and_others_go_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        leaving, staying = await shake_hands(server.port), await shake_hands(server.port)
        async with (
            leaving.stream("GET") as standing,
            leaving.stream("POST", request(1, "hold")) as events,
            staying.stream("POST", request(1, "hold")) as others,
        ):
            assert await methods.held.get() == await methods.held.get() == 1
            assert (await leaving.post(request(2, "shutdown")))["result"] == {}
            assert [message["id"] for message in await events.rest() if "id" in message] == [1]
            assert await standing.rest() == []
            assert (await leaving.ask("POST", request(3, "echo"))).status == 404
            assert (await staying.post(request(2, "echo")))["result"] == {"echo": {}}
            methods.gate.set()
            assert (await others.rest())[-1]["result"] == {"held": 1}
        assert (await Door(server.port, "/readyz").ask("GET")).status == 200


@pytest.mark.parametrize("fill", [10, 100_000])
async def test_a_long_event_before_an_answer_that_comes_at_once_is_not_taken_for_the_answer(
    tmp_path: Path, fill: int
) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "talk", count=2, fill=fill)) as events:
            heard = await events.rest()
        assert [message.get("method", "answer") for message in heard] == ["note", "note", "answer"]
