"""The scripted model in a process of its own, so that what it costs is nobody's time but its own.

`python -m benchmarks.model` prints how Codex is told of it, and plays until its stdin ends.
"""

import asyncio
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from types import TracebackType
from typing import Self

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel

SCRIPT = Path(__file__).with_name("script.toml")
END_LIMIT = 10.0
"""Seconds that the model gets to end; it needs none."""


class ModelProcess:
    """`with ModelProcess() as model:`, and write `model.config` into Codex' config.toml."""

    def __init__(self) -> None:
        self._process = Popen([sys.executable, "-m", "benchmarks.model"], stdin=PIPE, stdout=PIPE)
        assert self._process.stdout is not None
        overrides = msgspec.json.decode(self._process.stdout.readline(), type=list[str])
        self.config = "".join(f"{line}\n" for line in overrides)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Popen's own end waits without a limit.
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_LIMIT)
        finally:
            self._process.kill()
            with self._process:
                pass


async def _play() -> None:
    async with ScriptedModel(load_script(SCRIPT)) as model:
        print(msgspec.json.encode(model.codex_overrides()).decode(), flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_play())
