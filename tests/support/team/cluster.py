"""Servers with folders of their own, as on several machines, in one PostgreSQL."""

import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer
from tests.support.servers.mcp_server import Setup
from tests.support.state.postgres import Postgres
from tests.support.team.scenes import TEAM_SCRIPT

SECRET = "0123456789abcdef" * 4


def free_port() -> int:
    """One on which nothing listens now."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
        return port


def secret_in(folder: Path, text: str = SECRET) -> str:
    """A file with a cluster's secret."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cluster.secret"
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def member(
    folder: Path,
    overrides: Sequence[str],
    dsn: str,
    *flags: str,
    secret: str = SECRET,
    kind: type[Setup] = Setup,
) -> ChildServer:
    """A server that the others reach."""
    port = str(free_port())
    place = ["--port", port, "--advertise", f"http://127.0.0.1:{port}", "--cluster-secret", secret_in(folder, secret)]
    setup = kind(folder, overrides, [*place, *flags], {"CODEX_MCP_STATE": dsn}, "serve")
    return ChildServer(setup, setup.argv())


@contextlib.asynccontextmanager
async def cluster(
    folder: Path, count: int = 3, flags: Sequence[str] = ()
) -> AsyncIterator[tuple[list[ChildServer], ScriptedModel, str]]:
    """So many servers, their model, and the address of their database."""
    postgres = Postgres()
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(postgres.remove)
        postgres.start()
        dsn = await postgres.schema()
        model = await stack.enter_async_context(ScriptedModel(load_script(TEAM_SCRIPT)))
        servers = [member(folder / f"server-{n}", model.codex_overrides(), dsn, *flags) for n in range(count)]
        for server in servers:
            await stack.enter_async_context(server)
        yield servers, model, dsn
