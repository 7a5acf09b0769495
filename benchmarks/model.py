"""The scripted model in a process of its own, so that what it costs is nobody's time but its own.

`python -m benchmarks.model` prints how Codex is told of it, and plays until its stdin ends.
"""

import asyncio
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec

from benchmarks.child import Child
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel

SCRIPT = Path(__file__).with_name("script.toml")


class ModelProcess(Child):
    """`with ModelProcess() as model:`, and write `model.config` into Codex' config.toml."""

    def __init__(self) -> None:
        super().__init__(Popen([sys.executable, "-m", "benchmarks.model"], stdin=PIPE, stdout=PIPE))
        assert self._process.stdout is not None
        overrides = msgspec.json.decode(self._process.stdout.readline(), type=list[str])
        self.config = "".join(f"{line}\n" for line in overrides)


async def _play() -> None:
    async with ScriptedModel(load_script(SCRIPT)) as model:
        print(msgspec.json.encode(model.codex_overrides()).decode(), flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_play())
