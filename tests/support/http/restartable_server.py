"""A server over HTTP that only the holder of a token may use, that can be restarted at its address, and its model."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import TOUR, Setup
from tests.support.servers.ports import fixed_port

TOKEN = "not-a-secret-but-as-long-as-one"


class House:
    """Where the clients of a test come to."""

    def __init__(self, setup: Setup, model: ScriptedModel) -> None:
        self.setup = setup
        self.model = model
        self.port = fixed_port()
        self._stack = contextlib.AsyncExitStack()

    @property
    def url(self) -> str:
        """Its front door."""
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def headers(self) -> dict[str, str]:
        """What a client must send along."""
        return {"Authorization": f"Bearer {TOKEN}"}

    @property
    def log(self) -> str:
        """What the server wrote to its log file, before and after a restart."""
        return (self.setup.codex_home / "log/codex-rmcp.log").read_text()

    async def open(self) -> None:
        """Start the server."""
        argv = [*self.setup.argv(), "--port", str(self.port)]
        await self._stack.enter_async_context(ChildServer(self.setup, argv))

    async def aclose(self) -> None:
        """End the server; nothing that it started is left."""
        await self._stack.aclose()
        await all_ended(self.setup.home)

    async def restart(self) -> None:
        """End the server, and start another one in its place."""
        await self.aclose()
        await self.open()


@contextlib.asynccontextmanager
async def http_house(
    folder: Path, *flags: str, script: Path = TOUR, overrides: Sequence[str] = (), command: str = "mcp-server"
) -> AsyncIterator[House]:
    """Its `home`, `work` and `tmp` are below the folder; clients should live elsewhere."""
    tokens = folder / "tokens"
    tokens.write_text(f"tester {TOKEN}\n")
    async with ScriptedModel(load_script(script)) as model:
        flags = ("--tokens", str(tokens), *flags)
        setup = Setup(folder, [*model.codex_overrides(), *overrides], flags, command=command)
        house = House(setup, model)
        try:
            await house.open()
            yield house
        finally:
            await house.aclose()
