"""The other end of a socket is gone, or only says that it will not write."""

import asyncio
import socket

from codex_mcp.transports.hang_up import HangUpWatch
from codex_mcp.transports.outgoing import OutgoingSocketBytes
from tests.support.patience import PATIENCE


async def test_who_watches_is_told_once_when_the_other_end_is_closed() -> None:
    ours, theirs = socket.socketpair()
    gone = asyncio.Event()
    with ours:
        watch = HangUpWatch(ours.fileno(), gone.set)
        theirs.close()
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
        watch.close()


async def test_an_end_that_only_writes_no_more_is_still_there() -> None:
    ours, theirs = socket.socketpair()
    told: list[str] = []
    with ours, theirs:
        watch = HangUpWatch(ours.fileno(), lambda: told.append("gone"))
        theirs.shutdown(socket.SHUT_WR)
        loop = asyncio.get_running_loop()
        seen = asyncio.Event()
        loop.add_reader(ours.fileno(), seen.set)
        async with asyncio.timeout(PATIENCE):
            await seen.wait()
        loop.remove_reader(ours.fileno())
        await asyncio.sleep(0)
        assert told == []
        ours.send(b"read me")
        assert theirs.recv(100) == b"read me"
        watch.close()


async def test_a_watched_socket_is_lost_without_a_write() -> None:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, output = await loop.connect_accepted_socket(lambda: OutgoingSocketBytes(is_watched=True), ours)
    theirs.close()
    async with asyncio.timeout(PATIENCE):
        await output.until_lost()
    assert output.lost
