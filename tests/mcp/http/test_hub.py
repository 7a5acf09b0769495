"""Sessions are created, found, closed when idle and ended, each for its own principal."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.mcp.http.hub import Hub, TooManySessions
from codex_mcp.mcp.methods import Methods
from codex_mcp.wire.jsonrpc import NO_PARAMS, Request
from codex_mcp.wire.mcp import Change, ClientInfo, Initialize
from tests.support.http.echo_methods import EchoMethods, within
from tests.support.http.endpoints import KEY, NoTools
from tests.support.settings import make_settings

CAPABILITIES: dict[str, object] = {"elicitation": {"form": {}}, "roots": {}, "experimental": {"codex/event": {}}}
HELLO = Initialize("2025-11-25", {**CAPABILITIES, "sampling": {}}, ClientInfo("ada", "7"))
IDLE = 60.0


@contextlib.asynccontextmanager
async def a_hub(home: Path, **settings: Any) -> AsyncIterator[tuple[Hub, EchoMethods]]:
    methods = EchoMethods()
    chosen = make_settings(**{"codex_home": str(home), "session_idle": IDLE, **settings})
    hub = Hub(Methods(methods.table()), NoTools(), chosen.http, chosen.calls, KEY)
    try:
        yield hub, methods
    finally:
        await hub.aclose()


async def test_a_session_is_found_by_its_own_principal_alone(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        session = hub.introduce("ada", HELLO)
        assert hub.find("ada", session.id) is session
        assert hub.find("bob", session.id) is None


async def test_two_principals_may_have_the_same_id_on_the_bus(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        ada, bob = hub.make("ada", "same"), hub.make("bob", "same")
        assert hub.find("ada", "same") is ada
        assert hub.find("bob", "same") is bob
        await hub.close(ada)
        assert hub.find("bob", "same") is bob


async def test_ids_that_we_make_are_all_different(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        assert len({hub.introduce("ada", HELLO).id for _ in range(20)}) == 20
        assert len(hub) == 20


async def test_a_restarted_server_takes_up_what_it_signed_with_what_the_client_said(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        session_id = hub.introduce("ada", HELLO).id
    async with a_hub(tmp_path) as (hub, _methods):
        assert hub.find("bob", session_id) is None
        found = hub.find("ada", session_id)
        assert found is not None
        assert found.session.client.info == ClientInfo("ada", "7")
        assert found.session.client.capabilities == CAPABILITIES
        assert hub.find("ada", session_id) is found


async def test_a_closed_session_stays_closed(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        session = hub.introduce("ada", HELLO)
        await hub.close(session)
        await hub.close(session)
        assert hub.find("ada", session.id) is None
        assert session.channel.standing.ended


async def test_there_is_a_limit_of_sessions_that_are_in_use(tmp_path: Path) -> None:
    async with a_hub(tmp_path, max_sessions=2) as (hub, _methods):
        first, second = hub.introduce("ada", HELLO), hub.make("bob", "x")
        first.channel.readers = second.channel.readers = 1
        second.channel.deliver(Request(1, "echo", NO_PARAMS))
        with pytest.raises(TooManySessions, match="there are 2 sessions, all in use"):
            hub.make("ada", "y")
        with pytest.raises(TooManySessions):
            hub.introduce("ada", HELLO)
        await hub.close(first)
        hub.make("ada", "y")


async def test_a_full_server_ends_an_idle_session_whose_client_can_come_back(tmp_path: Path) -> None:
    async with a_hub(tmp_path, max_sessions=3) as (hub, _methods):
        idle, used = hub.introduce("ada", HELLO), hub.introduce("ada", HELLO)
        used.channel.readers = 1
        silent = hub.make("bob", "never sends anything")
        hub.introduce("eve", HELLO)
        assert silent not in set(hub)
        with pytest.raises(TooManySessions):
            hub.introduce("eve", HELLO)
        idle.channel.used_at -= 60
        await hub.close(hub.introduce("eve", HELLO))
        assert idle not in set(hub)
        assert used in set(hub)
        assert hub.find("ada", idle.id) is not None, "it was not deleted, only put away"
        assert len(hub) == 3


async def test_sessions_that_never_sent_a_message_cannot_fill_a_server_even_if_somebody_listens(tmp_path: Path) -> None:
    async with a_hub(tmp_path, max_sessions=5) as (hub, _methods):
        listened = [hub.make("local", str(number)) for number in range(5)]
        streams = [session.channel.subscribe() for session in listened]
        hub.introduce("local", HELLO)
        assert listened[0] not in set(hub)
        await within(streams[0].take(0))
        assert streams[0].ended
        assert not streams[1].ended


async def test_one_principal_cannot_take_the_sessions_of_the_others(tmp_path: Path) -> None:
    async with a_hub(tmp_path, max_sessions=10, sessions_per_principal=3) as (hub, _methods):
        for _ in range(3):
            hub.introduce("ada", HELLO).channel.readers = 1
        with pytest.raises(TooManySessions, match="ada has 3 sessions, all in use"):
            hub.introduce("ada", HELLO)
        hub.introduce("bob", HELLO)
        for _ in range(6):
            hub.introduce("local", HELLO)
        assert len(hub) == 10


async def test_one_address_elsewhere_cannot_either(tmp_path: Path) -> None:
    async with a_hub(tmp_path, sessions_per_address=2) as (hub, _methods):
        for principal in ("ada", "bob"):
            hub.introduce(principal, HELLO, "192.0.2.7").channel.readers = 1
        with pytest.raises(TooManySessions, match="from your address"):
            hub.introduce("eve", HELLO, "192.0.2.7")
        hub.introduce("eve", HELLO, "192.0.2.8")
        for address in ("127.0.0.1", "127.9.9.9", "::1", ""):
            for _ in range(3):
                hub.introduce("ada", HELLO, address)


async def test_a_session_that_never_sent_a_message_ends_soon(tmp_path: Path) -> None:
    async with a_hub(tmp_path, session_idle=3600) as (hub, _methods):
        silent, heard, spoke = (hub.make("ada", name) for name in ("silent", "heard", "spoke"))
        heard.channel.subscribe()
        spoke.channel.deliver(Request(1, "echo", NO_PARAMS))
        await hub.close_idle(silent.used_at + 59)
        assert len(hub) == 3
        await hub.close_idle(spoke.used_at + 60)
        assert {session.id for session in hub} == {"heard", "spoke"}


async def test_a_session_that_nobody_uses_is_put_away_and_found_again(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        session = hub.introduce("ada", HELLO)
        used = session.channel.used_at
        await hub.close_idle(used + IDLE - 0.1)
        assert hub.find("ada", session.id) is session
        await hub.close_idle(used + IDLE)
        assert len(hub) == 0
        again = hub.find("ada", session.id)
        assert again is not None
        assert again is not session


async def test_one_that_is_read_or_works_is_not_put_away(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, methods):
        read, heard, working, idle = (hub.make("ada", name) for name in ("read", "heard", "working", "idle"))
        read.channel.readers += 1
        heard.channel.subscribe()
        assert working.channel.expect(1) is not None
        working.channel.deliver(Request(1, "hold", NO_PARAMS))
        await within(methods.held.get())
        await hub.close_idle(idle.channel.used_at + 2 * IDLE)
        assert {session.id for session in hub} == {"read", "heard", "working"}


async def test_closing_interrupts_what_runs_and_answers_it(tmp_path: Path) -> None:
    async with a_hub(tmp_path, interrupt_grace=0.01) as (hub, methods):
        session = hub.make("ada", "x")
        stream = session.channel.expect(1)
        assert stream is not None
        session.channel.deliver(Request(1, "hold", NO_PARAMS))
        await within(methods.held.get())
        await hub.close(session)
        assert await within(methods.cancelled.get()) == 1
        assert b"error" in stream.ring.after(0).messages[-1].frame


async def test_the_end_ends_every_session(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        sessions = [hub.make("ada", str(number)) for number in range(3)]
        await hub.aclose()
        assert all(session.channel.standing.ended for session in sessions)
        with pytest.raises(TooManySessions):
            hub.make("ada", "late")


async def test_a_change_is_announced_to_clients_that_have_shaken_hands(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        silent, known = hub.make("ada", "silent"), hub.make("ada", "known")
        known.session.introduce(HELLO)
        await asyncio.sleep(0)
        hub.announce(Change.PROMPTS)
        assert silent.channel.standing.ring.last == 0
        (message,) = known.channel.standing.ring.after(0).messages
        assert b'"notifications/prompts/list_changed"' in message.frame


async def test_messages_that_were_missed_are_counted_over_all_sessions_that_ever_were(tmp_path: Path) -> None:
    async with a_hub(tmp_path) as (hub, _methods):
        session = hub.make("ada", "x")
        subscriber = session.channel.subscribe()
        subscriber.readers = 0  # as if it took nothing for a while
        for _ in range(subscriber.ring.max_messages + 3):
            session.session.client.notify("note", {})
        subscriber.continue_after(0)
        assert hub.dropped == 3
        await hub.close(session)
        assert hub.dropped == 3
