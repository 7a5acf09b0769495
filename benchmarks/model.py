"""The scripted model in its own process, so that its time is not measured.

`python -m benchmarks.model` prints the configuration for Codex, and runs until its stdin ends.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from benchmarks.child import Child
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel

SCRIPT = Path(__file__).with_name("script.toml")


class ModelProcess(Child):
    """`with ModelProcess() as model:`, and write `model.config` into Codex's config.toml."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "-m", "benchmarks.model"], Path.cwd())
        assert self._process.stdout is not None
        overrides = msgspec.json.decode(self._process.stdout.readline(), type=list[str])
        self.config = "".join(f"{line}\n" for line in overrides)


async def _play() -> None:
    async with ScriptedModel(load_script(SCRIPT)) as model:
        print(msgspec.json.encode(model.codex_overrides()).decode(), flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_play())
