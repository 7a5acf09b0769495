"""Who is too slow, or too quick, is treated as the settings say, and nobody else pays for it."""

from pathlib import Path

import msgspec
import pytest
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import ConnectionClosedError

from codex_mcp.base.settings.kinds import SlowReader
from tests.support.http.echo_methods import serving
from tests.support.http.mcp_client import SESSION, Door, Json, request, shake_hands, stateless

BURST = 10
"""Messages that come faster than anybody reads: a handler says them in one breath."""

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"talked": {"count": BURST}}}


def note(number: int) -> Json:
    return {"jsonrpc": "2.0", "method": "note", "params": {"number": number}}


LITTLE = 4 * len(msgspec.json.encode(note(0))) + 10
"""Bytes that may wait for a reader that reads: four messages."""


async def heard(home: Path, **settings: object) -> list[Json]:
    """What a listener on the bus hears of the burst until its stream ends; the caller gets its answer in any case."""
    async with serving(home, **{"subscriber_queue": 4, "outbox_bytes": LITTLE, **settings}) as (server, _methods):
        door = Door(server.port, "/", **{SESSION: "x"})
        async with door.stream("GET") as events:
            assert await door.post(request(1, "talk", count=BURST)) == ANSWER
            await door.ask("DELETE")
            return await events.rest()


async def test_by_default_the_oldest_events_are_left_out_and_the_listener_is_told_how_many(tmp_path: Path) -> None:
    dropped = {"jsonrpc": "2.0", "method": "codex/dropped", "params": {"count": BURST - 4}}
    assert await heard(tmp_path) == [dropped, *map(note, range(6, BURST)), ANSWER]


async def test_a_listener_can_be_sent_away_instead(tmp_path: Path) -> None:
    assert await heard(tmp_path, slow_reader=SlowReader.DISCONNECT) == [note(number) for number in range(5)]


async def test_a_listener_can_be_waited_for(tmp_path: Path) -> None:
    everything = [*map(note, range(BURST)), ANSWER]
    assert await heard(tmp_path, slow_reader=SlowReader.WAIT, outbox_bytes=10 * LITTLE) == everything


@pytest.mark.parametrize("policy", list(SlowReader))
async def test_a_listener_that_reads_may_be_behind_by_more_than_its_queue(tmp_path: Path, policy: SlowReader) -> None:
    everything = [*map(note, range(BURST)), ANSWER]
    assert await heard(tmp_path, slow_reader=policy, outbox_bytes=10 * LITTLE) == everything


async def test_a_listener_is_not_waited_for_beyond_the_bytes_that_are_kept_for_it(tmp_path: Path) -> None:
    size = len(msgspec.json.encode(note(0)))
    some = await heard(tmp_path, slow_reader=SlowReader.WAIT, outbox_bytes=3 * size)
    assert some == [note(number) for number in range(4)]


async def test_what_a_reader_of_mcp_misses_is_counted_too(tmp_path: Path) -> None:
    async with serving(tmp_path, outbox_bytes=LITTLE) as (server, _methods):
        dropped = {"jsonrpc": "2.0", "method": "codex/dropped", "params": {"count": BURST - 4}}
        everything = [dropped, *map(note, range(6, BURST)), ANSWER]
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "talk", count=BURST)) as events:
            assert await events.rest() == everything
        assert server.hub.dropped == BURST - 4
        alone, headers = stateless(request(1, "talk", count=BURST))
        async with Door(server.port, **headers).stream("POST", alone) as events:
            missed = (await events.message())["params"]["count"]
        assert server.hub.dropped == BURST - 4 + missed


async def test_a_socket_is_told_why_it_was_closed(tmp_path: Path) -> None:
    policy = SlowReader.DISCONNECT
    async with serving(tmp_path, outbox_bytes=LITTLE, slow_reader=policy) as (server, _methods):
        async with connect_socket(f"ws://127.0.0.1:{server.port}/ws", proxy=None) as opened:
            await opened.send(msgspec.json.encode(request(1, "talk", count=BURST)).decode())
            said = [msgspec.json.decode(await opened.recv()) for _ in range(5)]
            with pytest.raises(ConnectionClosedError) as closed:
                await opened.recv()
        assert said == [note(number) for number in range(5)]
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "this listener was too slow")
        assert server.hub.cut_off == 1


async def test_one_listener_is_cut_off_and_the_session_goes_on(tmp_path: Path) -> None:
    policy = SlowReader.DISCONNECT
    async with serving(tmp_path, outbox_bytes=LITTLE, slow_reader=policy) as (server, _methods):
        door = Door(server.port, "/", **{SESSION: "x"})
        async with door.stream("GET") as slow:
            await door.post(request(1, "talk", count=BURST))
            assert len(await slow.rest()) == 5
        async with door.stream("GET") as quick:
            await door.post(request(2, "talk", count=1))
            assert [(await quick.message()).get("method", "answer") for _ in range(2)] == ["note", "answer"]


def tokens(folder: Path) -> str:
    path = folder / "tokens"
    path.write_text("alice the-token-of-alice\nbob the-token-of-bob-too\n")
    return str(path)


async def test_a_principal_that_asks_too_often_is_told_when_to_come_again_and_others_are_not(tmp_path: Path) -> None:
    async with serving(tmp_path, tokens=tokens(tmp_path), requests_per_second=0.5) as (server, _methods):
        alice = Door(server.port, "/", authorization="Bearer the-token-of-alice", **{SESSION: "x"})
        bob = Door(server.port, "/", authorization="Bearer the-token-of-bob-too", **{SESSION: "x"})
        answers = [await door.ask("POST", request(1, "echo")) for door in (alice, alice, bob)]
        assert [answer.status for answer in answers] == [200, 429, 200]
        assert answers[1].headers["retry-after"] == "2"
        error = msgspec.json.decode(answers[1].body)["error"]
        assert error["message"] == "Too Many Requests: at most 0.5 per second; try again later"
        assert (await alice.ask("GET", None, accept="text/event-stream")).status == 429
        assert (await Door(server.port, "/readyz", **alice.headers).ask("GET")).status == 200


async def test_on_a_socket_who_says_too_much_is_read_more_slowly(tmp_path: Path) -> None:
    async with serving(tmp_path, tokens=tokens(tmp_path), requests_per_second=100) as (server, _methods):
        headers = {"authorization": "Bearer the-token-of-alice"}
        address = f"ws://127.0.0.1:{server.port}/ws"
        async with connect_socket(address, proxy=None, additional_headers=headers) as opened:
            for number in range(220):
                await opened.send(msgspec.json.encode(request(number, "echo")).decode())
            answers = [msgspec.json.decode(await opened.recv()) for _ in range(220)]
        assert [answer["id"] for answer in answers] == list(range(220))


async def test_requests_without_a_session_have_a_limit_too(tmp_path: Path) -> None:
    async with serving(tmp_path, max_sessions=1) as (server, methods):
        held, headers = stateless(request(1, "hold"))
        more, more_headers = stateless(request(2, "echo"))
        async with Door(server.port, **headers).stream("POST", held):
            await methods.held.get()
            refused = await Door(server.port, **more_headers).ask("POST", more)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            methods.gate.set()
        assert (await Door(server.port, "/healthz").ask("GET")).status == 200


async def test_where_nobody_shows_a_token_nobody_is_counted(tmp_path: Path) -> None:
    async with serving(tmp_path, requests_per_second=0.5) as (server, _methods):
        door = Door(server.port, "/", **{SESSION: "x"})
        assert {(await door.ask("POST", request(number, "echo"))).status for number in range(5)} == {200}
