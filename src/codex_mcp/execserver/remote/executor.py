"""Registers an executor, keeps its connection to the rendezvous, and reports each change of state.

    state          what happens                        next
    -------------  ----------------------------------  -------------------------------------------------
    unregistered   register                            registered; on an error again, later and later
    registered     dial the URL of the registration    connected; on 4xx unregistered; else again, later
                                                       superseded: it stops
    connected      serve streams                       registered, when the connection breaks

Streams whose harness acknowledges continue on the next connection. A refusal of the very first registration is final:
it is a wrong token or a wrong name. An executor in whose place another one is connected stops: if it registered again,
the two would replace each other for ever.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign
from codex_mcp.execserver.connection import StreamServer
from codex_mcp.execserver.remote.streams import Identity, Streams
from codex_mcp.relay.bodies import SUPERSEDED, Failed, Registered
from codex_mcp.relay.errors import UNREADABLE
from codex_mcp.relay.keys import PrivateKeys
from codex_mcp.relay.registry_client import RegistryClient, RegistryRefused
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused, dial

logger = logging.getLogger(__name__)

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 30.0
"""Seconds until the next attempt, as in Codex: doubled each time, and up to a half more by chance."""

QUICK_DELAY: Final = 0.05
"""After a connection that worked: harnesses wait."""

DIAL_SECONDS: Final = 10.0


class RemoteConfig(Struct, frozen=True):
    registry: RegistryClient
    environment_id: str
    name: str
    keys: PrivateKeys
    report: Callable[[str], None]
    """Called with one line for each change of state."""


class RemoteExecutor:
    def __init__(self, server: StreamServer, config: RemoteConfig) -> None:
        self._config = config
        self._streams = Streams(server, config.registry)
        self._delay = 0.0
        self._has_registered = False

    async def run(self) -> None:
        """Serve until cancelled. Raises Refused if the first registration is, or when it is replaced."""
        report = self._config.report
        report(f"fingerprint {self._config.keys.public.fingerprint}")
        try:
            while True:
                registered = await self._register()
                await self._serve(registered)
        finally:
            await self._streams.aclose()

    async def _register(self) -> Registered:
        config = self._config
        while True:
            try:
                answer = await config.registry.register(config.environment_id, config.keys.public, config.name)
            except (RegistryRefused, OSError) as exc:
                is_final = isinstance(exc, RegistryRefused) and not exc.is_temporary
                if is_final and not self._has_registered:
                    raise Refused(f"cannot register {config.environment_id!r} at {config.registry.url}: {exc}") from exc
                await self._wait(f"not registered: {exc}")
                continue
            self._has_registered = True
            config.report(f"registered {config.environment_id} at {config.registry.url}")
            return answer

    async def _serve(self, registered: Registered) -> None:
        """Keep a connection until the rendezvous wants a new registration."""
        identity = Identity(self._config.keys, self._config.environment_id, registered.executor_registration_id)
        while True:
            try:
                socket = await dial(registered.url, {}, DIAL_SECONDS, is_relay=True)
            except HandshakeRefused as exc:
                if _code(exc.body) == SUPERSEDED:
                    raise Refused(
                        f"stopped: another executor is connected as {self._config.environment_id!r} now. "
                        "Stop one of the two, or give each its own --environment-id."
                    ) from exc
                await self._wait(f"connection refused: {exc}")
                if HTTPStatus.BAD_REQUEST <= exc.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    return
                continue
            except ValueError as exc:
                raise Refused(f"the registry gave an address that cannot be used: {foreign(str(exc))}") from exc
            except OSError as exc:
                await self._wait(f"not connected: {exc.strerror or exc}")
                continue
            self._delay = 0.0
            self._config.report(f"connected to {self._config.registry.url}")
            await self._read(socket, identity)
            count = len(self._streams)
            waiting = f"; {count} stream{'' if count == 1 else 's'} wait for the next one" if count else ""
            await self._wait(f"connection lost{waiting}")

    async def _read(self, socket: DialledSocket, identity: Identity) -> None:
        self._streams.connected(socket, identity)
        try:
            while frames := await socket.receive():
                for frame in frames:
                    self._streams.frame_received(frame)
        except asyncio.CancelledError:
            await self._streams.aclose()  # while the harnesses can still be told
            raise
        finally:
            self._streams.connection_lost()
            await socket.aclose()

    async def _wait(self, why: str) -> None:
        seconds = self._delay * (1 + random.random() / 2) if self._delay else QUICK_DELAY
        self._config.report(f"{why}; next attempt in {seconds:.1f} s")
        await asyncio.sleep(seconds)
        self._delay = min(max(2 * self._delay, FIRST_DELAY), LONGEST_DELAY)


def _code(body: bytes) -> str:
    """Of an error of our rendezvous; others may answer anything."""
    try:
        return msgspec.json.decode(body, type=Failed).error.code
    except UNREADABLE:
        return ""
