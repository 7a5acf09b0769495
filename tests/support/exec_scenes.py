"""What an exec-server's client must be able to do, as scenes that run against any server."""

import asyncio
from dataclasses import dataclass

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import Launch
from codex_mcp.execclient.process import Process
from codex_mcp.wire.execserver import ProcessClosed, ProcessExited, ProcessOutput
from tests.support.cutting_proxy import CuttingProxy, Faults

STORM = Faults(cut=0.003, delay=0.02, repeat=0.05)
"""A connection that lasts some three hundred messages."""

EXIT_CODE = 7


@dataclass(frozen=True, slots=True)
class Size:
    """How much a storm has to get through."""

    processes: int
    lines: int


async def storm(server_port: int, size: Size, seed: int) -> tuple[int, int]:
    """Many processes echo line by line, or talk by themselves, while the connection breaks again and again.

    Every line must come back exactly once and in order. Returns how many events came, and how many cuts there were.
    """
    async with CuttingProxy(server_port, seed=seed) as proxy, ExecServerClient(proxy.url) as client:
        processes = [await client.start(_argv(number, size), _launch(number)) for number in range(size.processes)]
        proxy.faults = STORM
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_converse(number, process, size)) for number, process in enumerate(processes)]
        proxy.faults = Faults()
        return sum(task.result() for task in tasks), proxy.cuts


def _argv(number: int, size: Size) -> list[str]:
    if number % 2:
        return ["sh", "-c", f"head -n {size.lines}; exit {EXIT_CODE}"]
    # A builtin that waits on a pipe where nothing comes: lines one by one, without a process for each pause.
    talk = f"exec 9<> <(:); for ((i = 0; i < {size.lines}; i++)); do echo line $i; read -rt 0.004 -u 9; done"
    return ["bash", "-c", f"{talk}; exit {EXIT_CODE}"]


def _launch(number: int) -> Launch:
    return Launch(pipe_stdin=bool(number % 2))


async def _converse(number: int, process: Process, size: Size) -> int:
    lines = [f"line {line}\n".encode() for line in range(size.lines)]
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read_all(process))
        if number % 2:
            for line in lines:
                await process.write(line)
    output, events = reading.result()
    assert output == b"".join(lines), f"process {number} said {output!r}"
    return events


async def read_all(process: Process) -> tuple[bytes, int]:
    """All output, once it is sure that the sequence is whole: 1, 2, 3 …, one exit, and the end."""
    events = [event async for event in process.events()]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [type(event) for event in events].count(ProcessExited) == 1
    assert isinstance(events[-1], ProcessClosed)
    assert await process.wait() == EXIT_CODE
    return b"".join(event.chunk for event in events if isinstance(event, ProcessOutput)), len(events)
