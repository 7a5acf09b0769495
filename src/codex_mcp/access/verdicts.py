"""Pure. Whether a peer may connect, by the processes that hold its socket.

A lineage is a process with its ancestors, the process first, up to us or to an ancestor of ours.

    the socket is held by                                        verdict
    us, or a process that does not descend from us               may connect
    a descendant of ours, whoever else holds it                  refused: it is, or was started by, an agent's command
    a descendant of another server of codex-mcp                  refused (1)
    a process in another namespace                               refused (1): a sandboxed command, whoever started it
    nobody that we can see                                       refused, with two exceptions (`unseen`)

(1) Exec-servers and the rendezvous refuse only confined ones, because the core of another server is their client.

A process is a descendant however it detached: the server adopts orphans (decision 0004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import one_line

SERVER_NAME: Final = "codex-mcp serve"
"""What a server's process calls itself, in the 15 characters that Linux allows."""

OWN: Final = (
    "Forbidden: process {pid} ({name}) was started by an agent of this server, and agents may not use the server that "
    "runs them; connect from a program that no agent started"
)
OF_OTHERS: Final = (
    "Forbidden: process {pid} ({name}) was started by an agent of another codex-mcp server, and agents may not use "
    "servers; connect from a program that no agent started"
)
ELSEWHERE: Final = (
    "Forbidden: process {pid} ({name}) runs in a sandbox or container of its own, so it could be an agent's command; "
    "connect from a program outside of it"
)
UNSEEN: Final = (
    "Forbidden: the server cannot see which process of this machine holds this connection, so it could be an agent's; "
    "keep the connection open until it is answered, and let client and server see each other's processes "
    "(one PID namespace), or run them as different users"
)

OTHER_USER: Final = "Forbidden: this socket is for the user who runs the server; you are user {uid}"


class Process(Struct, frozen=True):
    pid: int
    parent: int
    name: str
    """What it calls itself: up to 15 characters."""
    started: int
    """In clock ticks since the machine started: with the process id, it identifies a process."""


class Lineage(Struct, frozen=True):
    chain: Sequence[Process]
    is_confined: bool = False
    is_elsewhere: bool = False
    """The process lives in another namespace than we do."""


class Circumstances(Struct, frozen=True):
    """Of a socket that no process we can look into holds."""

    is_other_user: bool
    """It was made by another user than the server's."""
    descendant_is_that_user: bool
    hidden_owner_possible: bool
    """A process of that user, no descendant of ours, does not let us look: `sshd` with a tunnel, for instance."""
    confined_descendant: bool
    """A confined descendant of ours shares our network."""


def refusal(held_by: Sequence[Lineage], server: int, *, only_confined: bool = False) -> str | None:
    """Why a peer is refused; None if it may connect. `only_confined`: of those that do not descend from us."""
    for lineage in held_by:
        holder, *above = lineage.chain
        if any(each.pid == server for each in above):
            return _said(OWN, holder)
        if only_confined and not lineage.is_confined:
            continue
        if any(each.name == SERVER_NAME for each in above):
            return _said(OF_OTHERS, holder)
        if lineage.is_elsewhere:
            return _said(ELSEWHERE, holder)
    return None


def unseen(facts: Circumstances) -> str | None:
    """The same for a socket that nobody seems to hold.

    Other users' processes cannot be looked into, nor can some of our own user's. Agents' commands run as our user, and
    one that hides its socket must be confined for the hiding to gain it anything.
    """
    if facts.is_other_user:
        return UNSEEN if facts.descendant_is_that_user else None
    return None if facts.hidden_owner_possible and not facts.confined_descendant else UNSEEN


def _said(text: str, holder: Process) -> str:
    return text.format(pid=holder.pid, name=one_line(holder.name))
