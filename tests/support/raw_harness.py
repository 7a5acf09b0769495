"""A harness that sends what the test says, to a real executor through a real rendezvous."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.relay.errors import PROTOCOL_ERROR
from codex_mcp.relay.frames import Body, Frame, Reset, Resume, decode, encode
from codex_mcp.relay.handshake import Initiator, Place
from codex_mcp.relay.identity import new_keys
from codex_mcp.relay.keys import PrivateKeys, encapsulate, public_keys
from codex_mcp.transports.websockets.dialled import DialledSocket
from tests.support.patience import PATIENCE
from tests.support.rendezvous import ONLINE, RunningExecutor, RunningRendezvous, relay_socket

REFUSED = Reset(PROTOCOL_ERROR)


@contextlib.asynccontextmanager
async def an_executor(folder: Path) -> AsyncIterator[RunningRendezvous]:
    async with (
        RunningRendezvous(folder / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, folder / "executor"),
    ):
        await rendezvous.said(ONLINE)
        yield rendezvous


class RawHarness:
    """A harness that sends what the test says."""

    def __init__(self, socket: DialledSocket, first: bytes, stream_id: str) -> None:
        self.first = first
        """A good handshake for this stream."""
        self.stream_id = stream_id
        self._socket = socket

    async def asked(self, body: Body, stream_id: str | None = None) -> Body:
        """Send this and wait for the answer, leaving out greetings."""
        self._socket.send(encode(Frame(stream_id or self.stream_id, body)))
        async with asyncio.timeout(PATIENCE):
            while True:
                for raw in await self._socket.receive():
                    if not isinstance(answer := decode(raw).body, Resume):
                        return answer

    def send_raw(self, frame: bytes) -> None:
        """Send any bytes, and wait for nothing."""
        self._socket.send(frame)

    async def is_closed(self) -> None:
        """Wait until the rendezvous has closed it."""
        async with asyncio.timeout(PATIENCE):
            while await self._socket.receive():
                pass

    async def aclose(self) -> None:
        await self._socket.aclose()


async def raw_harness(rendezvous: RunningRendezvous, speaks_as: PrivateKeys | None = None) -> RawHarness:
    """`speaks_as`: use other keys in the handshake than those that the registry knows."""
    keys = new_keys()
    answer = await rendezvous.as_("alice").connect("build-1", keys.public)
    executor = public_keys(answer.executor_public_key)
    stream_id = str(uuid.uuid4())
    initiator = Initiator(speaks_as or keys, executor, Place("build-1", answer.executor_registration_id, stream_id))
    first = initiator.first(answer.harness_key_authorization, new_keys(), encapsulate(executor.mlkem))
    return RawHarness(await relay_socket(answer), first, stream_id)
