"""Servers of one folder: one that runs an agent, and clients of the others, in either era, over stdio and HTTP."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.server import living_nodes
from codex_mcp.transports.local.sockets import dial, listening
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door, call, request, shake_hands, stateless
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.team_server import TeamServer

CAPABILITIES: Json = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}

APPROVED: Json = {"action": "accept", "content": {"decision": "approved"}}


class Client:
    """A client over HTTP. `told` is what came before the newest answer."""

    def __init__(self, door: Door, *, is_stateless: bool, has_tasks: bool = False) -> None:
        self.door = door
        self.is_stateless = is_stateless
        self.told: list[Json] = []
        self._ids = itertools.count(1)
        self._capabilities = {name: CAPABILITIES[name] for name in CAPABILITIES if has_tasks or name != "extensions"}

    def sent(self, message: Json) -> tuple[Json, dict[str, str]]:
        """A request, and the headers that go with it."""
        return stateless(message, **self._capabilities) if self.is_stateless else (message, {})

    async def ask(self, method: str, **params: object) -> Json:
        """The whole answer to a request."""
        message, headers = self.sent(request(next(self._ids), method, **params))
        answer = await self.door.ask("POST", message, **headers)
        lines = answer.body.decode().splitlines()
        data = [line.removeprefix("data:") for line in lines if line.startswith("data:")] or [answer.body.decode()]
        *self.told, answered = [msgspec.json.decode(each) for each in data if each.strip()]
        found: Json = answered
        return found

    async def run(self, tool: str, arguments: Json, **params: object) -> Json:
        """The result of a call. A question in a handshake is approved, and so is one that is fetched."""
        if not self.is_stateless:
            return await self._run_in_session(call(next(self._ids), tool, arguments, **params))
        result: Json = (await self.ask("tools/call", name=tool, arguments=arguments, **params))["result"]
        if result["resultType"] != "input_required":
            return result
        answers = dict.fromkeys(result["inputRequests"], APPROVED)
        return await self.run(tool, arguments, requestState=result["requestState"], inputResponses=answers)

    async def _run_in_session(self, message: Json) -> Json:
        messages = [said async for said in self._heard(message)]
        self.told = messages[:-1]
        result: Json = messages[-1]["result"]
        return result

    async def _heard(self, message: Json) -> AsyncIterator[Json]:
        async for said in self.door.messages(message):
            if said.get("method") == "elicitation/create":
                answer = {"jsonrpc": "2.0", "id": said["id"], "result": APPROVED}
                assert (await self.door.ask("POST", answer)).status == 202
            yield said


@contextlib.asynccontextmanager
async def web_server(owner: TeamServer) -> AsyncIterator[ChildServer]:
    """A server over HTTP on the folder of this one, and with its model."""
    of = owner.setup
    async with http_server(Setup(of.folder, of.overrides, of.flags, {}, "serve")) as server:
        yield server


async def client_of(server: ChildServer, era: str, *, has_tasks: bool = False) -> Client:
    """A client in this era."""
    if era == "stateless":
        return Client(Door(server.port), is_stateless=True, has_tasks=has_tasks)
    return Client(await shake_hands(server.port, capabilities={"elicitation": {}}), is_stateless=False)


class Cutter:
    """In front of the control socket of a server: `cut` ends what goes through it, `hold` what the server says."""

    def __init__(self, path: Path, aside: Path) -> None:
        self._path = path
        self._aside = aside
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks = TaskSet()
        self._free = asyncio.Event()
        self._free.set()

    def hold(self) -> None:
        """Pass on nothing that the server says, until the next cut."""
        self._free.clear()

    @contextlib.asynccontextmanager
    async def standing(self) -> AsyncIterator["Cutter"]:
        """Put it in the place of the socket."""
        self._path.rename(self._aside)
        server = await asyncio.start_unix_server(self._connected, sock=listening(str(self._path)))
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await self._tasks.aclose()
            self._aside.rename(self._path)

    def cut(self) -> None:
        """End all connections. New ones are passed on again."""
        self._free = asyncio.Event()
        self._free.set()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(sock=await dial(str(self._aside)))
        self._writers += [writer, far_writer]
        self._tasks.spawn(_pass(reader, far_writer), name="to the server")
        self._tasks.spawn(_pass(far_reader, writer, self._free), name="from the server")


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, free: asyncio.Event | None = None) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            if free is not None:
                await free.wait()
            writer.write(data)
            await writer.drain()
    writer.close()


async def cutter_of(server: TeamServer) -> Cutter:
    """One for the control socket of the only living server of its folder."""
    (node,) = await asyncio.to_thread(living_nodes, str(server.state_dir))
    path = server.state_dir / "nodes" / f"{node}.sock"
    await server.until(path.exists)
    return Cutter(path, server.setup.folder / "aside")
