"""200 executors and 1,000 streams come, are used, and go, again and again: the rendezvous does not grow."""

import asyncio
import contextlib
import operator
import resource
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from codex_mcp.relay.bodies import Registered
from codex_mcp.relay.frames import Data, Frame, Handshake, decode, encode
from codex_mcp.relay.registry_client import RegistryClient
from codex_mcp.transports.websockets.dialled import DialledSocket
from tests.support.patience import PATIENCE
from tests.support.processes import descriptors, resident_kib
from tests.support.relay import private_keys
from tests.support.rendezvous import MeasuredRendezvous, RunningRendezvous, relay_socket

PRINCIPALS: Final = 20
EXECUTORS: Final = 200
STREAMS: Final = 5
"""Of each executor, every one with its own harness."""

ROUNDS: Final = 4
AT_ONCE: Final = 20
"""Connections that are opened at the same time."""

MORE_OBJECTS: Final = 1200
MORE_KIB: Final = 512
MORE_RESIDENT_KIB: Final = 4 * 1024
"""What may be added after the second round, in which 2,400 sockets come and go: less than an object, and a quarter of a
KiB for each. What the system gave the process may grow more: it depends on what was in use at once."""

FILES: Final = 4096
"""More than enough for 1,200 sockets."""

KEYS: Final = private_keys("anyone").public
OUTPUT: Final = Data(0, bytes(20_000))

Result = TypeVar("Result")


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(FILES, before[1])), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def token(number: int) -> str:
    return f"the-token-of-principal-{number % PRINCIPALS}"


async def gathered(work: Sequence[Awaitable[Result]]) -> list[Result]:
    """A few at a time, in order."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(each: Awaitable[Result]) -> Result:
        async with gate:
            return await each

    return await asyncio.gather(*map(one, work))


class Crowd:
    """Everyone who uses one rendezvous."""

    def __init__(self, rendezvous: RunningRendezvous) -> None:
        self._url = rendezvous.url
        self._pid = rendezvous.process.pid
        self._registered: list[Registered] = []

    def _registry(self, number: int) -> RegistryClient:
        return RegistryClient(self._url, token(number))

    async def register(self) -> None:
        work = [self._registry(number).register(f"executor-{number}", KEYS, "") for number in range(EXECUTORS)]
        self._registered = await gathered(work)

    async def come_and_go(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            executors = await gathered([relay_socket(each) for each in self._registered])
            for executor in executors:
                stack.push_async_callback(executor.aclose)
            work = [self._use(number, executor) for number, executor in enumerate(executors)]
            for harnesses in await gathered(work):
                for harness in harnesses:
                    stack.push_async_callback(harness.aclose)
            assert await self._numbers() == {"executors": EXECUTORS, "streams": 1000, "sockets": 1200}

    async def _use(self, number: int, executor: DialledSocket) -> list[DialledSocket]:
        """Let harnesses connect to one executor, and a frame pass in each direction of each stream."""
        answer = await self._registry(number).connect(f"executor-{number}", KEYS)
        harnesses = [await relay_socket(answer) for _ in range(STREAMS)]
        for stream, harness in enumerate(harnesses):
            harness.send(encode(Frame(f"stream-{stream}", Handshake(bytes(4000)))))
        came = [frame async for frame in frames(executor, STREAMS)]
        assert sorted(frame.stream_id for frame in came) == [f"stream-{stream}" for stream in range(STREAMS)]
        for frame in came:
            executor.send(encode(Frame(frame.stream_id, OUTPUT)))
        for stream, harness in enumerate(harnesses):
            assert [frame async for frame in frames(harness, 1)] == [Frame(f"stream-{stream}", OUTPUT)]
        return harnesses

    async def left(self, files: int) -> None:
        """Wait until nothing of them is left."""
        end = time.monotonic() + PATIENCE
        nothing = {"executors": 0, "streams": 0, "sockets": 0}
        while (numbers := await self._numbers()) != nothing or descriptors(self._pid) > files:
            assert time.monotonic() < end, f"left: {numbers}, {descriptors(self._pid)} of {files} files"
            await asyncio.sleep(0.05)

    async def _numbers(self) -> dict[str, float]:
        request = urllib.request.Request(self._url + "/metrics", headers={"Authorization": f"Bearer {token(0)}"})
        answer = await asyncio.to_thread(urllib.request.urlopen, request, timeout=PATIENCE)
        with answer:
            text = answer.read().decode()
        prefix = "codex_mcp_rendezvous_"
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        wanted = [f"{prefix}{name}" for name in ("executors", "streams", "sockets")]
        return {each.name.removeprefix(prefix): each.value for each in samples if each.name in wanted}


async def frames(socket: DialledSocket, count: int) -> AsyncIterator[Frame]:
    async with asyncio.timeout(PATIENCE):
        while count > 0:
            batch = await socket.receive()
            assert batch, "the rendezvous closed a socket"
            count -= len(batch)
            for raw in batch:
                yield decode(raw)


async def test_two_hundred_executors_and_a_thousand_streams_keep_memory_flat(tmp_path: Path) -> None:
    lines = [f"principal-{number} {token(number)} register=* reach=*" for number in range(PRINCIPALS)]
    (tmp_path / "tokens").write_text("\n".join(lines))
    with many_files():
        async with MeasuredRendezvous(tmp_path) as rendezvous:
            crowd = Crowd(rendezvous)
            await crowd.register()
            pid = rendezvous.process.pid
            files = descriptors(pid)
            sizes = []
            for _ in range(ROUNDS):
                await crowd.come_and_go()
                await crowd.left(files)
                sizes.append((*await rendezvous.in_use(), resident_kib(pid)))
    growth = [last - second for second, last in zip(sizes[1], sizes[-1], strict=True)]
    allowed = (MORE_OBJECTS, MORE_KIB, MORE_RESIDENT_KIB)
    assert all(map(operator.le, growth, allowed)), f"objects, KiB in use and KiB resident after each round: {sizes}"
