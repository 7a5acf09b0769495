"""The real `codex-mcp mcp-server` as a child process, spoken to by hand, on the real Codex and a scripted model."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.processes import the_core
from tests.support.servers.child import Child

Json = dict[str, Any]

CORE_LOST = "Codex ended unexpectedly"
"""What the server's log says of a killed Codex."""

SOURCES = Path(__file__).parents[3] / "src"

TOUR = SOURCES / "codex_mcp/scripted_model/scripts/tour.toml"


@dataclass(slots=True)
class Setup:
    """How a server is started."""

    folder: Path
    """Everything is below it: `home` (HOME and CODEX_HOME), `work` (its working directory), `tmp` (TMPDIR)."""
    overrides: Sequence[str] = ()
    """For Codex, as `-c`."""
    flags: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    command: str = "mcp-server"
    credentials: Json = field(default_factory=dict)
    """The user who runs clients in this place, for `subprocess`; empty for the user who runs the tests."""

    @property
    def home(self) -> Path:
        """HOME."""
        return self.folder / "home"

    @property
    def codex_home(self) -> Path:
        """CODEX_HOME."""
        return self.home / ".codex"

    @property
    def work(self) -> Path:
        """Where the server and its agents work."""
        return self.folder / "work"

    def make(self) -> None:
        """Make the folders."""
        for folder in (self.codex_home, self.work, self.folder / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)

    def argv(self) -> list[str]:
        """The command line."""
        overrides = [word for override in self.overrides for word in ("-c", override)]
        return [sys.executable, "-m", "codex_mcp", self.command, *overrides, *self.flags]

    def env(self) -> dict[str, str]:
        """The environment: nothing of ours but PATH, and the sources that are being tested."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCES),
            "HOME": str(self.home),
            "CODEX_HOME": str(self.codex_home),
            "TMPDIR": str(self.folder / "tmp"),
            **self.environment,
        }


class McpServer(Child):
    """`async with McpServer(setup) as server:` ends it, and kills it if it does not end."""

    def __init__(self, setup: Setup) -> None:
        setup.make()
        super().__init__(setup.argv(), setup.env(), setup.work)
        self.setup = setup
        self.messages: list[Json] = []
        """Everything that it said, in order."""
        self._next_id = 0
        self._arrived = asyncio.Condition()
        self._ended = False

    async def begin(self) -> None:
        """It is ready at once: what is written to it waits until it reads."""
        self.spawn_reader(self._read())

    @property
    def log(self) -> str:
        """What it wrote to its log file."""
        return (self.setup.codex_home / "log/codex-rmcp.log").read_text()

    def send(self, message: object) -> None:
        """Write one message."""
        self.write(msgspec.json.encode(message) + b"\n")

    def request(self, method: str, params: object = None, *, request_id: int | str | None = None) -> int | str:
        """Send a request; return its id."""
        if request_id is None:
            request_id = self._next_id
            self._next_id += 1
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return request_id

    def call(
        self, tool: str, arguments: Json, *, meta: Json | None = None, request_id: int | str | None = None
    ) -> int | str:
        """Send a `tools/call`; return its id."""
        params: Json = {"name": tool, "arguments": arguments}
        if meta is not None:
            params["_meta"] = meta
        return self.request("tools/call", params, request_id=request_id)

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def cancel(self, request_id: int | str) -> None:
        """Take a request back."""
        self.notify("notifications/cancelled", {"requestId": request_id, "reason": "test"})

    def reply(self, request_id: int | str, result: object) -> None:
        """Answer a request of the server."""
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    async def initialize(self, *, elicitation: bool = True, name: str = "tests", revision: str = "2025-06-18") -> Json:
        """Shake hands."""
        capabilities: Json = {"elicitation": {}} if elicitation else {}
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        }
        answer = await self.answer(self.request("initialize", params))
        self.notify("notifications/initialized")
        return answer

    async def answer(self, request_id: int | str) -> Json:
        """Wait for the answer to a request of ours: the whole message."""
        return await self.wait_for(lambda message: message.get("id") == request_id and "method" not in message)

    async def result(self, request_id: int | str) -> Json:
        """Wait for the result of a request of ours."""
        answer = await self.answer(request_id)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    async def run(self, tool: str, arguments: Json, *, meta: Json | None = None) -> Json:
        """Call a tool and wait for its result."""
        return await self.result(self.call(tool, arguments, meta=meta))

    async def question(self, number: int = 0) -> Json:
        """Wait for the server's `elicitation/create` of this number."""
        return await self.wait_for(
            lambda message: message.get("method") == "elicitation/create" and message["id"] == number
        )

    async def event(self, kind: str, request_id: int | str | None = None) -> Json:
        """Wait for the first `codex/event` of this type (of this call)."""
        return await self.wait_for(
            lambda message: (
                message.get("method") == "codex/event"
                and message["params"]["msg"]["type"] == kind
                and request_id in (None, message["params"]["_meta"]["requestId"])
            )
        )

    def events(self, request_id: int | str | None = None) -> list[Json]:
        """The `msg` of all events so far (of one call)."""
        return [
            message["params"]["msg"]
            for message in self.messages
            if message.get("method") == "codex/event" and request_id in (None, message["params"]["_meta"]["requestId"])
        ]

    async def wait_for(self, wanted: Callable[[Json], bool]) -> Json:
        """Wait for a message, also among those that came already."""
        seen = 0
        try:
            async with asyncio.timeout(PATIENCE), self._arrived:
                while True:
                    for message in self.messages[seen:]:
                        if wanted(message):
                            return message
                    seen = len(self.messages)
                    assert not self._ended, f"the server has ended; it said last: {self.messages[-3:]} {self.stderr}"
                    await self._arrived.wait()
        except TimeoutError:
            raise AssertionError(f"nothing came; the last messages: {self.messages[-5:]} {self.stderr}") from None

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until this is true; after each ping that the server has answered it is looked at again."""
        async with asyncio.timeout(PATIENCE):
            while not is_true():
                await self.answer(self.request("ping"))

    async def kill_core(self) -> None:
        """Kill its Codex, and wait until it has noticed."""
        noticed = self.log.count(CORE_LOST)
        os.kill(the_core(self.setup.home).pid, signal.SIGKILL)
        await self.until(lambda: self.log.count(CORE_LOST) > noticed)

    async def _read(self) -> None:
        while (message := await self._next_message(self.stdout)) is not None:
            async with self._arrived:
                self.messages.append(message)
                self._arrived.notify_all()
        async with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    async def _next_message(self, stdout: asyncio.StreamReader) -> Json | None:
        line = await stdout.readline()
        message: Json | None = msgspec.json.decode(line) if line else None
        return message


@contextlib.asynccontextmanager
async def scripted_server(
    folder: Path,
    *flags: str,
    script: Path = TOUR,
    overrides: Sequence[str] = (),
    environment: dict[str, str] | None = None,
) -> AsyncIterator[tuple[McpServer, ScriptedModel]]:
    """A server and its model, which the test holds in its hands (gates, requests seen)."""
    async with ScriptedModel(load_script(script)) as model:
        setup = Setup(folder, [*model.codex_overrides(), *overrides], flags, environment or {})
        async with McpServer(setup) as server:
            yield server, model
