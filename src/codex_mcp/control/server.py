"""A connection to a living server of a state folder. Nothing here waits longer than a server that lives needs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import Raw, Struct

from codex_mcp import __version__
from codex_mcp.base.settings.kinds import MIB
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control import failures
from codex_mcp.control.answers import ToolAnswer
from codex_mcp.control.failures import CannotReach
from codex_mcp.rpc.channel import Channel, Frame
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, Peer, PendingCall
from codex_mcp.state.embedded.flock import has_died, nodes_with_locks, seconds_since_joining, socket_path
from codex_mcp.transports.local.channel import Bounds, LocalChannel
from codex_mcp.transports.local.sockets import dial
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, ErrorResponse, Notification, Request

PATIENCE: Final = 2.0
"""Seconds for the answer to `control/hello`, and to a ping while a longer answer is awaited."""

JUST_JOINED: Final = 0.5
"""Seconds in which a server that has joined makes its socket."""

JOINING: Final = 10.0
SLOW_TO_JOIN: Final = 1.7
"""The same on a machine that is overloaded, for a server that has joined less than `JOINING` seconds ago."""

TRY_EVERY: Final = 0.05

LONGEST_ANSWER: Final = 64 * MIB

MOST_ASKED: Final = 1024
"""Questions of a server that wait for an answer."""

Told: TypeAlias = Callable[[Notification], None]


class Caller(Struct, frozen=True, kw_only=True):
    """Who connects, and for what."""

    program: str
    person: str
    principal: str | None = None
    view: bool = False
    node: str = ""
    """Which server of the folder connects, if it is one."""


def living_nodes(state_dir: str) -> list[str]:
    """The servers that hold their locks, whether they answer or not."""
    return [node for node in nodes_with_locks(state_dir) if not has_died(state_dir, node)]


class ControlChannel(Channel, Protocol):
    """Leads to a server."""

    @property
    def lost(self) -> bool: ...

    async def until_lost(self) -> None: ...


class Ends(Struct, frozen=True):
    """What is known when a connection has ended."""

    refusal: Callable[[], str] = str
    """What the server has said before it closed the connection."""
    has_ended: Callable[[], bool] = bool
    """Whether the server itself is known to have ended."""


class _Channel(LocalChannel):
    """Notes why the server closes the connection, which it says in an error that answers no request."""

    refusal = ""

    def _decoded(self, frame: Frame) -> Frame:
        decoded = super()._decoded(frame)
        if isinstance(decoded, ErrorResponse) and decoded.id is None:
            self.refusal = decoded.error.message
        return decoded


def _no_request(request: Request) -> object:
    raise request_failed(METHOD_NOT_FOUND, f"method not found: {request.method}")


class Heard(Struct, frozen=True):
    """What is done with what a server sends by itself: notifications and requests."""

    told: Told = lambda _: None
    asked: Callable[[Request], object] = _no_request


NOTHING_HEARD: Final = Heard()


class Server:
    """Made by `open_connection`."""

    def __init__(self, node: str, name: str, channel: ControlChannel, heard: Heard, ends: Ends) -> None:
        self.node = node
        self.name = name
        """How a person knows it: `server process 4711`."""
        self._ends = ends
        self._channel = channel
        handlers = Handlers(heard.asked, heard.told)
        self._peer = Peer(channel, handlers, max_requests=MOST_ASKED)
        self._tasks = TaskSet()
        self._running: asyncio.Task[None] | None = None

    async def begin(self, caller: Caller) -> control.Greeting:
        """Say hello. Raises CannotReach."""
        self._running = self._tasks.spawn(self._peer.run(), name=f"connection to {self.name}")
        hello = control.Hello(
            protocol=control.PROTOCOL,
            program=caller.program,
            version=__version__,
            person=caller.person,
            principal=caller.principal,
            view=caller.view,
            node=caller.node,
        )
        pending = self._peer.start(control.HELLO, hello)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await pending.answer
        except TimeoutError:
            raise failures.silent(self.name, PATIENCE) from None
        except RequestFailed as exc:
            raise failures.refused(self.name, str(exc)) from exc
        except ConnectionLost:
            raise await self._lost() from None
        return msgspec.json.decode(answer, type=control.Greeting)

    @property
    def is_lost(self) -> bool:
        return self._channel.lost or (self._running is not None and self._running.done())

    def notify(self, method: str, params: object) -> None:
        self._peer.notify(method, params)

    async def call(self, method: str, params: object, *, changes: bool = False) -> Raw:
        """Send a request and wait for its answer, as `answer_to`."""
        return await self.answer_to(self.start(method, params), changes=changes)

    def start(self, method: str, params: object) -> PendingCall:
        """Send a request; `answer_to` waits for its answer."""
        return self._peer.start(method, params)

    async def answer_to(self, pending: PendingCall, *, changes: bool = False) -> Raw:
        """Raises RequestFailed, or CannotReach if the server ends, or does not even answer a ping any more.

        `changes`: the request may change something, also after nobody waits for the answer any more.
        """
        try:
            while not await self._came(pending):
                ping = self._peer.start("ping", {})
                if not await self._came(ping) and not pending.answer.done():
                    raise failures.silent(self.name, 2 * PATIENCE, was_told=changes)
            return pending.answer.result()
        except ConnectionLost:
            raise await self._lost() from None
        finally:
            self._peer.forget(pending)

    async def _came(self, pending: PendingCall) -> bool:
        await asyncio.wait([pending.answer], timeout=PATIENCE)
        return pending.answer.done()

    async def call_tool(self, name: str, arguments: Mapping[str, object], acts_for: control.ActsFor) -> ToolAnswer:
        """The result of a tool. Raises RequestFailed or CannotReach."""
        params = {"name": name, "arguments": arguments, "_meta": {control.ACTS_FOR: acts_for}}
        return msgspec.json.decode(await self.call("tools/call", params, changes=True), type=ToolAnswer)

    async def follow(self, topics: Sequence[str]) -> control.Followed:
        """What happens is told from now on. Raises RequestFailed or CannotReach."""
        return msgspec.json.decode(await self.call(control.FOLLOW, control.Follow(topics)), type=control.Followed)

    async def sign_in(self, *, view: bool, writes_as: str = "") -> control.SignInLink:
        """A link to its dashboard. Raises RequestFailed or CannotReach."""
        asked = control.SignIn(view, writes_as)
        return msgspec.json.decode(await self.call(control.SIGN_IN, asked), type=control.SignInLink)

    async def until_lost(self) -> CannotReach:
        """Wait until there is no connection any more, or the server does not answer: why."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._channel.until_lost()
            try:
                await self.call("ping", {})
            except CannotReach as exc:
                return exc

    async def _lost(self) -> CannotReach:
        """Why the connection has ended. A server that is killed frees its lock a moment later than its sockets."""
        if refusal := self._ends.refusal():
            return failures.refused(self.name, refusal)
        deadline = asyncio.get_running_loop().time() + JUST_JOINED
        while asyncio.get_running_loop().time() < deadline:
            if self._ends.has_ended():
                return failures.ended(self.name)
            await asyncio.sleep(TRY_EVERY)
        return failures.lost(self.name)

    async def aclose(self) -> None:
        await self._peer.aclose()
        await self._tasks.aclose()


@contextlib.asynccontextmanager
async def connect_server(
    state_dir: str, node: str, caller: Caller, *, name: str = "", told: Told = lambda _: None
) -> AsyncIterator[tuple[Server, control.Greeting]]:
    """A connection that has said hello. `told` gets the notifications. Raises CannotReach."""
    server, greeting = await open_connection(state_dir, node, caller, name=name, heard=Heard(told))
    try:
        yield server, greeting
    finally:
        await server.aclose()


async def open_connection(
    state_dir: str, node: str, caller: Caller, *, name: str = "", heard: Heard = NOTHING_HEARD
) -> tuple[Server, control.Greeting]:
    """The same, for a connection that its caller closes. Raises CannotReach."""
    name = name or f"server {node}"
    channel = _Channel(Bounds(LONGEST_ANSWER))
    try:
        async with asyncio.timeout(PATIENCE):
            dialled_socket = await dial_node(state_dir, node, name)
    except TimeoutError:
        raise failures.silent(name, PATIENCE) from None
    await asyncio.get_running_loop().connect_accepted_socket(lambda: channel, dialled_socket)
    ends = Ends(lambda: channel.refusal, lambda: has_died(state_dir, node))
    return await greet(Server(node, name, channel, heard, ends), caller)


async def greet(server: Server, caller: Caller) -> tuple[Server, control.Greeting]:
    """The server after it has been said hello to. Raises CannotReach; then it is closed."""
    try:
        return server, await server.begin(caller)
    except BaseException:
        await server.aclose()
        raise


async def dial_node(state_dir: str, node: str, name: str) -> Any:
    """Connect, if need be once the server has made its socket."""
    began, is_young = asyncio.get_running_loop().time(), seconds_since_joining(state_dir, node) < JOINING
    deadline = began + (SLOW_TO_JOIN if is_young else JUST_JOINED)
    while True:
        try:
            return await dial(socket_path(state_dir, node))
        except (FileNotFoundError, ConnectionRefusedError):
            if has_died(state_dir, node):
                raise failures.ended(name) from None
            if asyncio.get_running_loop().time() > deadline:
                raise failures.no_socket(name) from None
        except OSError as exc:
            raise failures.no_access(name, exc.strerror or str(exc)) from exc
        await asyncio.sleep(TRY_EVERY)
