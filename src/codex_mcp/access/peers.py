"""The check of a peer: once for each connection, on a thread of its own, so that no other request waits for it.

A process that was found to be no descendant is looked at first when the next connection comes: a client's second
connection costs a tenth of a millisecond, an unknown client's first one as long as it takes to look through /proc.
Connections that come meanwhile are checked together, with one look: however many an agent opens, another client waits
for two looks at most. Elsewhere than on Linux a peer cannot be known, and everyone may connect.
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
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

from codex_mcp.access import process_tree
from codex_mcp.access.other_end import Address, OtherEnd, is_here, other_end, socket_address
from codex_mcp.access.process_tree import lineage
from codex_mcp.access.verdicts import OTHER_USER, UNSEEN, Circumstances, Lineage, Process, refusal, unseen

logger = logging.getLogger(__name__)

Connection: TypeAlias = tuple[Address, Address]
"""The peer's address and ours."""

KNOWN: Final = 32
"""Clients that are looked at first; beyond that, the one that has not connected for longest is forgotten."""

TRIES: Final = 3
"""For a socket whose holder changes while it is looked for."""

LOG_INTERVAL: Final = 10.0
"""Seconds between two log lines about refused peers, so that an agent cannot fill the log and the audit."""

CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of a unix socket's peer (SO_PEERCRED)."""

SOL_LOCAL: Final = 0
LOCAL_PEERCRED: Final = 1
XUCRED: Final = struct.Struct("=II")
"""The same on macOS: a version and the user, then groups (sys/un.h, sys/ucred.h)."""


class Peers:
    """`only_confined`: of those that do not descend from us, refuse only confined ones. `refused` is told what is
    logged."""

    def __init__(self, *, only_confined: bool = False, refused: Callable[[str], None] | None = None) -> None:
        self._only_confined = only_confined
        self._refused = refused
        self._server = os.getpid()
        self._known: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[tuple[Connection, asyncio.Future[str | None]]] = []
        self._is_checking = False
        self._logged_at = -LOG_INTERVAL
        self._unlogged = 0

    def check(self, peer: object, ours: object) -> asyncio.Future[str | None]:
        """Given the two names of a TCP connection, None where there is none: why it is refused, or None."""
        checked: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        theirs, here = socket_address(peer), socket_address(ours)
        if sys.platform != "linux":
            checked.set_result(None)
            return checked
        checked.add_done_callback(self._note)
        if theirs is None or here is None:  # reset after its request was sent: a connection that is gone has no names
            checked.set_result(UNSEEN)
            return checked
        self._waiting.append(((theirs, here), checked))
        if not self._is_checking:
            self._check_waiting()
        return checked

    def _check_waiting(self) -> None:
        """Check all that wait, together; then those that have come meanwhile."""
        batch = [each for each in self._waiting if not each[1].done()]
        self._waiting = []
        self._is_checking = bool(batch)
        if not batch:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "peer check")
        looked = asyncio.get_running_loop().run_in_executor(
            self._pool, self.refusals_of, [connection for connection, _ in batch]
        )
        looked.add_done_callback(lambda done: self._checked([waiter for _, waiter in batch], done))

    def _checked(self, waiters: Sequence[asyncio.Future[str | None]], looked: asyncio.Future[list[str | None]]) -> None:
        if looked.cancelled():
            for waiter in (*waiters, *(waiter for _, waiter in self._waiting)):
                waiter.cancel()
            return
        error = looked.exception()
        for number, waiter in enumerate(waiters):
            if error is not None and not waiter.done():
                waiter.set_exception(error)
            elif not waiter.done():
                waiter.set_result(looked.result()[number])
        self._check_waiting()

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

    def refusals_of(self, connections: Sequence[Connection]) -> list[str | None]:
        """Why each is refused, or None. Blocks while it looks through /proc, for many no longer than for one."""
        verdicts: dict[int, str | None] = {}
        left = [number for number, (theirs, _) in enumerate(connections) if is_here(theirs)]
        for _ in range(TRIES):
            ends = {number: other_end(*connections[number]) for number in left}
            known = self._known_sockets({end.inode for end in ends.values() if end is not None})
            unknown: dict[int, OtherEnd] = {}
            for number, end in ends.items():
                if end is None:
                    verdicts[number] = UNSEEN
                elif end.inode in known:
                    verdicts[number] = None
                else:
                    unknown[number] = end
            judged = self._judged(unknown)
            verdicts |= {number: verdict for number, (verdict, _) in judged.items()}
            left = [number for number, (_, is_certain) in judged.items() if not is_certain]
        return [verdicts.get(number) for number in range(len(connections))]

    def _known_sockets(self, inodes: AbstractSet[int]) -> set[int]:
        """Which of these sockets are held by clients that may connect."""
        found: set[int] = set()
        for pid, started in reversed(list(self._known)):
            if len(found) == len(inodes):
                break
            try:
                held = process_tree.held(pid, inodes)
            except PermissionError:
                continue
            now = process_tree.process(pid)
            if now is None or now.started != started:
                del self._known[pid, started]
            elif held:
                self._known.move_to_end((pid, started))
                found |= held
        return found

    def _judged(self, ends: Mapping[int, OtherEnd]) -> dict[int, tuple[str | None, bool]]:
        """The verdicts, and whether what they rest on still held at the end."""
        if not ends:
            return {}
        holders, closed = _holders({end.inode for end in ends.values()})
        lineages = {pid: self._lineage(pid) for pid in set().union(*holders.values())}
        hidden: dict[int, Circumstances] = {}
        judged: dict[int, tuple[str | None, bool]] = {}
        for number, end in ends.items():
            if held_by := holders.get(end.inode):
                judged[number] = self._judged_by(held_by, lineages, end.inode)
                continue
            if end.uid not in hidden:
                hidden[end.uid] = self._circumstances(end, closed)
            judged[number] = self._judged_unseen(hidden[end.uid])
        return judged

    def _judged_by(
        self, holders: Collection[int], lineages: Mapping[int, Lineage | None], inode: int
    ) -> tuple[str | None, bool]:
        found = [each for pid in holders if (each := lineages[pid]) is not None]
        why = refusal(found, self._server, only_confined=self._only_confined)
        if why is not None:
            return why, True
        if len(found) < len(holders) or not all(_still_holds(pid, inode) for pid in holders):
            return UNSEEN, False
        for each in found:
            self._remember(each.chain[0])
        return None, True

    def _judged_unseen(self, facts: Circumstances) -> tuple[str | None, bool]:
        if self._only_confined and not facts.confined_descendant and not process_tree.sees_all():
            return None, False  # an exec-server in a namespace of its own cannot look at its clients
        return unseen(facts), False

    def _lineage(self, pid: int) -> Lineage | None:
        if pid == self._server:
            found = process_tree.process(pid)
            return None if found is None else Lineage([found])
        chain = lineage(pid, self._stop())
        return (
            None
            if chain is None
            else Lineage(chain, process_tree.is_confined(pid), process_tree.has_other_namespaces(pid))
        )

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

    def check_unix(self, accepted: socket.socket) -> asyncio.Future[str | None]:
        """The check of an accepted unix socket: its user must be ours or root; then as `unix_refusal`."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "peer check")
        loop = asyncio.get_running_loop()
        checked = loop.run_in_executor(self._pool, lambda: other_user(accepted) or self.unix_refusal(accepted))
        checked.add_done_callback(self._note)
        return checked

    def unix_refusal(self, accepted: socket.socket) -> str | None:
        """The same for an accepted unix socket: by the process that connected it."""
        if sys.platform != "linux":
            return None
        pid, _, _ = CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        found = self._lineage(pid) if pid > 0 else None  # 0: in a PID namespace that we cannot see
        return UNSEEN if found is None else refusal([found], self._server, only_confined=self._only_confined)


def other_user(accepted: socket.socket) -> str | None:
    """Why the user at the other end of a unix socket may not use it; None for our own and for root."""
    if sys.platform == "linux":
        _, uid, _ = CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    else:
        _, uid = XUCRED.unpack(accepted.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, XUCRED.size))
    return None if uid in (0, os.geteuid()) else OTHER_USER.format(uid=uid)


def _holders(inodes: Collection[int]) -> tuple[dict[int, list[int]], list[int]]:
    """The processes that hold each of these sockets, and those that we may not look into."""
    holders: dict[int, list[int]] = {}
    left = set(inodes)
    for held in (process_tree.held, process_tree.held_by_threads):
        closed: list[int] = []
        for pid in process_tree.processes():
            try:
                for inode in held(pid, left):
                    holders.setdefault(inode, []).append(pid)
            except PermissionError:
                closed.append(pid)
        left -= holders.keys()
        if not left:
            break
    return holders, closed


def _still_holds(pid: int, inode: int) -> bool:
    try:
        return bool(process_tree.held(pid, {inode}) or process_tree.held_by_threads(pid, {inode}))
    except PermissionError:
        return False
