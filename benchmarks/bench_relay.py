"""What the way through a rendezvous costs: a direct WebSocket beside the relay, and Codex's executor beside ours.

All rows use our client, which stays the same on every way.
"""

from __future__ import annotations

import asyncio

import uvloop

from benchmarks.bench_exec_output import BLOCK, writer
from benchmarks.clients import Stopwatch
from benchmarks.exec_servers import ExecServer
from benchmarks.lines import NoAnswer
from benchmarks.place import Place
from benchmarks.remote import OPTIONS, behind_a_rendezvous
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import StartOptions
from codex_mcp.wire.exec.protocol import ProcessOutput

ROUNDS = 20
SECONDS = 40.0
CONNECTS = 5
TRIPS = 200
BLOCKS = 192
"""Blocks that a command writes: 12 MiB. Codex's executor does not wait for a slow harness, which is cut off when 16 MiB
wait for it."""


class Way:
    """One way to an executor, and what was measured on it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.handshakes: list[float] = []
        self.trips: list[float] = []
        self.rates: list[float] = []

    async def measure(self, cwd: str) -> None:
        """Once each; connecting takes no time beside the rest, and is done several times."""
        for _ in range(CONNECTS):
            watch = Stopwatch()
            async with ExecServerClient(self._url, OPTIONS):
                self.handshakes.append(watch.milliseconds())
        async with ExecServerClient(self._url, OPTIONS) as client:
            watch = Stopwatch()
            for _ in range(TRIPS):
                await client.environment_status()
            self.trips.append(watch.milliseconds() / TRIPS)
            self.rates.append(await _rate(client, cwd))


async def _rate(client: ExecServerClient, cwd: str) -> float:
    size = 0
    watch = Stopwatch()
    process = await client.start(writer(BLOCKS), StartOptions(cwd=cwd))
    async for event in process.events():
        size += len(event.chunk) if isinstance(event, ProcessOutput) else 0
    took = watch.milliseconds()
    if size != BLOCKS * BLOCK:
        raise NoAnswer(f"cannot measure: {size} bytes came, and not {BLOCKS * BLOCK}")
    return size / 1000 / took


def run(place: Place) -> list[Row]:
    """Use all three in turn."""
    executors = {"ours": place.remote_ours(), "codex": place.remote_theirs()}
    with (
        ExecServer(place.exec_ours()) as server,
        behind_a_rendezvous(place, executors) as (our_url, their_url),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        direct, relayed, codex = ways = (Way(server.url), Way(our_url), Way(their_url))
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for way in ways:
                runner.run(way.measure(str(server.cwd)))
    return [
        Row("relay, beside direct: connect", Unit.MILLISECONDS, direct.handshakes, relayed.handshakes, Aim(10)),
        Row(
            "relay, beside direct: round trip",
            Unit.MILLISECONDS,
            direct.trips,
            relayed.trips,
            Aim(0.4),
            is_difference=True,
        ),
        Row(
            "relay, beside direct: output (more is better)",
            Unit.MEGABYTES_PER_SECOND,
            direct.rates,
            relayed.rates,
            Aim(at_least_times=0.4),
        ),
        Row("relay, beside Codex's executor: connect", Unit.MILLISECONDS, codex.handshakes, relayed.handshakes),
        Row("relay, beside Codex's executor: round trip", Unit.MILLISECONDS, codex.trips, relayed.trips),
        Row(
            "relay, beside Codex's executor: output (more is better)",
            Unit.MEGABYTES_PER_SECOND,
            codex.rates,
            relayed.rates,
            Aim(at_least_times=1.5),
        ),
    ]
