"""A storm of clients on a real server, and whether the server is afterwards where it was before."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.soak.clients import QUICK, SLOW, Client
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door
from tests.support.patience import PATIENCE
from tests.support.processes import descriptors, resident_kib
from tests.support.servers.mcp_server import TOUR, Setup

WORKING = 4
"""Clients of each kind that need an agent: each is a turn of the real Codex."""

CALM = 2 * PATIENCE
"""Seconds until a server that is not back where it was is taken for one that leaks."""

LOOK_EVERY = 0.25

FLAGS = ("--on-client-timeout=stop", "--session-idle", "1", "--thread-idle", "1", "--stall-timeout", "1")
"""What clients leave behind is put away soon, so that nobody has to wait an hour to see it."""

TIDY = {"MALLOC_MMAP_THRESHOLD_": "32768", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""What Python frees goes back to the system at once, so that what it does not free is seen."""

BUSY = (
    "sessions",
    "streams",
    "bus_subscribers",
    "stateless_requests",
    "inbox_messages",
    "unread_messages",
    "threads",
    "turns_running",
    "turns_waiting",
    "questions_open",
)
"""What is zero when nobody is there."""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a server holds."""

    descriptors: int
    tasks: int
    kibibytes: int


@contextlib.asynccontextmanager
async def soaked_server(folder: Path) -> AsyncIterator[ChildServer]:
    """A real server on the real Codex, which puts away quickly what it need not keep."""
    async with (
        ScriptedModel(load_script(TOUR)) as model,
        http_server(Setup(folder, model.codex_overrides(), FLAGS, dict(TIDY))) as server,
    ):
        yield server


async def numbers(port: int) -> dict[str, float]:
    """The server's metrics that have no labels."""
    answer = await Door(port, "/metrics").ask("GET")
    return {
        sample.name.removeprefix("codex_mcp_"): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
        if not sample.labels
    }


async def weight(port: int, pid: int) -> Weight:
    """Weigh it while one client asks."""
    found = await numbers(port)
    return Weight(descriptors(pid), int(found["tasks"]), resident_kib(pid))


async def calm(port: int, pid: int, wanted: Weight | None = None) -> Weight:
    """Wait until nobody is there any longer, and as much is held as wanted; fail if that never comes."""
    found: dict[str, float] = {}
    held: Weight | None = None
    try:
        async with asyncio.timeout(CALM):
            while True:
                found = await numbers(port)
                held = await weight(port, pid)
                if not any(found[name] for name in BUSY) and (wanted is None or _is_back(held, wanted)):
                    return held
                await asyncio.sleep(LOOK_EVERY)
    except TimeoutError:
        left = {name: found[name] for name in BUSY if found.get(name)}
        raise AssertionError(f"the server holds {held} and not {wanted}; there are still {left}") from None


def _is_back(held: Weight, wanted: Weight) -> bool:
    return held.descriptors <= wanted.descriptors and held.tasks <= wanted.tasks


def cast(sessions: int, seed: int) -> list[tuple[Client, random.Random]]:
    """Who comes, in which order, each with its own dice."""
    chance = random.Random(seed)
    clients = [chance.choice(QUICK) for _ in range(sessions - len(SLOW) * WORKING)] + list(SLOW) * WORKING
    chance.shuffle(clients)
    return [(client, random.Random(chance.random())) for client in clients]


async def storm(port: int, sessions: int, seed: int) -> None:
    """Let them all loose at once. Whoever does not get its answer fails the storm."""
    async with asyncio.TaskGroup() as group:
        for client, chance in cast(sessions, seed):
            group.create_task(client(port, chance), name=getattr(client, "__name__", "client"))
