"""The commands of a thread, found by a variable that an old Codex sets in their environment."""

import os
import select
import subprocess
import uuid

from codex_mcp.codex.legacy.core import COMMAND_MARK, LegacyCore, OldRelease
from tests.support.core.cores import Listener, no_pace
from tests.support.patience import PATIENCE
from tests.support.rpc.memory_channel import memory_pair
from tests.support.settings import make_settings


def command(thread_id: str) -> tuple[subprocess.Popen[bytes], int]:
    """A shell that waits for its child; and a pidfd of the child."""
    environment = {"PATH": os.environ["PATH"], COMMAND_MARK: thread_id}
    shell = subprocess.Popen(["/bin/sh", "-c", "sleep 1000 & echo $!; wait"], env=environment, stdout=subprocess.PIPE)
    assert shell.stdout is not None
    return shell, os.pidfd_open(int(shell.stdout.readline()))


async def test_all_processes_of_the_thread_are_killed_and_no_others() -> None:
    near, _far = memory_pair()
    core = LegacyCore(near, Listener(), make_settings().core, no_pace, OldRelease("0.153.4", {}))
    ours, other = str(uuid.uuid4()), str(uuid.uuid4())
    killed, child = command(ours)
    left, left_child = command(other)
    try:
        with killed, left:
            await core.terminate_command(ours, "any")
            assert killed.wait(PATIENCE) != 0
            assert select.select([child], [], [], PATIENCE)[0] == [child]
            assert left.poll() is None
            assert select.select([left_child], [], [], 0)[0] == []
            await core.terminate_command(other, "any")
    finally:
        os.close(child)
        os.close(left_child)
