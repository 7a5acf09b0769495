"""Finds out whether a recorded core is still there, and connects to it (Linux).

A descriptor of the process is opened first, so that its id cannot pass to another one while everything else is looked
at. What fails the proof is left alone: it is not ours to end.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat

from msgspec import Struct

from codex_mcp.access.peers import CREDENTIALS
from codex_mcp.access.process_tree import process
from codex_mcp.base.processes.boots import boot_id
from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.codex.surviving.record import CoreRecord, Seen, why_other

CONNECT_PATIENCE = 5.0
"""Seconds to connect to a core: one that was stopped takes no connections once its queue is full."""


class NotProven(Exception):
    """Its words say why."""


class Proven(Struct, frozen=True):
    """Both belong to the caller, who closes them."""

    descriptor: int
    """Of the process."""
    connection: socket.socket


def prove(record: CoreRecord) -> Proven:
    """The core of this record. It blocks. Raises NotProven."""
    with contextlib.ExitStack() as stack:
        try:
            descriptor = os.pidfd_open(record.pid)
        except (OSError, AttributeError) as exc:
            raise NotProven(f"process {record.pid} has ended") from exc
        stack.callback(os.close, descriptor)
        try:
            connection = connected(record.socket)
        except OSError as exc:
            raise NotProven(f"nothing listens on its socket ({exc.strerror or exc})") from exc
        stack.callback(connection.close)
        if why := why_other(record, _seen(record.pid, connection, descriptor)):
            raise NotProven(why)
        stack.pop_all()
        return Proven(descriptor, connection)


def connected(path: str) -> socket.socket:
    """A connection to the core that listens at this path, which Codex makes a link to the socket. It blocks.

    Raises OSError.
    """
    target = os.readlink(path)
    folder = os.lstat(os.path.dirname(target))
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid() or folder.st_mode & 0o077:
        raise PermissionError(f"{os.path.dirname(target)} is open to others")
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(CONNECT_PATIENCE)
        opened.connect(target)
    except BaseException:
        opened.close()
        raise
    opened.settimeout(0)
    return opened


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process and the user who listen at the other end."""
    pid, uid, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return pid, uid


def has_ended(descriptor: int) -> bool:
    """Whether the process of this descriptor has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _seen(pid: int, connection: socket.socket, descriptor: int) -> Seen:
    found = process(pid)
    return Seen(
        boot=boot_id(),
        started=None if found is None else found.started,
        mark=variables(pid, (SERVED_BY,)).get(SERVED_BY, ""),
        uid=os.getuid(),
        peer=peer_of(connection),
        is_alive=not has_ended(descriptor),
    )
