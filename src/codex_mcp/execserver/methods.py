"""The method table: every method with the type of its parameters and the function that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.execserver.files.handles import FileHandles
from codex_mcp.execserver.files.missing_watches import MissingWatches
from codex_mcp.execserver.files.requests import Files
from codex_mcp.execserver.http.requests import HttpRequests
from codex_mcp.execserver.processes.processes import Processes
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec import protocol
from codex_mcp.wire.exec.http import HttpRequest

P = TypeVar("P", bound=Struct)


class Services(Struct, frozen=True):
    """What the methods of one connection act on. Processes belong to the session, the rest to the connection."""

    processes: Processes
    files: Files
    handles: FileHandles
    watches: MissingWatches
    http: HttpRequests
    info: protocol.EnvironmentInfo

    def set_full(self, *, is_full: bool) -> None:
        self.processes.set_full(is_full=is_full)
        self.http.set_full(is_full=is_full)

    async def aclose(self) -> None:
        await self.http.aclose()
        self.handles.close_all()
        self.watches.close_all()


class Method(Struct, frozen=True):
    """How a method is decoded and called. The call returns the answer, or a coroutine that returns it."""

    family: str
    decode: Callable[[bytes], Any] | None
    call: Callable[[Services, Any], object]


def _method(family: str, params: type[P], call: Callable[[Services, P], object]) -> Method:
    return Method(family, msgspec.json.Decoder(params).decode, call)


def _exec(params: type[P], call: Callable[[Processes, P], object]) -> Method:
    return _method("exec", params, lambda services, asked: call(services.processes, asked))


def _file(params: type[P], *, writes: bool, is_slow: bool) -> Method:
    def call(services: Services, asked: P) -> object:
        return services.files.answer(asked, writes=writes, is_slow=is_slow)

    return _method("filesystem", params, call)


def _handle(params: type[P], call: Callable[[FileHandles, P], object]) -> Method:
    return _method("filesystem", params, lambda services, asked: call(services.handles, asked))


METHODS: Final[dict[str, Method]] = {
    "process/start": _exec(protocol.StartProcess, Processes.start),
    "process/read": _exec(protocol.ReadProcess, Processes.read),
    "process/write": _exec(protocol.WriteProcess, Processes.write),
    "process/signal": _exec(protocol.SignalProcess, Processes.signal),
    "process/terminate": _exec(protocol.TerminateProcess, Processes.terminate),
    "process/resize": _exec(protocol.ResizeProcess, Processes.resize),
    "process/closeStdin": _exec(protocol.CloseStdin, Processes.close_stdin),
    "environment/info": Method("environment info", None, lambda services, _: services.info),
    "environment/status": Method("environment status", None, lambda _services, _: protocol.EnvironmentStatus()),
    "fs/readFile": _method("filesystem", fs.ReadFile, lambda services, asked: services.files.read_file(asked)),
    "fs/writeFile": _method("filesystem", fs.WriteFile, lambda services, asked: services.files.write_file(asked)),
    "fs/createDirectory": _file(fs.CreateDirectory, writes=True, is_slow=False),
    "fs/getMetadata": _file(fs.GetMetadata, writes=False, is_slow=False),
    "fs/canonicalize": _file(fs.Canonicalize, writes=False, is_slow=False),
    "fs/readDirectory": _file(fs.ReadDirectory, writes=False, is_slow=True),
    "fs/walk": _file(fs.Walk, writes=False, is_slow=True),
    "fs/remove": _file(fs.Remove, writes=True, is_slow=True),
    "fs/copy": _file(fs.Copy, writes=True, is_slow=True),
    "fs/open": _handle(fs.OpenFile, FileHandles.open),
    "fs/readBlock": _handle(fs.ReadBlock, FileHandles.read_block),
    "fs/writeBlock": _handle(fs.WriteBlock, FileHandles.write_block),
    "fs/close": _handle(fs.CloseFile, FileHandles.close),
    "http/request": _method("http", HttpRequest, lambda services, asked: services.http.request(asked)),
    "fs/watchMissing": _method("filesystem", fs.WatchMissing, lambda services, asked: services.watches.watch(asked)),
}

WAITING: Final = frozenset({"process/read", "process/write", "http/request"})
"""Methods that change nothing here while they wait, so that others need not wait for them."""

URGENT: Final = frozenset({"environment/info", "environment/status", "process/signal", "process/terminate", "fs/close"})
"""Methods that overtake others, with --concurrent-requests."""
