"""A connection to a living server that carries the messages of a Codex TUI, line by line."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp import __version__
from codex_mcp.base.settings.kinds import MIB
from codex_mcp.control import failures
from codex_mcp.control.server import PATIENCE, Caller, dial_node
from codex_mcp.rpc import codec
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import ErrorResponse, Response

LONGEST_LINE: Final = 256 * MIB
"""The history of a long conversation is one message."""

LOADING: Final = 60.0
"""Seconds in which a server loads a conversation from disk."""

FIRST_IDS: Final = "codex-mcp-{}"
"""Not those of a TUI."""


class Pipe:
    """Made by `attach_pipe`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._name = name
        self._asked = 0

    async def ask(self, method: str, params: object, patience: float) -> Raw:
        """Before the TUI speaks. Raises CannotReach."""
        self._asked += 1
        self._writer.write(codec.encode_request(FIRST_IDS.format(self._asked), method, params) + b"\n")
        try:
            async with asyncio.timeout(patience):
                line = await self._reader.readline()
        except TimeoutError:
            raise failures.silent(self._name, patience) from None
        except OSError:
            raise failures.lost(self._name) from None
        match codec.decode(line) if line else None:
            case Response(result=result):
                return result
            case ErrorResponse(error=error):
                raise failures.refused(self._name, error.message)
            case _:
                raise failures.lost(self._name)

    async def send(self, message: bytes) -> None:
        """Raises OSError once the connection is lost."""
        # An end of line is only allowed between the words of JSON.
        self._writer.write(message.replace(b"\n", b" ") + b"\n")
        await self._writer.drain()

    async def receive(self) -> bytes:
        """The next message; empty at the end."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):  # lost, or a line that is too long
            return b""
        return line.rstrip(b"\n") if line.endswith(b"\n") else b""

    async def aclose(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def attach_pipe(
    state_dir: str, node: str, name: str, caller: Caller, asked: control.Attach
) -> tuple[Pipe, control.Attached]:
    """A connection that is attached to an agent. Raises CannotReach."""
    try:
        async with asyncio.timeout(PATIENCE):
            dialled = await dial_node(state_dir, node, name)
    except TimeoutError:
        raise failures.silent(name, PATIENCE) from None
    reader, writer = await asyncio.open_unix_connection(sock=dialled, limit=LONGEST_LINE)
    pipe = Pipe(reader, writer, name)
    try:
        hello = control.Hello(
            protocol=control.PROTOCOL, program=caller.program, version=__version__, person=caller.person
        )
        await pipe.ask(control.HELLO, hello, PATIENCE)
        answer = await pipe.ask(control.ATTACH, asked, LOADING)
        return pipe, msgspec.json.decode(answer, type=control.Attached)
    except BaseException:
        await pipe.aclose()
        raise
