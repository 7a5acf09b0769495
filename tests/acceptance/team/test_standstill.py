"""A server that its database cannot hear stops its Codex before another server may take its agents over."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer
from tests.support.patience import PATIENCE
from tests.support.processes import Process, processes_at
from tests.support.servers.mcp_server import Json
from tests.support.state.cable import Cable
from tests.support.state.postgres import Postgres
from tests.support.state.quick_lease import QuickSetup
from tests.support.team.cluster import member
from tests.support.team.neighbours import Client, client_of
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import refusal, say, structured

FREE = {"sandbox": "danger-full-access", "approval-policy": "never"}

COUNTS = "i=0; while [ ! -e {folder}/enough ]; do i=$((i+1)); echo $i >{folder}/count; done; echo enough"


class Scene:
    """Two servers: the first reaches the database by a cable."""

    def __init__(self, servers: list[ChildServer], postgres: Postgres, cable: Cable, dsn: str) -> None:
        self.servers = servers
        self.postgres = postgres
        self.cable = cable
        self._dsn = dsn
        self._home = servers[0].setup.home

    async def nodes(self) -> set[int]:
        """The processes of all nodes that the database knows."""
        connection = await asyncpg.connect(self._dsn)
        try:
            return {row["pid"] for row in await connection.fetch("SELECT pid FROM node")}
        finally:
            await connection.close()

    def at_work(self) -> list[Process]:
        """The first server's Codex, and what that has started."""
        ours = processes_at(self._home)
        server = self.servers[0].process.pid
        return [each for each in ours if each.pid != server and "codex-mcp-guard" not in each.argv]

    def states(self) -> set[str]:
        """What they do, in the letters of `ps`."""
        return {state for each in self.at_work() if (state := _state(each.pid)) not in ("", "Z")}

    async def until(self, *states: str) -> None:
        """Wait until all of them do that."""
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(self.states) != set(states):
                pass


def _state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[tuple[Scene, ScriptedModel, Client, Client]]:
    """It, its model, and a client of each server."""
    postgres = Postgres()
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(postgres.remove)
        postgres.start()
        dsn = await postgres.schema()
        model = await stack.enter_async_context(ScriptedModel(load_script(TEAM_SCRIPT)))
        cable = await stack.enter_async_context(Cable(postgres.port))
        ways = (dsn.replace(f":{postgres.port}/", f":{cable.port}/"), dsn)
        servers = [
            member(folder / f"server-{n}", model.codex_overrides(), way, kind=QuickSetup) for n, way in enumerate(ways)
        ]
        for server in servers:
            await stack.enter_async_context(server)
        one, two = [await client_of(server, "stateless") for server in servers]
        await two.run("codex_status", {})
        yield Scene(servers, postgres, cable, dsn), model, one, two


def _counting(folder: Path) -> str:
    return f'[[scene: run cmd="{COUNTS.format(folder=folder)}"]]'


def _count(folder: Path) -> str:
    file = folder / "count"
    return file.read_text() if file.exists() else ""


async def _goes_on(folder: Path) -> None:
    before = _count(folder)
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(_count, folder) in ("", before):
            pass


CALLS: tuple[tuple[str, Json], ...] = (
    ("codex-reply", {"id": "arch", "prompt": "x"}),
    ("codex", {"prompt": "x"}),
    ("codex_interrupt", {"id": "arch"}),
    ("codex_close", {"id": "arch"}),
    ("codex_diff", {"id": "arch"}),
    ("codex_threads", {}),
)


@pytest.mark.parametrize("ways", [(), ("there",), ("back",)])
async def test_before_an_agent_is_taken_over_its_codex_stands_still_and_then_ends(
    tmp_path: Path, ways: tuple[str, ...]
) -> None:
    tasks = TaskSet()
    async with scene(tmp_path) as (cluster, _, one, _two):
        server = cluster.servers[0].process.pid
        turn = {"prompt": _counting(tmp_path), "identity": "arch", **FREE}
        running = tasks.spawn(one.run("codex", turn), name="turn")
        await _goes_on(tmp_path)
        cluster.cable.pull(*ways)
        while server in await cluster.nodes():
            pass
        assert cluster.states() == {"T"}
        at_work = [each.pid for each in cluster.at_work()]
        for tool, arguments in CALLS:
            assert "in a moment" in refusal(await one.run(tool, arguments)), tool
        assert not running.done()
        cluster.cable.plug()
        # It was stopped in the middle of a command, and neither that nor anything after it happens.
        assert "another server runs the agent now" in refusal(await running)
        async with asyncio.timeout(PATIENCE):
            while any(_state(pid) not in ("", "Z") for pid in at_work):
                await asyncio.to_thread(cluster.states)
        while (await one.run("codex", {"prompt": say("new"), "identity": "next"})).get("isError"):
            pass
        assert server in await cluster.nodes()


async def test_what_stood_still_while_the_database_was_away_goes_on_and_nothing_changes_hands(tmp_path: Path) -> None:
    tasks = TaskSet()
    async with scene(tmp_path) as (cluster, model, one, two):
        turn = {"prompt": _counting(tmp_path), "identity": "arch", **FREE}
        running = tasks.spawn(one.run("codex", turn), name="turn")
        streaming = tasks.spawn(one.run("codex", {"prompt": gate(), "identity": "dev"}), name="stream")
        await model.wait_for_gate("gate")
        await _goes_on(tmp_path)
        nodes = await cluster.nodes()
        cluster.postgres.signal_all(signal.SIGSTOP)
        await cluster.until("T")
        model.release("gate")
        for client in (one, two):
            assert "in a moment" in refusal(await client.run("codex", {"prompt": "x"}))
        cluster.postgres.signal_all(signal.SIGCONT)
        await _goes_on(tmp_path)
        (tmp_path / "enough").touch()
        assert "enough" in structured(await running)["content"]
        assert structured(await streaming)["content"].endswith("The gate is open.")
        assert await cluster.nodes() == nodes
