"""A connection that ends in the same read as an answer, or as any other frame: nothing hangs, nothing is left over."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.connection import Route, route_to
from codex_mcp.execclient.errors import ExecServerError, RequestRefused
from codex_mcp.execclient.options import DEFAULT_OPTIONS, StartOptions
from codex_mcp.rpc.channel import Channel, Frame, FrameKind, Receiving
from codex_mcp.wire.jsonrpc import Id
from tests.support.exec.exec_server import RunningServer, own_exec_server
from tests.support.patience import PATIENCE
from tests.support.rpc.reading import receive

LINES = b"one\ntwo\nthree\n"
TALKS = ["sh", "-c", "echo one; echo two; echo three; exit 3"]


class EndsBehind(Receiving):
    """A connection whose end comes in the same read as the frame for which `is_last` is true."""

    def __init__(self, channel: Channel, is_last: Callable[[Frame], bool]) -> None:
        self._channel = channel
        self._is_last = is_last
        self._has_ended = False

    async def receive(self) -> Sequence[Frame]:
        """Up to the last frame, and then nothing, without a pause between the two."""
        if self._has_ended:
            return []
        frames = await receive(self._channel)
        for number, frame in enumerate(frames, 1):
            if self._is_last(frame):
                self._has_ended = True
                return frames[:number]
        return frames

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        """As it is."""
        self._channel.send(frame, about, kind)

    async def drain(self, below: int) -> None:
        """As it is."""
        await self._channel.drain(below)

    async def aclose(self) -> None:
        """As it is."""
        await self._channel.aclose()


class Wire:
    """The way to a server; its first connection ends behind one frame."""

    def __init__(self, url: str, is_last: Callable[[Frame], bool]) -> None:
        self._dial = route_to(url, DEFAULT_OPTIONS).dial
        self._is_last = is_last
        self.dials = 0

    @property
    def route(self) -> Route:
        """For a client."""
        return Route(self._connect)

    async def _connect(self) -> Channel:
        channel = await self._dial()
        self.dials += 1
        return channel if self.dials > 1 else EndsBehind(channel, self._is_last)


def is_answer_to_start(frame: Frame) -> bool:
    return isinstance(frame, bytes) and b'"processId"' in frame and b'"id"' in frame


async def test_a_start_that_was_answered_goes_on_though_the_connection_ended_with_the_answer(tmp_path: Path) -> None:
    async with RunningServer(own_exec_server(), tmp_path) as server, asyncio.timeout(2 * PATIENCE):
        wire = Wire(server.url, is_answer_to_start)
        async with ExecServerClient(wire.route) as client:
            completed = await (await client.start(TALKS)).collect()
            assert (completed.stdout, completed.exit_code, wire.dials) == (LINES, 3, 2)
            assert "0 processes" in repr(client)


async def test_a_refusal_that_the_connection_ended_with_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    async with RunningServer(own_exec_server(), tmp_path) as server, asyncio.timeout(2 * PATIENCE):
        wire = Wire(server.url, lambda frame: isinstance(frame, bytes) and b'"error"' in frame)
        async with ExecServerClient(wire.route) as client:
            with pytest.raises(RequestRefused):
                await client.start(["/no/such/program"], StartOptions(process_id="again"))
            completed = await (await client.start(TALKS, StartOptions(process_id="again"))).collect()
            assert (completed.stdout, wire.dials) == (LINES, 2)


async def test_wherever_the_connection_ends_a_command_ends_too(tmp_path: Path) -> None:
    """Behind every frame of the conversation: the handshake's, the answers', the events'."""
    finished = 0
    async with RunningServer(own_exec_server(), tmp_path) as server:
        for last in itertools.count(1):
            frames = itertools.count(1)
            wire = Wire(server.url, lambda _, frames=frames, last=last: next(frames) == last)  # type: ignore[misc]
            async with asyncio.timeout(2 * PATIENCE), ExecServerClient(wire.route) as client:
                try:
                    completed = await (await client.start(TALKS)).collect()
                except ExecServerError:
                    continue
                assert (completed.stdout, completed.exit_code) == (LINES, 3)
                finished += 1
                if wire.dials == 1:
                    break
    assert finished >= 4, "the answers to initialize and process/start, an output, the exit"
