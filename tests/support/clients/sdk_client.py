"""The official SDKs' clients, driven from a test; see tests/judges/typescript_client.mjs for the lines."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.judges import NODE_MODULES, first_python_sdk, node, package, started
from tests.support.http.restartable_server import House
from tests.support.servers.mcp_server import TOUR, Json, Setup

PROGRAMS = Path(__file__).parents[2] / "judges"

PACKAGES = {
    "typescript-1": "@modelcontextprotocol/sdk",
    "typescript-2": "@modelcontextprotocol/client",
    "typescript-2-auto": "@modelcontextprotocol/client",
}
"""How a test names an SDK, and what must be installed for it. `auto` asks for the newest protocol first."""


class SdkClient:
    """Commands go in, events come out."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.events: list[Json] = []
        """Everything that it said, in order."""
        self._process = process
        self._last_id = 0
        self._arrived = asyncio.Condition()
        self._ended = False

    @property
    def revision(self) -> str:
        """The revision of MCP that it and the server have agreed on."""
        return str(self.events[0]["version"])

    @property
    def questions(self) -> list[Json]:
        """What its person was asked."""
        return [event["question"] for event in self.events if "question" in event]

    def call(self, tool: str, arguments: Json, *, progress: bool = False, timeout: float | None = None) -> int:
        """Call a tool; return the call's number."""
        params = {"name": tool, "arguments": arguments}
        return self._command(do="call", params=params, options={"progress": progress, "timeout": timeout})

    def list_tools(self) -> int:
        """Ask for the tools; return the request's number."""
        return self._command(do="list")

    async def use(self, method: str, **params: object) -> Json:
        """Call any method of the SDK's client (TypeScript only) and wait for its result."""
        return await self.result(self._command(do="use", method=method, params=params))

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


def program(sdk: str) -> list[str]:
    """How the client of this SDK is started: `typescript-1`, `typescript-2-auto`, `python-1`, `python-2`, …"""
    language, _, generation = sdk.partition("-")
    if language == "python":
        python = first_python_sdk() if generation == "1" else sys.executable
        return [python, str(PROGRAMS / "python_client.py"), generation]
    package(PACKAGES[sdk])
    return [node(), str(PROGRAMS / "typescript_client.mjs"), str(NODE_MODULES), generation]


@contextlib.asynccontextmanager
async def sdk_client(sdk: str, setup: Setup, server: Json, answer: Json | None = None) -> AsyncIterator[SdkClient]:
    """The SDK's client on this server. At the end it leaves, and nothing that it started is left."""
    setup.make()
    texts = [msgspec.json.encode(value).decode() for value in (server, answer or {"action": "cancel"})]
    tasks = TaskSet()
    async with started([*program(sdk), *texts], setup, {}) as process:
        client = SdkClient(process)
        reading = tasks.spawn(client.read(), name="events of the SDK's client")
        try:
            await client.wait_for(lambda event: "connected" in event)
            yield client
            client.leave()
            await process.wait()
            await reading
        finally:
            await tasks.aclose()


@contextlib.asynccontextmanager
async def sdk_client_on_stdio(
    sdk: str, folder: Path, *flags: str, answer: Json | None = None
) -> AsyncIterator[tuple[SdkClient, ScriptedModel]]:
    """The SDK's client on a server that it starts itself."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides(), flags)
        command, *args = setup.argv()
        server = {"command": command, "args": args, "env": setup.env(), "cwd": str(setup.work)}
        async with sdk_client(sdk, setup, server, answer) as client:
            yield client, model


@contextlib.asynccontextmanager
async def sdk_client_over_http(
    sdk: str, house: House, answer: Json | None = None, **more: object
) -> AsyncIterator[SdkClient]:
    """The SDK's client on a server that runs already."""
    place = Setup(house.setup.folder / "client")
    async with sdk_client(sdk, place, {"url": house.url, "headers": house.headers, **more}, answer) as client:
        yield client
