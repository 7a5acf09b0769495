"""Speaks the exec-server's protocol message by message, to any server: nothing is hidden, nothing is put in order."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codex_mcp.transports.websockets.dialled import DialledSocket, dial
from codex_mcp.wire.exec.base64 import decode_base64, encode_base64
from tests.support.exec.exec_server import RunningServer
from tests.support.patience import PATIENCE

PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """A server to talk to, a folder to work in, and whether it is Codex's own."""

    url: str
    folder: Path
    is_real: bool = False

    def uri(self, name: str = "") -> str:
        """The URI of a file in the folder."""
        return self.folder.as_uri() + (f"/{name}" if name else "")

    def process(self, process_id: str, argv: list[str], **more: object) -> Json:
        """The parameters of `process/start`."""
        fields: Json = {"processId": process_id, "argv": argv, "cwd": self.uri(), "env": PATH, "tty": False}
        return fields | more

    def shell(self, process_id: str, script: str, **more: object) -> Json:
        """The same, for a line of shell."""
        return self.process(process_id, ["/bin/sh", "-c", script], **more)


class Wire:
    """One connection."""

    def __init__(self, channel: DialledSocket) -> None:
        self.channel = channel
        self.news: list[Json] = []
        """Notifications, and errors with id -1, in the order in which they came."""
        self.session_id = ""
        self._answers: dict[object, Json] = {}
        self._last_id = 0

    def send(self, message: object) -> None:
        """Send anything."""
        self.channel.send(message if isinstance(message, bytes) else json.dumps(message).encode())

    def send_in_one_frame(self, message: object) -> None:
        """Send a message of any length without cutting it, as our own client would."""
        socket = self.channel._socket
        socket._library.send_text(json.dumps(message).encode())
        socket._transport.writelines(socket._library.data_to_send())

    async def call(self, method: str, params: object = None) -> Json:
        """Ask, and return the result."""
        answer = await self.answer(self.ask(method, params))
        assert "result" in answer, answer
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    async def error(self, method: str, params: object = None) -> tuple[int, str]:
        """Ask, and return code and text of the error."""
        answer = await self.answer(self.ask(method, params))
        assert "error" in answer, answer
        error = answer["error"]
        assert isinstance(error, dict)
        return error["code"], error["message"]

    def ask(self, method: str, params: object = None) -> int:
        """Ask, and return the id."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    async def answer(self, message_id: object) -> Json:
        """The answer with this id."""
        while message_id not in self._answers:
            await self._receive()
        return self._answers.pop(message_id)

    async def until(self, count: int) -> list[Json]:
        """So many notifications at least."""
        while len(self.news) < count:
            await self._receive()
        return self.news

    async def closed(self, process_id: str) -> list[Json]:
        """The parameters of all events of a process, in their order, once it is closed."""
        while True:
            events = self.events(process_id)
            if events and events[-1].get("method") == "process/closed":
                sequence = [event["seq"] for event in events]
                if sequence == list(range(1, len(events) + 1)):
                    return events
            await self._receive()

    def events(self, process_id: str) -> list[Json]:
        """The parameters of the events of a process that have come, each with its method, by their numbers."""
        found = []
        for message in self.news:
            params = message.get("params")
            if isinstance(params, dict) and params.get("processId") == process_id:
                found.append({"method": message["method"], **params})
        return sorted(found, key=lambda event: int(str(event["seq"])))

    async def output(self, process_id: str) -> tuple[str, object]:
        """What a process said until it was closed, on any stream, and its exit code."""
        events = await self.closed(process_id)
        (exited,) = (event for event in events if event["method"] == "process/exited")
        return text_of(events), exited["exitCode"]

    async def run(self, params: Json) -> tuple[str, object]:
        """Start a process; what it said and its exit code."""
        await self.call("process/start", params)
        return await self.output(str(params["processId"]))

    async def said(self, process_id: str, words: str) -> None:
        """Wait until a process has said this."""
        while words not in text_of(self.events(process_id)):
            await self._receive()

    async def write(self, process_id: str, data: bytes, write_id: str) -> object:
        """Write to a process; the status."""
        params = {"processId": process_id, "chunk": encode_base64(data), "writeId": write_id}
        return (await self.call("process/write", params))["status"]

    async def ended(self) -> None:
        """Wait until the server has dropped the connection."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self._receive()

    async def _receive(self) -> None:
        async with asyncio.timeout(PATIENCE):
            frames = await self.channel.receive()
        if not frames:
            raise ConnectionError("the server has closed the connection")
        for frame in frames:
            message = json.loads(frame)
            if "id" in message and message["id"] != -1:
                self._answers[message["id"]] = message
            else:
                self.news.append(message)


def text_of(events: list[Json]) -> str:
    """What the output among these events says."""
    chunks = [decode_base64(str(event["chunk"])) for event in events if event["method"] == "process/output"]
    return b"".join(chunks).decode()


@contextlib.asynccontextmanager
async def connected(url: str, **headers: str) -> AsyncIterator[Wire]:
    """A connection that has said nothing yet."""
    channel = await dial(url, headers, PATIENCE)
    try:
        yield Wire(channel)
    finally:
        await channel.aclose()


@contextlib.asynccontextmanager
async def session(url: str, resume: str | None = None, **headers: str) -> AsyncIterator[Wire]:
    """A connection after the handshake."""
    async with connected(url, **headers) as wire:
        params: Json = {"clientName": "test"}
        if resume is not None:
            params["resumeSessionId"] = resume
        wire.session_id = str((await wire.call("initialize", params))["sessionId"])
        wire.send({"method": "initialized"})
        yield wire


OURS = (sys.executable, "-m", "codex_mcp", "exec-server")


@contextlib.asynccontextmanager
async def serving(home: Path, argv: Sequence[str]) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Run a server: its address, and its process."""
    async with RunningServer(argv, home, PATH["PATH"]) as server:
        yield server.url, server.process


@contextlib.asynccontextmanager
async def target(folder: Path, argv: Sequence[str] = OURS) -> AsyncIterator[Target]:
    """A server with a folder to work in, which has a named pipe `gate` to hold processes back."""
    work = folder / "folder"
    work.mkdir()
    os.mkfifo(work / "gate")
    async with serving(folder / "home", argv) as (url, _):
        yield Target(url, work, is_real=argv is not OURS)
