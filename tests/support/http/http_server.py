"""The real `codex-mcp mcp-server --port 0` as a child process, on the real Codex and a scripted model."""

import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.child import Child
from tests.support.servers.mcp_server import TOUR, Setup

ADDRESS = re.compile(r"serving MCP at https?://\S+:(\d+)/mcp")


class ChildServer(Child):
    """`async with ChildServer(setup, argv) as server:` ends it, and kills it if it does not end."""

    def __init__(self, setup: Setup, argv: Sequence[str]) -> None:
        setup.make()
        super().__init__(argv, setup.env(), setup.work, stdin=False)
        self.setup = setup
        self.port = 0

    async def begin(self) -> None:
        """Wait until it says where it serves."""
        while (found := ADDRESS.search(self.stderr)) is None:
            assert await self.read_stderr(), f"the server ended before it served: {self.stderr}"
        self.port = int(found[1])

    @property
    def log(self) -> str:
        """What it wrote to its log file."""
        return (self.setup.codex_home / "log/codex-rmcp.log").read_text()


def http_server(setup: Setup) -> ChildServer:
    """A server on a free port."""
    return ChildServer(setup, [*setup.argv(), "--port", "0"])


@contextlib.asynccontextmanager
async def scripted_http_server(
    folder: Path, *flags: str, script: Path = TOUR
) -> AsyncIterator[tuple[ChildServer, ScriptedModel]]:
    """A server and its model, which the test holds in its hands (gates, requests seen)."""
    async with (
        ScriptedModel(load_script(script)) as model,
        http_server(Setup(folder, model.codex_overrides(), flags)) as server,
    ):
        yield server, model
