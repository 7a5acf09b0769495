"""The check of a peer: once for each connection, on a thread of its own, so that no other request waits for it.

A process that was found to be no descendant is looked at first when the next connection comes: a client's second
connection costs a tenth of a millisecond, an unknown client's first one as long as it takes to look through /proc.
Elsewhere than on Linux a peer cannot be known, and everyone may connect.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from codex_mcp.access import process_tree
from codex_mcp.access.other_end import Address, OtherEnd, address_of, is_here, other_end
from codex_mcp.access.process_tree import lineage
from codex_mcp.access.verdicts import UNSEEN, Circumstances, Lineage, Process, refusal, unseen

logger = logging.getLogger(__name__)

KNOWN: Final = 32
"""Clients that are looked at first; beyond that, the one that has not connected for longest is forgotten."""

TRIES: Final = 3
"""For a socket whose holder changes while it is looked for."""

LOG_INTERVAL: Final = 10.0
"""Seconds between two log lines about refused peers, so that an agent cannot fill the log and the audit."""

CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of a unix socket's peer (SO_PEERCRED)."""


class Peers:
    """`only_confined`: of those that do not descend from us, refuse only confined ones. `refused` is told what is
    logged."""

    def __init__(self, *, only_confined: bool = False, refused: Callable[[str], None] | None = None) -> None:
        self._only_confined = only_confined
        self._refused = refused
        self._server = os.getpid()
        self._known: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._pool: ThreadPoolExecutor | None = None
        self._logged_at = -LOG_INTERVAL
        self._unlogged = 0

    def check(self, peer: object, ours: object) -> asyncio.Future[str | None]:
        """Given the two names of a TCP connection: why it is refused, or None."""
        loop = asyncio.get_running_loop()
        theirs, here = address_of(peer), address_of(ours)
        if sys.platform != "linux" or theirs is None or here is None:
            allowed: asyncio.Future[str | None] = loop.create_future()
            allowed.set_result(None)
            return allowed
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "peer check")
        checked = loop.run_in_executor(self._pool, self.refusal_of, theirs, here)
        checked.add_done_callback(self._note)
        return checked

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _note(self, checked: asyncio.Future[str | None]) -> None:
        why = None if checked.cancelled() or checked.exception() is not None else checked.result()
        if why is None:
            return
        self._unlogged += 1
        now = time.monotonic()
        if now - self._logged_at >= LOG_INTERVAL:
            logger.warning("refused %d connections of this machine; the last one: %s", self._unlogged, why)
            self._logged_at, self._unlogged = now, 0
            if self._refused is not None:
                self._refused(why)

    def refusal_of(self, theirs: Address, ours: Address) -> str | None:
        """Blocks while it looks through /proc."""
        if not is_here(theirs):
            return None
        for _ in range(TRIES):
            end = other_end(theirs, ours)
            if end is None:
                return UNSEEN
            if self._is_known(end.inode):
                return None
            verdict, is_certain = self._judged(end)
            if is_certain:
                return verdict
        return verdict

    def _is_known(self, inode: int) -> bool:
        for pid, started in reversed(self._known):
            try:
                is_held = process_tree.holds(pid, inode)
            except PermissionError:
                continue
            now = process_tree.process(pid)
            if now is None or now.started != started:
                del self._known[pid, started]
                return False
            if is_held:
                self._known.move_to_end((pid, started))
                return True
        return False

    def _judged(self, end: OtherEnd) -> tuple[str | None, bool]:
        """The verdict, and whether what it rests on still held at the end."""
        holders, closed = _holders(end.inode)
        found = [each for each in map(self._lineage, holders) if each is not None]
        if holders:
            why = refusal(found, self._server, only_confined=self._only_confined)
            if why is not None:
                return why, True
            if len(found) == len(holders) and all(_still_holds(pid, end.inode) for pid in holders):
                for each in found:
                    self._remember(each.chain[0])
                return None, True
            return UNSEEN, False
        facts = self._circumstances(end, closed)
        if self._only_confined and not facts.confined_descendant and not process_tree.sees_all():
            return None, False  # an exec-server in a namespace of its own cannot look at its clients
        return unseen(facts), False

    def _lineage(self, pid: int) -> Lineage | None:
        if pid == self._server:
            found = process_tree.process(pid)
            return None if found is None else Lineage([found])
        chain = lineage(pid, self._stop())
        return None if chain is None else Lineage(chain, process_tree.is_confined(pid), process_tree.is_elsewhere(pid))

    def _stop(self) -> frozenset[int]:
        """We and our ancestors: above them nothing tells a client from an agent."""
        return frozenset(each.pid for each in lineage(self._server) or ()) | {self._server}

    def _remember(self, holder: Process) -> None:
        self._known[holder.pid, holder.started] = None
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def _circumstances(self, end: OtherEnd, closed: Sequence[int]) -> Circumstances:
        us = os.geteuid()
        descendants = [pid for pid in process_tree.processes() if self._is_descendant(pid)]
        return Circumstances(
            is_other_user=end.uid != us and us != 0,
            descendant_is_that_user=any(end.uid in process_tree.users(pid) for pid in descendants),
            hidden_owner_possible=any(pid not in descendants and end.uid in process_tree.users(pid) for pid in closed),
            confined_descendant=any(
                process_tree.is_confined(pid) and process_tree.shares_network(pid) for pid in descendants
            ),
        )

    def _is_descendant(self, pid: int) -> bool:
        chain = lineage(pid, frozenset({self._server}))
        if chain is None:  # of a process that is still there nothing is known, so it could be one
            return process_tree.process(pid) is not None
        return any(each.pid == self._server for each in chain[1:])

    def unix_refusal(self, accepted: socket.socket) -> str | None:
        """The same for an accepted unix socket: by the process that connected it."""
        if sys.platform != "linux":
            return None
        pid, _, _ = CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        found = self._lineage(pid) if pid > 0 else None  # 0: in a PID namespace that we cannot see
        return UNSEEN if found is None else refusal([found], self._server, only_confined=self._only_confined)


def _holders(inode: int) -> tuple[list[int], list[int]]:
    """The processes that hold a socket, and those that we may not look into."""
    holders: list[int] = []
    for holds in (process_tree.holds, process_tree.thread_holds):
        closed: list[int] = []
        for pid in process_tree.processes():
            try:
                if holds(pid, inode):
                    holders.append(pid)
            except PermissionError:
                closed.append(pid)
        if holders:
            break
    return holders, closed


def _still_holds(pid: int, inode: int) -> bool:
    try:
        return process_tree.holds(pid, inode) or process_tree.thread_holds(pid, inode)
    except PermissionError:
        return False
