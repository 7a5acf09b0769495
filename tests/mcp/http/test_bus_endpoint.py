"""`/`: any id finds or creates its session, and every listener gets every message."""

from pathlib import Path

import msgspec
import pytest

from codex_mcp.mcp.http.channel import INBOX
from tests.support.http.echo_methods import serving, within
from tests.support.http.mcp_client import SESSION, Door, initialize, notification, request, shake_hands


async def test_without_an_id_a_session_is_made_and_its_id_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        one = await Door(server.port, "/").ask("POST", request(1, "echo"))
        two = await Door(server.port, "/").ask("POST", request(1, "echo"))
        assert one.status == 200
        assert msgspec.json.decode(one.body)["result"] == {"echo": {}}
        assert one.headers[SESSION] != two.headers[SESSION]


async def test_any_id_finds_or_makes_its_session_and_comes_back_with_every_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="my-own")
        assert (await door.ask("POST", initialize())).headers[SESSION] == "my-own"
        noted = await door.ask("POST", notification("notifications/initialized"))
        assert (noted.status, noted.body, noted.headers[SESSION]) == (204, b"", "my-own")
        assert (await door.post(initialize()))["error"]["message"] == "initialize called more than once"
        assert len(server.hub) == 1


async def test_the_answer_is_json_whatever_the_client_accepts(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x", accept="text/event-stream")
        assert (await door.post(request(1, "talk", count=3)))["result"] == {"talked": {"count": 3}}


async def test_every_listener_hears_every_message_the_answers_too(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("GET") as one, door.stream("GET") as two:
            assert one.headers[SESSION] == "x"
            answer = await door.post(request(1, "talk", count=1))
            for events in (one, two):
                note = await events.next()
                assert note is not None
                assert note.id == "", "there is nothing to come back to"
                assert note.message["params"] == {"number": 0}
                assert await events.message() == answer


async def test_other_sessions_hear_nothing_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        one, two = (Door(server.port, "/", mcp_session_id=name) for name in ("one", "two"))
        async with two.stream("GET") as events:
            await one.post(request(1, "talk", count=3))
            await two.post(request(9, "echo"))
            assert (await events.message())["id"] == 9


async def test_a_post_stream_has_every_message_of_the_session_until_its_own_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("POST", request("held", "hold"), x_mcp_post_stream="1") as events:
            assert events.headers[SESSION] == "x"
            await within(methods.held.get())
            await door.post(request("other", "echo"))
            methods.gate.set()
            assert [message.get("id") or message["params"] for message in await events.rest()] == [
                {"held": "held"},
                "other",
                {"released": "held"},
                "held",
            ]


async def test_only_the_number_one_asks_for_a_stream(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        for value in ("0", "true", ""):
            await door.post(request(1, "echo"), x_mcp_post_stream=value)


async def test_a_question_goes_to_the_listeners_and_any_post_answers_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        await door.post(initialize(capabilities={"roots": {}}))
        async with door.stream("GET") as events, door.stream("POST", request(5, "ask"), x_mcp_post_stream="1") as post:
            question = await events.message()
            assert await post.message() == question
            answered = await door.ask("POST", {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
            assert answered.status == 204
            assert (await events.message())["id"] == 5
            assert [message["id"] for message in await post.rest()] == [5]


async def test_a_listener_that_goes_away_cancels_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("POST", request(1, "hold"), x_mcp_post_stream="1"):
            await within(methods.held.get())
        async with door.stream("GET") as events:
            methods.gate.set()
            assert (await events.until(id=1))["result"] == {"held": 1}
        assert methods.cancelled.empty()


async def test_an_id_that_is_in_use_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("POST", request(1, "hold"), x_mcp_post_stream="1") as events:
            await within(methods.held.get())
            assert (await door.ask("POST", request(1, "echo"))).status == 400
            methods.gate.set()
            assert (await events.rest())[-1]["result"] == {"held": 1}


async def test_a_slow_listener_is_told_how_many_it_missed_and_the_others_hear_everything(tmp_path: Path) -> None:
    many, size = 400, 100_000
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        session = server.hub.make("local", "x")
        async with door.stream("GET") as slow, door.stream("GET") as quick:
            for number in range(many):
                session.session.client.notify("note", {"number": number, "fill": "x" * size})
                assert (await quick.message())["params"]["number"] == number
            answer = await door.post(request("end", "echo"))
            heard, missed = 0, 0
            while (message := await slow.message()) != answer:
                if message["method"] == "codex/dropped":
                    missed += message["params"]["count"]
                else:
                    heard += 1
            assert missed > 0
            assert heard + missed == many


async def test_a_deleted_session_ends_its_listeners_and_its_id_makes_a_new_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        await door.post(initialize())
        async with door.stream("GET") as events:
            assert (await door.ask("DELETE")).status == 204
            assert await events.rest() == []
        assert "result" in await door.post(initialize())


async def test_a_full_inbox_is_told_to_come_later(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        session = server.hub.make("local", "x")
        await session.peer.aclose()  # nobody looks at its inbox any more
        door = Door(server.port, "/", mcp_session_id="x")
        while session.channel.waiting < INBOX:
            assert (await door.ask("POST", notification("n"))).status == 204
        refused = await door.ask("POST", request(1, "echo"))
        assert (refused.status, refused.headers["retry-after"], refused.headers[SESSION]) == (503, "1", "x")


async def test_with_strict_sessions_only_ids_that_we_made_are_found(tmp_path: Path) -> None:
    async with serving(tmp_path, strict_sessions=True) as (server, _methods):
        door = Door(server.port, "/")
        made = (await door.ask("POST", request(1, "echo"))).headers[SESSION]
        assert (await door.ask("POST", request(2, "echo"), mcp_session_id=made)).status == 200
        assert (await door.ask("POST", request(2, "echo"), mcp_session_id="my-own")).status == 404


async def test_a_session_of_the_other_door_can_be_heard_here(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        client = await shake_hands(server.port)
        async with Door(server.port, "/", mcp_session_id=client.headers[SESSION]).stream("GET") as events:
            await client.post(request(7, "echo"))
            assert (await events.message())["id"] == 7


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", b"{", {}, 400),
        ("POST", b"[]", {}, 400),
        ("POST", b"{}", {"content_type": "text/plain"}, 415),
        ("POST", b"{}", {"mcp_session_id": "with space"}, 400),
        ("POST", b'{"jsonrpc":"2.0","id":1,"method":"echo"}', {"mcp_session_id": "x" * 1025}, 400),
        ("GET", None, {"mcp_session_id": "é"}, 400),
        ("PUT", b"{}", {}, 405),
    ],
)
async def test_what_is_wrong_is_refused_with_a_sentence(
    tmp_path: Path, method: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    async with serving(tmp_path) as (server, _methods):
        refused = await Door(server.port, "/").ask(method, body, **headers)
        assert refused.status == status
        assert len(msgspec.json.decode(refused.body)["error"]["message"].split()) >= 2


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [("POST", b"{", 400), ("POST", b"[]", 400), ("POST", b" " * 2000, 413), ("PUT", b"{}", 405), ("DELETE", None, 204)],
)
async def test_every_answer_names_its_session(tmp_path: Path, method: str, body: bytes | None, status: int) -> None:
    async with serving(tmp_path, max_body_bytes=1000) as (server, _methods):
        answer = await Door(server.port, "/", mcp_session_id="x").ask(method, body)
        assert (answer.status, answer.headers[SESSION]) == (status, "x")
        answer = await Door(server.port, "/").ask(method, body)
        assert (answer.status, len(answer.headers[SESSION])) == (status, 36)


async def test_an_answer_that_refuses_makes_no_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        await Door(server.port, "/", mcp_session_id="x").ask("POST", b"{")
        assert len(server.hub) == 0


async def test_whoever_listens_hears_that_the_session_was_shut_down_and_its_end(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("GET") as events:
            answer = await door.post(request(1, "shutdown"))
            assert await events.rest() == [answer]
        assert len(server.hub) == 0
