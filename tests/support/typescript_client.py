"""The official TypeScript SDK's client, driven from a test; see tests/judges/typescript_client.mjs for the lines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.judges import NODE_MODULES, node, package, started
from tests.support.mcp_server import TOUR, Json, Setup

PROGRAM = Path(__file__).parents[1] / "judges/typescript_client.mjs"

PACKAGES = {
    "1": "@modelcontextprotocol/sdk",
    "2": "@modelcontextprotocol/client",
    "2-auto": "@modelcontextprotocol/client",
}
"""How a test names an SDK, and what must be installed for it. `2-auto` asks for the newest protocol first."""


class TypeScriptClient:
    """Commands go in, events come out."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.events: list[Json] = []
        """Everything that it said, in order."""
        self._process = process
        self._last_id = 0
        self._arrived = asyncio.Condition()
        self._ended = False

    def call(self, tool: str, arguments: Json, *, progress: bool = False) -> int:
        """Call a tool; return the call's number."""
        params = {"name": tool, "arguments": arguments}
        return self._command(do="call", params=params, options={"progress": progress})

    def list_tools(self) -> int:
        """Ask for the tools; return the request's number."""
        return self._command(do="list")

    def cancel(self, number: int) -> None:
        """Take a call back."""
        self._write({"id": number, "do": "cancel"})

    def leave(self) -> None:
        """Close the connection and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def outcome(self, number: int) -> Json:
        """The event that ends this request: it has a `result` or an `error`."""
        return await self.wait_for(
            lambda event: event.get("id") == number and not event.keys().isdisjoint(("result", "error"))
        )

    async def result(self, number: int) -> Json:
        """The result of this request."""
        outcome = await self.outcome(number)
        assert "result" in outcome, outcome
        result: Json = outcome["result"]
        return result

    async def run(self, tool: str, arguments: Json) -> Json:
        """Call a tool and wait for its result."""
        return await self.result(self.call(tool, arguments))

    async def wait_for(self, wanted: Callable[[Json], bool]) -> Json:
        """Wait for an event, also among those that came already."""
        async with self._arrived:
            while True:
                for event in self.events:
                    if wanted(event):
                        return event
                assert not self._ended, f"the client has ended: {await self._last_words()}"
                await self._arrived.wait()

    async def read(self) -> None:
        """Read what it says until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            async with self._arrived:
                self.events.append(msgspec.json.decode(line))
                self._arrived.notify_all()
        async with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    async def _last_words(self) -> str:
        assert self._process.stderr is not None
        return (await self._process.stderr.read()).decode()

    def _command(self, **command: object) -> int:
        self._last_id += 1
        self._write({"id": self._last_id, **command})
        return self._last_id

    def _write(self, command: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(command) + b"\n")


@contextlib.asynccontextmanager
async def typescript_client(
    sdk: str, folder: Path, *, answer: Json | None = None
) -> AsyncIterator[tuple[TypeScriptClient, ScriptedModel]]:
    """The SDK's client on our server. At the end it leaves, and the server is gone with all that it started."""
    package(PACKAGES[sdk])
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides())
        setup.make()
        command, *args = setup.argv()
        server = {"command": command, "args": args, "env": setup.env(), "cwd": str(setup.work)}
        texts = [msgspec.json.encode(value).decode() for value in (server, answer or {"action": "cancel"})]
        tasks = TaskSet()
        async with started([node(), str(PROGRAM), str(NODE_MODULES), sdk, *texts], setup, {}) as process:
            client = TypeScriptClient(process)
            reading = tasks.spawn(client.read(), name="events of the TypeScript client")
            try:
                await client.wait_for(lambda event: "connected" in event)
                yield client, model
                client.leave()
                await process.wait()
                await reading
            finally:
                await tasks.aclose()
