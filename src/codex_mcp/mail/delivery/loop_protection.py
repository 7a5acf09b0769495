"""Pure. Loop protection: two agents that answer each other must not go on for ever.

message                                          what happens
-----------------------------------------------  --------------------------------------------------------------
an idle notice                                   begins no turn; the newest of each sender goes with other mail
an older idle notice of the same sender          marked as read, unseen
as many hops as are allowed, or more             held back; it stays unread
its sender and the agent, or the agent alone,    held back until the turns are fewer (`free_at`)
have begun too many turns by mail
any other                                        begins a turn

Mail that a person or a caller's turn sends has 0 hops; mail sent in a turn that mail began has one hop more than that
mail. The turns that mail begins are counted: between two agents in either direction, and for one agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Message

IDLE_NOTICE: Final = "idle_notification"


class Budget(Struct, frozen=True):
    hops: int = 8
    per_pair: int = 30
    """Turns in a window that two agents may cause each other."""
    per_agent: int = 60
    """Turns in a window that mail may cause one agent."""
    window: float = 3600.0


class MailVerdict(StrEnum):
    ALLOWED = "allowed"
    TOO_MANY_HOPS = "too-many-hops"
    PAIR_EXHAUSTED = "pair-exhausted"
    AGENT_EXHAUSTED = "agent-exhausted"


class MailTurn(Struct, frozen=True):
    """A turn that mail began."""

    at: float
    agent: Address
    senders: frozenset[Address]


Traffic = tuple[MailTurn, ...]
"""The turns that mail began, at least those of the last window."""


class Choice(Struct, frozen=True):
    chosen: frozenset[str] = frozenset()
    """Ids for the next prompts; empty if nothing may begin a turn."""
    superfluous: frozenset[str] = frozenset()
    held: Mapping[str, MailVerdict] = {}
    """Why each message is held back that is."""
    free_at: float | None = None
    """When held messages may begin a turn; None if none ever may."""


def next_hops(cause: Iterable[Message]) -> int:
    """The hops of mail that is sent in a turn; `cause` is the mail that began it, if any."""
    return max((message.hops + 1 for message in cause), default=0)


def verdict(traffic: Traffic, mail: MailTurn, hops: int, budget: Budget) -> MailVerdict:
    """Whether mail of these senders may begin a turn now."""
    recent = _recent(traffic, mail.at, budget)
    if hops >= budget.hops:
        return MailVerdict.TOO_MANY_HOPS
    if sum(turn.agent == mail.agent for turn in recent) >= budget.per_agent:
        return MailVerdict.AGENT_EXHAUSTED
    if any(_between(recent, mail.agent, sender) >= budget.per_pair for sender in mail.senders):
        return MailVerdict.PAIR_EXHAUSTED
    return MailVerdict.ALLOWED


def free_at(traffic: Traffic, mail: MailTurn, budget: Budget) -> float:
    """When the counts allow the turn again; now if they do. Hops never become fewer."""
    moments = sorted(turn.at + budget.window for turn in _recent(traffic, mail.at, budget))
    # After the last turn has left the window, there is none left, so one of the moments fits.
    return next(
        moment
        for moment in (mail.at, *moments)
        if verdict(traffic, MailTurn(moment, mail.agent, mail.senders), 0, budget) is MailVerdict.ALLOWED
    )


def is_notice_due(told: float | None, now: float, budget: Budget) -> bool:
    """Whether the lead is to be told of held mail: once in a window, and again if the clock was set back."""
    return told is None or not told <= now < told + budget.window


def choose(to: Address, unread: Sequence[Message], traffic: Traffic, budget: Budget, now: float) -> Choice:
    notices = [message for message in unread if message.kind == IDLE_NOTICE]
    newest = {message.sender: message.id for message in notices}
    mail = {message.id: (message, _turn(to, message, now)) for message in unread if message.kind != IDLE_NOTICE}
    verdicts = {key: verdict(traffic, turn, message.hops, budget) for key, (message, turn) in mail.items()}
    allowed = [key for key, found in verdicts.items() if found is MailVerdict.ALLOWED]
    later = [
        free_at(traffic, mail[key][1], budget)
        for key, found in verdicts.items()
        if found in (MailVerdict.PAIR_EXHAUSTED, MailVerdict.AGENT_EXHAUSTED)
    ]
    return Choice(
        chosen=frozenset([*allowed, *newest.values()] if allowed else ()),
        superfluous=frozenset(message.id for message in notices if message.id != newest[message.sender]),
        held={key: found for key, found in verdicts.items() if found is not MailVerdict.ALLOWED},
        free_at=min(later, default=None),
    )


def mail_turn_of(to: Address, messages: Sequence[Message], now: float) -> MailTurn:
    """The turn that these messages begin, for the traffic. Idle notices begin none."""
    return MailTurn(now, to, frozenset(_sender(to, message) for message in messages if message.kind != IDLE_NOTICE))


def _recent(traffic: Traffic, now: float, budget: Budget) -> list[MailTurn]:
    """The turns in the window; not those of a clock that was set back since, which would count for too long.

    `free_at` returns this sum: a difference could be rounded to another moment.
    """
    return [turn for turn in traffic if turn.at <= now < turn.at + budget.window]


def _between(turns: Iterable[MailTurn], one: Address, other: Address) -> int:
    return sum(
        (turn.agent == one and other in turn.senders) or (turn.agent == other and one in turn.senders) for turn in turns
    )


def _turn(to: Address, message: Message, now: float) -> MailTurn:
    return MailTurn(now, to, frozenset({_sender(to, message)}))


def _sender(to: Address, message: Message) -> Address:
    return Address(message.sender, message.sender_team or to.team)
