"""What an exec-server's client must be able to do, against any server: the tests of its modules, and a storm."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.ordering import Event
from codex_mcp.execclient.process import Process
from codex_mcp.wire.exec.protocol import ProcessClosed, ProcessExited, ProcessOutput
from tests.execclient import test_client, test_files, test_link, test_process
from tests.support.exec.cutting_proxy import CuttingProxy, Faults

Scene = Callable[[Path], Awaitable[None]]

EXIT_CODE = 7


def scenes(*, without: frozenset[str] = frozenset()) -> dict[str, Scene]:
    """The tests that need nothing but a folder, by name; each starts the server that `served_by` names."""
    found = {
        name: test
        for module in (test_client, test_files, test_link, test_process)
        for name, test in vars(module).items()
        if inspect.iscoroutinefunction(test) and list(inspect.signature(test).parameters) == ["tmp_path"]
    }
    assert without <= set(found), f"no such tests: {without - set(found)}"
    return {name: test for name, test in found.items() if name not in without}


@dataclass(frozen=True, slots=True)
class Size:
    """How much a storm has to get through."""

    processes: int
    lines: int
    cut: float
    """How likely each message is the last of its connection."""
    ghost: float = 0.3
    """How likely a cut connection returns as a ghost. A Codex server may keep the session for the ghost for good."""


@dataclass(frozen=True, slots=True)
class Weathered:
    """What a storm brought."""

    events: int
    cuts: int
    repeats: int
    ghosts: int


async def storm(server_port: int, size: Size, seed: int) -> Weathered:
    """Many processes echo line by line, or talk by themselves, while the connection breaks again and again, and
    messages of both sides come late, or twice, or once more from a connection that is gone.

    Every line must come back exactly once and in order.
    """
    async with CuttingProxy(server_port, seed=seed) as proxy, ExecServerClient(proxy.url) as client:
        processes = [await client.start(_argv(number, size), _launch(number)) for number in range(size.processes)]
        proxy.faults = Faults(cut=size.cut, delay=0.02, repeat=0.05, ghost=size.ghost)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_converse(number, process, size)) for number, process in enumerate(processes)]
        proxy.faults = Faults()
        return Weathered(sum(task.result() for task in tasks), proxy.cuts, proxy.repeats, proxy.ghosts)


def _argv(number: int, size: Size) -> list[str]:
    # A shell's own read and echo keep nothing back. Descriptor 9 is a pipe where nothing comes: a pause.
    echoing, pausing = "read -r line; echo $line", "echo line $i; read -rt 0.004 -u 9"
    each = echoing if number % 2 else pausing
    return ["bash", "-c", f"exec 9<> <(:); for ((i = 0; i < {size.lines}; i++)); do {each}; done; exit {EXIT_CODE}"]


def _launch(number: int) -> StartOptions:
    return StartOptions(pipe_stdin=bool(number % 2))


async def _converse(number: int, process: Process, size: Size) -> int:
    """Return how many events came. An echo is waited for line by line, so that each line is an event of its own."""
    lines = [f"line {line}\n".encode() for line in range(size.lines)]
    events: list[Event] = []
    stream = process.events()
    if number % 2:
        for line in lines:
            await process.write(line)
            echo = await _next_output(stream, events)
            assert echo == line
    events += [event async for event in stream]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.exit_code for event in events if isinstance(event, ProcessExited)] == [EXIT_CODE]
    assert isinstance(events[-1], ProcessClosed)
    output = b"".join(event.chunk for event in events if isinstance(event, ProcessOutput))
    assert output == b"".join(lines), f"process {number} said {output!r}"
    return len(events)


async def _next_output(stream: AsyncIterator[Event], events: list[Event]) -> bytes:
    """The exit may come before the last output: they are read by different hands."""
    async for event in stream:
        events.append(event)
        if isinstance(event, ProcessOutput):
            return event.chunk
    raise AssertionError(f"the end came first, after {len(events)} events")
