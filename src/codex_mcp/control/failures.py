"""Pure. Why a server cannot be reached through its control socket, in a sentence for a person."""

from __future__ import annotations

from enum import StrEnum

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import foreign


class Why(StrEnum):
    ENDED = "ended"
    NO_SOCKET = "no_socket"
    SILENT = "silent"
    REFUSED = "refused"
    """It refuses this connection, for instance because it speaks another protocol."""
    LOST = "lost"
    """The connection was lost although the server lives."""


class CannotReach(Explained):
    """A server cannot be reached, or not any longer."""

    def __init__(self, why: Why, text: str) -> None:
        super().__init__(text)
        self.why = why


class NotSent(CannotReach):
    """A server could not be asked: nothing has reached it."""


def ended(server: str) -> CannotReach:
    return CannotReach(Why.ENDED, f"{server} has ended, and what it ran has ended with it")


def no_socket(server: str) -> CannotReach:
    text = (
        f"{server} cannot be controlled from here: it has no control socket, either because its codex-mcp is too old, "
        "or because it could not make one (its log says so); restart it"
    )
    return CannotReach(Why.NO_SOCKET, text)


def no_access(server: str, why: str) -> CannotReach:
    return CannotReach(Why.REFUSED, f"cannot connect to {server}: {why}")


def silent(server: str, seconds: float, *, was_told: bool = False) -> CannotReach:
    """`was_told`: it was told to change something, and could still do so."""
    text = f"{server} does not answer: it has said nothing for {seconds:g} s, so it may be stopped, or hang"
    return CannotReach(Why.SILENT, f"{text}; if it goes on, it may still do what it was told" if was_told else text)


def refused(server: str, said: str) -> CannotReach:
    return CannotReach(Why.REFUSED, f"{server} refuses the connection: {foreign(said)}")


def no_way(server: str, address: str, why: str) -> CannotReach:
    return CannotReach(Why.NO_SOCKET, f"{server} cannot be reached at {address}: {foreign(why)}")


def too_old(server: str) -> CannotReach:
    return CannotReach(Why.REFUSED, f"{server} cannot answer for others: its codex-mcp is too old; restart it")


def lost(server: str) -> CannotReach:
    return CannotReach(Why.LOST, f"the connection to {server} was lost; try again")
