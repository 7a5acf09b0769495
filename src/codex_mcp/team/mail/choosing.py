"""Pure. Which unread messages of an agent may begin a turn now, which only go with others, and which are held back.

message                                          what happens
-----------------------------------------------  --------------------------------------------------------------
an idle notice                                   begins no turn; the newest of each sender goes with other mail
an older idle notice of the same sender          marked as read, unseen
as many hops as are allowed, or more             held back; it stays unread
its sender and the agent, or the agent alone,    held back until the turns are fewer (`free_at`)
have begun too many turns by mail
any other                                        begins a turn
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.budgets import Budget, Traffic, Turn, Verdict, free_at, verdict
from codex_mcp.mail.message import Message

IDLE_NOTICE: Final = "idle_notification"


class Choice(Struct, frozen=True):
    chosen: frozenset[str] = frozenset()
    """Ids for the next prompts; empty if nothing may begin a turn."""
    superfluous: frozenset[str] = frozenset()
    held: tuple[str, ...] = ()
    free_at: float | None = None
    """When held messages may begin a turn; None if none ever may."""


def choose(to: Address, unread: Sequence[Message], traffic: Traffic, budget: Budget, now: float) -> Choice:
    notices = [message for message in unread if message.kind == IDLE_NOTICE]
    newest = {message.sender: message.id for message in notices}
    mail = {message.id: (message, _turn(to, message, now)) for message in unread if message.kind != IDLE_NOTICE}
    verdicts = {key: verdict(traffic, turn, message.hops, budget) for key, (message, turn) in mail.items()}
    allowed = [key for key, found in verdicts.items() if found is Verdict.ALLOWED]
    later = [
        free_at(traffic, mail[key][1], budget)
        for key, found in verdicts.items()
        if found in (Verdict.PAIR_EXHAUSTED, Verdict.AGENT_EXHAUSTED)
    ]
    return Choice(
        chosen=frozenset([*allowed, *newest.values()] if allowed else ()),
        superfluous=frozenset(message.id for message in notices if message.id != newest[message.sender]),
        held=tuple(key for key in verdicts if key not in allowed),
        free_at=min(later, default=None),
    )


def turn_of(to: Address, messages: Sequence[Message], now: float) -> Turn:
    """The turn that these messages begin, for the traffic. Idle notices begin none."""
    return Turn(now, to, frozenset(_sender(to, message) for message in messages if message.kind != IDLE_NOTICE))


def _turn(to: Address, message: Message, now: float) -> Turn:
    return Turn(now, to, frozenset({_sender(to, message)}))


def _sender(to: Address, message: Message) -> Address:
    return Address(message.sender, message.sender_team or to.team)
