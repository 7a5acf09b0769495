"""State nodes in processes of their own (`node.py`), to be killed, stopped and raced."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.support.servers.child import Child
from tests.support.state.node import Answer, Order

ROOT = Path(__file__).parents[3]


class Died(Exception):
    """The process ended before it answered."""


class NodeProcess(Child):
    """A node on a state folder that does what we say."""

    def __init__(self, state_dir: Path, *, ttl: float = 10.0, dies_at: int | None = None) -> None:
        words = [str(state_dir), str(ttl), *([] if dies_at is None else [str(dies_at)])]
        argv = [sys.executable, "-m", "tests.support.state.node", *words]
        super().__init__(argv, {**os.environ, "PYTHONPATH": str(ROOT / "src")}, ROOT)

    async def asks(self, do: str, *args: Any) -> Answer:
        """Have it do something, and wait for the answer."""
        assert self.process.stdin
        try:
            self.write(msgspec.json.encode(Order(do, list(args))) + b"\n")
            await self.process.stdin.drain()
        except ConnectionError:
            raise Died from None
        line = await self.stdout.readline()
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
        self.process.kill()
        await self.process.wait()

    def stop(self) -> None:
        """Stop it, and wait until it stands still."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        """Let it run again."""
        self.process.send_signal(signal.SIGCONT)

    async def ask_to_end(self) -> None:
        """Close its stdin."""
        self.signal(signal.SIGCONT)
        self.close_stdin()
