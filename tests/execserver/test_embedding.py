import asyncio
import subprocess
import sys

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.embedding import ExecServerRuntimePaths, run_main
from tests.support.patience import PATIENCE

PROGRAM = """
import asyncio, io, os, signal
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execserver.embedding import DEFAULT_LISTEN_URL, ExecServerRuntimePaths, run_main
from codex_mcp.wire.exec.protocol import ProcessOutput

async def main():
    tasks = TaskSet()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as stdout:
        serving = tasks.spawn(run_main(DEFAULT_LISTEN_URL, ExecServerRuntimePaths(), stdout=stdout), name="server")
        address = await asyncio.to_thread(os.read, reading, 100)
        print(address.decode().strip().rpartition(":")[0])
        async with ExecServerClient(address.decode().strip()) as client:
            process = await client.start(["sh", "-c", "echo hello"])
            said = [event.chunk async for event in process.events() if isinstance(event, ProcessOutput)]
            print(b"".join(said).decode().strip())
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        serving.cancel()
        await asyncio.wait([serving])
    print(serving.cancelled(), len(asyncio.all_tasks()))

asyncio.run(main())
"""


@pytest.mark.parametrize("url", ["stdio", "ws://0.0.0.0:0", "ws://localhost:1", "http://127.0.0.1:0"])
def test_what_cannot_be_embedded_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="cannot"):
        asyncio.run(run_main(url, ExecServerRuntimePaths()))


def test_a_program_serves_until_it_cancels_the_task() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == ["ws://127.0.0.1", "hello", "True", "True 1"]
