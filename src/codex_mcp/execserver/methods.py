"""The bill of fare: every method, the type of its parameters, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.execserver.files.handles import FileHandles
from codex_mcp.execserver.files.missing_watches import MissingWatches
from codex_mcp.execserver.files.requests import Files
from codex_mcp.execserver.http.requests import HttpRequests
from codex_mcp.execserver.processes.processes import Processes
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.http import HttpRequest
from codex_mcp.wire.exec.protocol import (
    CloseStdin,
    EnvironmentInfo,
    EnvironmentStatus,
    ReadProcess,
    ResizeProcess,
    SignalProcess,
    StartProcess,
    TerminateProcess,
    WriteProcess,
)

P = TypeVar("P", bound=Struct)


@dataclass(frozen=True, slots=True)
class Desk:
    """What a connection's requests are worked on with. Processes belong to the session, the rest to the connection."""

    processes: Processes
    files: Files
    handles: FileHandles
    watches: MissingWatches
    http: HttpRequests
    info: EnvironmentInfo

    def outlet_changed(self, *, is_full: bool) -> None:
        """The client reads too slowly, or there is room again."""
        self.processes.audience.is_full = is_full
        self.processes.audience_changed()
        if is_full:
            self.http.outlet_full()
        else:
            self.http.outlet_ready()

    async def aclose(self) -> None:
        """The connection is over; what belongs to it ends."""
        await self.http.aclose()
        self.handles.close_all()
        self.watches.close_all()


@dataclass(frozen=True, slots=True)
class Method:
    """How one method is read and done. It returns its answer, or a coroutine that will."""

    family: str
    decode: Callable[[bytes], Any] | None
    call: Callable[[Desk, Any], object]


def _method(family: str, params: type[P], call: Callable[[Desk, P], object]) -> Method:
    return Method(family, msgspec.json.Decoder(params).decode, call)


def _exec(params: type[P], call: Callable[[Processes, P], object]) -> Method:
    return _method("exec", params, lambda desk, asked: call(desk.processes, asked))


def _file(params: type[P], call: Callable[[Files, P], object]) -> Method:
    return _method("filesystem", params, lambda desk, asked: call(desk.files, asked))


def _handle(params: type[P], call: Callable[[FileHandles, P], object]) -> Method:
    return _method("filesystem", params, lambda desk, asked: call(desk.handles, asked))


METHODS: Final[dict[str, Method]] = {
    "process/start": _exec(StartProcess, Processes.start),
    "process/read": _exec(ReadProcess, Processes.read),
    "process/write": _exec(WriteProcess, Processes.write),
    "process/signal": _exec(SignalProcess, Processes.signal),
    "process/terminate": _exec(TerminateProcess, Processes.terminate),
    "process/resize": _exec(ResizeProcess, Processes.resize),
    "process/closeStdin": _exec(CloseStdin, Processes.close_stdin),
    "environment/info": Method("environment info", None, lambda desk, _: desk.info),
    "environment/status": Method("environment status", None, lambda _desk, _: EnvironmentStatus()),
    "fs/readFile": _file(fs.ReadFile, Files.read_file),
    "fs/writeFile": _file(fs.WriteFile, Files.write_file),
    "fs/createDirectory": _file(fs.CreateDirectory, Files.create_directory),
    "fs/getMetadata": _file(fs.GetMetadata, Files.get_metadata),
    "fs/canonicalize": _file(fs.Canonicalize, Files.canonicalize),
    "fs/readDirectory": _file(fs.ReadDirectory, Files.read_directory),
    "fs/walk": _file(fs.Walk, Files.walk),
    "fs/remove": _file(fs.Remove, Files.remove),
    "fs/copy": _file(fs.Copy, Files.copy),
    "fs/open": _handle(fs.OpenFile, FileHandles.open),
    "fs/readBlock": _handle(fs.ReadBlock, FileHandles.read_block),
    "fs/writeBlock": _handle(fs.WriteBlock, FileHandles.write_block),
    "fs/close": _handle(fs.CloseFile, FileHandles.close),
    "http/request": _method("http", HttpRequest, lambda desk, asked: desk.http.request(asked)),
    "fs/watchMissing": _method("filesystem", fs.WatchMissing, lambda desk, asked: desk.watches.watch(asked)),
}

WAITING: Final = frozenset({"process/read", "process/write", "http/request"})
"""Methods that change nothing here while they wait; the others need not wait for them."""

URGENT: Final = frozenset({"environment/info", "environment/status", "process/signal", "process/terminate", "fs/close"})
"""Methods that overtake others, with --concurrent-requests."""
