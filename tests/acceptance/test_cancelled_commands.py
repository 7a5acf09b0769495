"""A cancel ends what the commands of its turn started, at whatever moment it comes, and nothing of other turns."""

import asyncio
import os
import signal
from pathlib import Path

from tests.acceptance.test_end_of_life import FREE, a_long_time, server_in, sleepers
from tests.support.patience import PATIENCE
from tests.support.processes import ended, lines_in, processes_at, the_core


async def test_a_cancel_ends_the_daemon_of_a_command_that_codex_has_not_announced(tmp_path: Path) -> None:
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        os.mkfifo(server.setup.work / "started")
        for _ in range(5):  # each time Codex may be a little faster or slower to announce it
            seconds = a_long_time()
            prompt = f'[[scene: daemon-and-wait cmd="setsid sleep {seconds}"]]'
            call = server.call("codex", {"prompt": prompt, **FREE})
            await lines_in(server.setup.work / "started", 1)
            left = [each for each in processes_at(server.setup.home) if any(seconds in word for word in each.argv)]
            server.cancel(call)
            async with asyncio.timeout(PATIENCE):
                for each in left:
                    await ended(each)


async def test_a_cancel_spares_a_daemon_that_another_thread_leaves_meanwhile(tmp_path: Path) -> None:
    own, other = a_long_time(), a_long_time()
    async with server_in(tmp_path) as (server, _model):
        await server.initialize()
        work = server.setup.work
        for name in ("started", "go", "detached"):
            os.mkfifo(work / name)
        first = await server.run("codex", {"prompt": "[[scene: short]]", **FREE})
        thread = first["structuredContent"]["threadId"]
        server.call("codex", {"prompt": f'[[scene: daemon-on-demand cmd="setsid sleep {other}"]]', **FREE})
        await lines_in(work / "started", 1)
        prompt = f'[[scene: one-command seconds="{own}"]]'
        call = server.call("codex-reply", {"threadId": thread, "prompt": prompt})
        await lines_in(work / "started", 1)
        await server.event("exec_command_begin", call)
        core = the_core(server.setup.home)
        os.kill(core.pid, signal.SIGSTOP)  # so that the cancel takes until we let it
        server.cancel(call)
        for _ in range(3):
            await server.answer(server.request("ping"))
        (work / "go").write_text("\n")
        await lines_in(work / "detached", 1)
        os.kill(core.pid, signal.SIGCONT)
        await server.run("codex-reply", {"threadId": thread, "prompt": "[[scene: short]]"})
        assert sleepers(server, own) == []
        assert len(sleepers(server, other)) == 1
