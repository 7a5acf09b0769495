"""Sockets by path, with real files."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from codex_mcp.transports.local.sockets import LONGEST_PATH, dial, listening, remove_socket


def deep(folder: Path) -> Path:
    """A folder whose path is longer than an address may be."""
    found = folder / ("d" * 100) / ("e" * 100)
    found.mkdir(parents=True)
    return found


@pytest.mark.parametrize("is_deep", [False, True])
async def test_a_socket_of_any_path_is_private_and_can_be_dialled(tmp_path: Path, *, is_deep: bool) -> None:
    path = str((deep(tmp_path) if is_deep else tmp_path) / "n.sock")
    assert (len(path) > LONGEST_PATH) is is_deep
    with listening(path) as listener:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with await dial(path) as near:
            far, _ = await asyncio.get_running_loop().sock_accept(listener)
            with far:
                near.send(b"hello")
                assert await asyncio.get_running_loop().sock_recv(far, 10) == b"hello"
    with listening(path):  # in the place of the one that is left
        pass
    remove_socket(path)
    remove_socket(path)
    with pytest.raises(OSError, match="No such file"):
        await dial(path)


async def test_nothing_but_a_socket_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "n.sock"
    file.write_text("mine")
    remove_socket(str(file))
    with pytest.raises(OSError, match="in use"):
        listening(str(file))
    assert file.read_text() == "mine"
    with pytest.raises(OSError, match="refused"):
        await dial(str(file))


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none/n.sock", deep(tmp_path) / "none/n.sock"):
        with pytest.raises(OSError, match="No such file"):
            listening(str(path))
