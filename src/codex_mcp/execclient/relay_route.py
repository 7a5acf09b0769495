"""The route to an executor behind a rendezvous: `relay+https://HOST/ENVIRONMENT`, and the channel over a stream.

If the socket breaks and the executor acknowledges, the channel continues on a new socket without a loss. Otherwise it
ends, and `Link` resumes the session over a new channel, as over a WebSocket. The same happens if the executor is not
heard of for two or three minutes although the sockets work: a relay may drop frames and acknowledge them itself.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from codex_mcp.base.futures import Waiters
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.errors import CannotConnect
from codex_mcp.relay.bodies import Connected
from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Frame, Handshake, Reset, Resume, decode, encode
from codex_mcp.relay.handshake import Initiator, Place
from codex_mcp.relay.identity import new_keys
from codex_mcp.relay.keys import PublicKeys, encapsulate, public_keys
from codex_mcp.relay.liveness import Check, Liveness
from codex_mcp.relay.registry_client import RegistryClient, RegistryRefused
from codex_mcp.relay.stream import RelayStream
from codex_mcp.relay.stream_driver import SUSPENDED_SECONDS, StreamDriver
from codex_mcp.rpc.channel import FrameKind, Receiving
from codex_mcp.rpc.inbox import Inbox
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused, dial
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

SCHEMES: Final = {"relay+https": "https", "relay+http": "http"}

HANDSHAKE_SECONDS: Final = 15.0
"""For the executor's answer: it asks the registry first, which may take ten."""

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 2.0
"""Seconds between two attempts to continue a stream."""

ANSWER_BYTES: Final = 1024
"""More than an answer to our question whether the executor is there."""

INBOX_BYTES: Final = 8 * 1024 * 1024
"""Unread messages above which the socket is not read."""


class RelayAddress:
    """One executor, as a harness names it; its keys for the harness's whole life."""

    def __init__(self, url: str, token: str | None, pin: str | None = None) -> None:
        """Raises CannotConnect or Refused."""
        parts = urlsplit(url)
        self.environment_id = unquote(parts.path.strip("/"))
        if parts.scheme not in SCHEMES or not parts.netloc or not self.environment_id or "/" in self.environment_id:
            raise CannotConnect(f"cannot connect to {url!r}: the address looks like relay+https://HOST/ENVIRONMENT")
        self._registry = RegistryClient(f"{SCHEMES[parts.scheme]}://{parts.netloc}", token)
        self._pin = pin
        self.keys = new_keys()

    async def connect(self) -> tuple[Connected, PublicKeys]:
        """Ask the registry for a way. Raises CannotConnect, or OSError if another attempt may succeed."""
        try:
            answer = await self._registry.connect(self.environment_id, self.keys.public)
            executor = public_keys(answer.executor_public_key)
        except RegistryRefused as exc:
            if exc.is_temporary:
                raise ConnectionError(str(exc)) from exc
            raise CannotConnect(f"cannot reach {self.environment_id!r}: {exc}") from exc
        except RelayError as exc:
            raise CannotConnect(f"cannot reach {self.environment_id!r}: {exc}") from exc
        if self._pin is not None and executor.fingerprint != self._pin:
            raise CannotConnect(
                f"refused the executor of {self.environment_id!r}: its fingerprint is {executor.fingerprint}, and "
                f"{self._pin} is pinned; compare it with what the executor printed at its start"
            )
        return answer, executor

    async def dial(self) -> RelayChannel:
        """A new stream to the executor. Raises CannotConnect or OSError."""
        answer, executor = await self.connect()
        stream_id = str(uuid.uuid4())
        place = Place(self.environment_id, answer.executor_registration_id, stream_id)
        initiator = Initiator(self.keys, executor, place)
        try:
            first = initiator.first(answer.harness_key_authorization, new_keys(), encapsulate(executor.mlkem))
            socket = await open_socket(answer.url)
            socket.send(encode(Frame(stream_id, Resume(0))))
            socket.send(encode(Frame(stream_id, Handshake(first))))
            try:
                async with asyncio.timeout(HANDSHAKE_SECONDS):
                    second, more = await _handshake(socket, stream_id)
                    ciphers = initiator.finish(second)
            except BaseException:
                await socket.aclose()
                raise
        except RelayError as exc:
            raise ConnectionError(f"no secure connection to {self.environment_id!r}: {exc}") from exc
        channel = RelayChannel(self, answer.executor_registration_id, RelayStream(stream_id, ciphers), socket)
        channel.frames_received(more)
        return channel


async def open_socket(url: str) -> DialledSocket:
    """Raises OSError; a ticket that is refused is worth another attempt with a new one."""
    try:
        return await dial(url, {}, HANDSHAKE_SECONDS, is_relay=True)
    except HandshakeRefused as exc:
        raise ConnectionError(f"the rendezvous refused the connection: {exc}") from exc
    except ValueError as exc:
        raise CannotConnect(f"the registry gave an address that cannot be used: {exc}") from exc


async def _handshake(socket: DialledSocket, stream_id: str) -> tuple[bytes, Sequence[bytes]]:
    """The executor's answer, and the frames that came with it."""
    while frames := await socket.receive():
        for number, raw in enumerate(frames, 1):
            frame = decode(raw)
            if frame.stream_id != stream_id:
                continue
            if isinstance(frame.body, Handshake):
                return frame.body.payload, frames[number:]
            if isinstance(frame.body, Reset):
                raise RelayError(f"the executor or the rendezvous refused: {frame.body.told}")
    raise RelayError("the rendezvous closed the connection")


class RelayChannel(Receiving):
    """Whole messages over one stream, as a `Channel`."""

    def __init__(self, address: RelayAddress, registration_id: str, stream: RelayStream, socket: DialledSocket) -> None:
        self._address = address
        self._registration_id = registration_id
        self._stream_id = stream.stream_id
        self._socket: DialledSocket | None = socket
        self._driver = StreamDriver(stream, self)
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._inbox = Inbox(INBOX_BYTES, self._has_room.clear, self._has_room.set)
        self._acknowledged = Waiters()
        self._clock = asyncio.get_running_loop().time
        self._liveness = Liveness(self._clock())
        self._mark = uuid.uuid4().hex
        """In the ids of our own questions; their answers are not for the caller."""
        self._questions = 0
        self._tasks = TaskSet()
        self._driver.greet()
        self._tasks.spawn(self._run(socket), name=f"relay stream {stream.stream_id}")
        self._tasks.spawn(self._check_liveness(), name=f"liveness of relay stream {stream.stream_id}")

    async def receive(self) -> Sequence[bytes]:
        return await self._inbox.take()

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        self._driver.send(frame)

    async def drain(self, below: int) -> None:
        while not self._driver.is_over and self._driver.queued_bytes >= below:
            await self._acknowledged.wait()
        if self._socket is not None:
            await self._socket.drain(below)

    async def aclose(self) -> None:
        self._driver.reset("this end closed the stream")
        await self._tasks.aclose()
        if self._socket is not None:
            await self._socket.aclose()

    def write(self, frames: Sequence[bytes]) -> None:
        if self._socket is not None:
            for frame in frames:
                self._socket.send(frame)

    def messages_received(self, messages: Sequence[bytes]) -> None:
        if self._questions:
            mark = self._mark.encode()
            messages = [each for each in messages if len(each) > ANSWER_BYTES or mark not in each]
        self._inbox.add(messages)

    def stream_ended(self, reason: str) -> None:
        logger.info("relay stream %s: ended, %s", self._stream_id, reason)
        self._inbox.end()
        self._acknowledged.tell()

    async def _run(self, socket: DialledSocket) -> None:
        current: DialledSocket | None = socket
        while current is not None and not self._driver.is_over:
            await self._read(current)
            self._socket = None
            await current.aclose()
            self._driver.connection_lost()
            current = await self._reconnect()

    async def _read(self, socket: DialledSocket) -> None:
        while not self._driver.is_over and (frames := await socket.receive()):
            self.frames_received(frames)
            await self._has_room.wait()

    def frames_received(self, frames: Sequence[bytes]) -> None:
        for raw in frames:
            self._frame_received(raw)
        self._acknowledged.tell()

    def _frame_received(self, raw: bytes) -> None:
        try:
            frame = decode(raw)
        except RelayError as exc:
            logger.debug("dropped what is not a frame: %s", exc)
            return
        if frame.stream_id != self._stream_id:
            return
        self._driver.frame_received(frame)
        if isinstance(frame.body, Resume):
            self._follow(self._liveness.challenged(self._driver.opened, self._clock()))

    async def _check_liveness(self) -> None:
        while not self._driver.is_over:
            await asyncio.sleep(self._liveness.next_check - self._clock())
            is_reading = self._socket is not None and self._has_room.is_set()
            self._follow(self._liveness.check(self._driver.opened, self._clock(), is_reading=is_reading))

    def _follow(self, check: Check) -> None:
        if check is Check.ASK:
            self._questions += 1
            self._driver.send(b'{"id":"%s-%d","method":"environment/status"}' % (self._mark.encode(), self._questions))
        elif check is Check.LOST:
            self._driver.reset("the executor does not answer, though the rendezvous does")

    async def _reconnect(self) -> DialledSocket | None:
        """A new socket on which the stream continues; None if it is over."""
        delay = FIRST_DELAY
        try:
            async with asyncio.timeout(SUSPENDED_SECONDS):
                while not self._driver.is_over:
                    try:
                        answer, _ = await self._address.connect()
                        if answer.executor_registration_id != self._registration_id:
                            self._driver.end("another executor has taken its place")
                            return None
                        self._socket = await open_socket(answer.url)
                    except OSError as exc:
                        logger.debug("relay stream %s: %s", self._stream_id, exc)
                        await asyncio.sleep(delay)
                        delay = min(2 * delay, LONGEST_DELAY)
                        continue
                    except CannotConnect as exc:
                        self._driver.end(str(exc))
                        return None
                    logger.info("relay stream %s: continued on a new connection", self._stream_id)
                    self._driver.connection_resumed()
                    return self._socket
        except TimeoutError:
            self._driver.end("no new connection in time")
        return None
