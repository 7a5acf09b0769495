"""The same through our own client, which puts events in order and survives lost connections, on both servers."""

from __future__ import annotations

import asyncio

import uvloop

from benchmarks.bench_exec_output import BLOCK, writer
from benchmarks.bench_exec_starts import NOTHING
from benchmarks.clients import Stopwatch
from benchmarks.exec_servers import ExecServer, both
from benchmarks.lines import NoAnswer
from benchmarks.place import Place
from benchmarks.rows import Row, Unit
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import StartOptions
from codex_mcp.wire.exec.protocol import ProcessOutput

ROUNDS = 10
SECONDS = 25.0
STARTS = 20
BLOCKS = 1024
"""Blocks that a command writes: 64 MiB."""


def run(place: Place) -> list[Row]:
    """Use our client with both in turn."""
    starts: tuple[list[float], list[float]] = ([], [])
    output: tuple[list[float], list[float]] = ([], [])
    with both(place) as servers, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, server in enumerate(servers):
                starts[side].extend(runner.run(_starts(server)))
                output[side].append(runner.run(_output(server)))
    return [
        Row("exec: start of /bin/true until it is closed, by our client", Unit.MILLISECONDS, *starts),
        Row("exec: output to our client (more is better)", Unit.MEGABYTES_PER_SECOND, *output),
    ]


async def _starts(server: ExecServer) -> list[float]:
    times = []
    async with ExecServerClient(server.url) as client:
        for _ in range(STARTS):
            watch = Stopwatch()
            process = await client.start(NOTHING, StartOptions(cwd=str(server.cwd)))
            await process.wait()
            times.append(watch.milliseconds())
    return times


async def _output(server: ExecServer) -> float:
    size = 0
    async with ExecServerClient(server.url) as client:
        watch = Stopwatch()
        process = await client.start(writer(BLOCKS), StartOptions(cwd=str(server.cwd)))
        async for event in process.events():
            size += len(event.chunk) if isinstance(event, ProcessOutput) else 0
        took = watch.milliseconds()
    if size != BLOCKS * BLOCK:
        raise NoAnswer(f"cannot measure: {size} bytes came, and not {BLOCKS * BLOCK}")
    return size / 1000 / took
