"""Many processes and many connections on a real exec-server, and whether it is afterwards where it was before."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.exec.recordings.files import sandbox, special
from tests.support.exec.wire import OURS, Json, Target, Wire, serving, session
from tests.support.patience import PATIENCE
from tests.support.processes import descriptors, resident_kib

AT_ONCE = 50
"""Processes that are started before the first one is waited for."""

TERMINAL_EVERY = 10
CONFINED_EVERY = 50
"""Most processes are plain; some have a terminal, some are confined, and with each of those goes a confined write."""

CALM = 2 * PATIENCE
"""Seconds until what a server still holds is taken for a leak. A closed process can be read for thirty."""

LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Weight:
    """What the serving process holds."""

    descriptors: int
    children: int
    kibibytes: int


@dataclass(frozen=True, slots=True)
class Soaked:
    """A running server."""

    here: Target
    pid: int

    def weight(self) -> Weight:
        """What it holds now."""
        return Weight(descriptors(self.pid), len(_children(self.pid)), resident_kib(self.pid))

    async def calm(self, wanted: Weight) -> Weight:
        """Wait until it holds no more descriptors and children than that; fail if that never comes."""
        try:
            async with asyncio.timeout(CALM):
                while True:
                    held = self.weight()
                    if held.descriptors <= wanted.descriptors and held.children <= wanted.children:
                        return held
                    await asyncio.sleep(LOOK_EVERY)
        except TimeoutError:
            raise AssertionError(f"the server holds {self.weight()} and not {wanted}") from None


@contextlib.asynccontextmanager
async def soaked_exec_server(folder: Path) -> AsyncIterator[Soaked]:
    """Our server, and a folder `w` to work in."""
    (folder / "w").mkdir()
    async with serving(folder / "home", OURS) as (url, guard):
        (server,) = _children(guard.pid)  # the process that guards has one child, the one that serves
        yield Soaked(Target(url, folder), int(server))


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def many_short(wire: Wire, here: Target, first: int, count: int) -> None:
    """Run so many processes that end at once; every one must be closed, and every answer come."""
    for start in range(first, first + count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, first + count))
        asked = [wire.ask(*_request(here, number)) for number in numbers]
        asked += [wire.ask("fs/writeFile", _write(here)) for number in numbers if number % CONFINED_EVERY == 0]
        for message_id in asked:
            answer = await wire.answer(message_id)
            assert "result" in answer, answer
        missing = {str(number) for number in numbers}
        while missing:
            missing -= {_process(event) for event in wire.news if event["method"] == "process/closed"}
            if missing:
                await wire.until(len(wire.news) + 1)
        wire.news.clear()


def _process(event: Json) -> str:
    params = event["params"]
    assert isinstance(params, dict)
    return str(params["processId"])


def _limits(here: Target) -> Json:
    return sandbox(here, special("root", "read"), special("project_roots", "write"))


def _write(here: Target) -> Json:
    return {"path": here.uri("w/file"), "dataBase64": "eA==", "sandbox": _limits(here)}


def _request(here: Target, number: int) -> tuple[str, Json]:
    more: Json = {"tty": number % TERMINAL_EVERY == 1}
    if number % CONFINED_EVERY == 0:
        more["sandbox"] = _limits(here)
    return "process/start", here.process(str(number), ["/bin/true"], **more)


async def forgotten(wire: Wire, number: int) -> None:
    """Wait until a closed process cannot be read any longer, and so none before it."""
    async with asyncio.timeout(CALM):
        while "error" not in await wire.answer(wire.ask("process/read", {"processId": str(number)})):  # noqa: ASYNC110
            await asyncio.sleep(1)


async def held_at_once(soaked: Soaked, count: int) -> Weight:
    """So many connections, each with a process that waits for input; what the server holds then. All end in order."""
    async with contextlib.AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(session(soaked.here.url)) for _ in range(count)]
        for wire in wires:
            wire.ask("process/start", soaked.here.process("cat", ["/bin/cat"], pipeStdin=True))
        for number, wire in enumerate(wires):
            assert await wire.write("cat", f"I am {number}.".encode(), "1") == "accepted"
        for number, wire in enumerate(wires):
            await wire.said("cat", f"I am {number}.")
        held = soaked.weight()
        assert held.children == count
        for wire in wires:
            assert await wire.call("process/terminate", {"processId": "cat"}) == {"running": True}
        for wire in wires:
            await wire.closed("cat")
        return held
