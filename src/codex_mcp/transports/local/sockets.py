"""Unix sockets by path, also where the path is longer than an address may be."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import sys
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.files import PATH_ONLY, PRIVATE

LONGEST_PATH: Final = 107 if sys.platform == "linux" else 103
"""Bytes of an address (`sun_path`), less the NUL at its end."""

BACKLOG: Final = 32


def listening(path: str) -> socket.socket:
    """A socket that only this user can connect to; what is left there of an earlier one is removed. Raises OSError."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(0)
        remove_socket(path)
        with _address(path) as address:
            opened.bind(address)
        os.chmod(path, PRIVATE)
        opened.listen(BACKLOG)
    except BaseException:
        opened.close()
        raise
    return opened


async def dial(path: str) -> socket.socket:
    """A connection to the socket at this path. Raises OSError."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(0)
        with _address(path) as address:
            await asyncio.get_running_loop().sock_connect(opened, address)
    except BaseException:
        opened.close()
        raise
    return opened


def remove_socket(path: str) -> None:
    """Remove a socket, if there is one; anything else stays. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)


@contextlib.contextmanager
def address_for_others(path: str) -> Iterator[str]:
    """The same for other processes of this user, as long as this one is within this block."""
    with _address(path) as address:
        yield address.replace("/proc/self/", f"/proc/{os.getpid()}/", 1)


@contextlib.contextmanager
def _address(path: str) -> Iterator[str]:
    """An address of this path. One that is too long is reached by its folder, which Linux names in /proc."""
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    if sys.platform != "linux":
        raise OSError(errno.ENAMETOOLONG, f"the path of a socket may have {LONGEST_PATH} bytes", path)
    folder, name = os.path.split(path)
    descriptor = os.open(folder, PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
