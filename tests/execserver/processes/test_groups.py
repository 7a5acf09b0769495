import os

from codex_mcp.execserver.processes.groups import members


def test_a_group_knows_its_members() -> None:
    assert os.getpid() in members(os.getpgrp())
    assert os.getpid() not in members(1)
