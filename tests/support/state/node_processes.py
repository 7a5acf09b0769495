"""State nodes in processes of their own (`state_node.py`), to be killed, stopped and raced."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tests.support.state.node import Answer, Order

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[3]


class Died(Exception):
    """The process ended before it answered."""


class NodeProcess:
    """A node that does what we say."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def asks(self, do: str, *args: Any) -> Answer:
        """Have it do something, and wait for the answer."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(msgspec.json.encode(Order(do, list(args))) + b"\n")
            await self._process.stdin.drain()
        except ConnectionError:
            raise Died from None
        line = await self._process.stdout.readline()
        if not line:
            raise Died
        return msgspec.json.decode(line, type=Answer)

    async def does(self, do: str, *args: Any) -> Any:
        """Have it do something that must succeed."""
        answer = await self.asks(do, *args)
        assert not answer.error
        return answer.result

    async def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        await self._process.wait()

    def stop(self) -> None:
        """Let it stand still, and wait until it does."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        """Let it run again."""
        self._process.send_signal(signal.SIGCONT)

    async def end(self) -> None:
        """Close its stdin, and wait until it has ended."""
        if self._process.returncode is None:
            assert self._process.stdin
            self.go_on()
            self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def node_process(state_dir: Path, *, ttl: float = 10.0, dies_at: int | None = None) -> AsyncIterator[NodeProcess]:
    """A node on this folder, while inside."""
    words = [str(state_dir), str(ttl), *([] if dies_at is None else [str(dies_at)])]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.support.state.node",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    node = NodeProcess(process)
    try:
        yield node
    finally:
        await node.end()
