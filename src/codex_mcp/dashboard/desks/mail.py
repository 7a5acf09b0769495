"""Pure. The page Mail: per pair of names, each message with how far it came, and why it waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line, visible
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.wire.control_mail import LetterFacts

MINE: Final = "me"

MOST_SHOWN: Final = 50
"""Messages of one conversation, the newest."""

STAGES: Final = (
    ("offered", "offered"),
    ("steered", "added to its turn"),
    ("started", "turn started"),
    ("read", "read"),
)

GONE: Final[Mapping[str, str]] = {
    "closed": "it is closed; whoever resumes it brings it its mail",
    "interrupted": "it is closed; whoever resumes it brings it its mail",
    "stale": "no server runs it",
}
"""Why mail waits, by the status of an agent that no server runs."""


class Step(Struct, frozen=True):
    """How far a message came."""

    text: str
    at: float | None = None


class Letter(Struct, frozen=True, kw_only=True):
    id: str
    key: str
    sender: str
    to: str
    text: str
    is_cut: bool
    sent_at: float | None
    steps: Sequence[Step]
    why: str
    marks: Sequence[str]
    is_mine: bool
    """It is for whoever looks, and unread."""
    can_be_delivered: bool


class Conversation(Struct, frozen=True, kw_only=True):
    """The mail between two names, as a line of the list."""

    href: str
    sender: str
    to: str
    number: int
    unread: int
    """Those for whoever looks."""
    text: str
    at: float | None
    is_current: bool


class Recipient(Struct, frozen=True):
    value: str
    label: str
    is_chosen: bool = False


class Reader(Struct, frozen=True):
    """Who looks."""

    name: str
    """Under which they write."""
    may_write: bool = False


class MailPage(Struct, frozen=True, kw_only=True):
    schema: int = 1
    at: float
    sentence: str
    detail: str
    counts: Counts
    of: str
    names: Sequence[str]
    conversations: Sequence[Conversation]
    title: str
    about: str
    letters: Sequence[Letter]
    earlier: int
    """Messages of this conversation that are not shown."""
    recipients: Sequence[Recipient]
    writes_as: str


def unread_for(facts: FleetFacts, name: str) -> int:
    """The number beside Mail: unread messages for whoever looks."""
    return sum(each.to == name and not each.is_read for each in facts.letters)


class Choice(Struct, frozen=True):
    """What is looked at."""

    of: str = ""
    """Only the mail of this name; `me` is whoever looks."""
    id: str = ""
    """Of a message; its conversation is shown."""


def mail_page(facts: FleetFacts, counts: Counts, now: float, reader: Reader, choice: Choice) -> MailPage | None:
    """None: there is no such message."""
    of, chosen = one_line(choice.of), choice.id
    letters = [each for each in facts.letters if _is_of(each, of, reader.name)]
    pairs: dict[frozenset[str], list[LetterFacts]] = {}
    for letter in letters:
        pairs.setdefault(_pair(letter), []).append(letter)
    current = next((each for each in facts.letters if chosen and chosen == each.id), None)
    if chosen and current is None:
        return None
    shown = pairs.get(_pair(current), [current]) if current is not None else []
    mine = unread_for(facts, reader.name)
    waiting = sum(bool(each.why) for each in facts.letters)
    first = shown[-1] if shown else None
    return MailPage(
        at=now,
        sentence=f"{counted(mine, 'message')} for you." if mine else "No message for you.",
        detail=f"{counted(waiting, 'message')} waiting for agents" if waiting else "",
        counts=counts,
        of=of,
        names=sorted({name for each in facts.letters for name in (_sender(each), _to(each))}),
        conversations=[_conversation(each, shown, reader, of) for each in pairs.values()],
        title="" if first is None else one_line(first.summary or first.text)[:120],
        about="" if first is None else f"{_names_of(first)} · {counted(len(shown), 'message')}",
        letters=[_letter(each, facts, reader) for each in reversed(shown[:MOST_SHOWN])],
        earlier=max(0, len(shown) - MOST_SHOWN),
        recipients=_recipients(facts, shown[0] if shown else None, reader) if reader.may_write else [],
        writes_as=reader.name,
    )


def _is_of(letter: LetterFacts, of: str, mine: str) -> bool:
    if not of:
        return True
    names = {letter.sender, letter.to, _sender(letter), _to(letter)}
    return (mine if of == MINE else of) in names


def _sender(letter: LetterFacts) -> str:
    """With its team if that is not the recipient's."""
    is_other = letter.sender_team not in ("", letter.team)
    return one_line(f"{letter.sender}@{letter.sender_team}" if is_other else letter.sender)


def _to(letter: LetterFacts) -> str:
    return one_line(letter.to)


def _pair(letter: LetterFacts) -> frozenset[str]:
    return frozenset((f"{letter.sender}@{letter.sender_team or letter.team}", f"{letter.to}@{letter.team}"))


def _names_of(letter: LetterFacts) -> str:
    return f"{_sender(letter)} and {_to(letter)}"


def href_of(letter: LetterFacts, of: str = "") -> str:
    return f"/ui/mail/{quote(letter.id, safe='')}" + (f"?of={quote(of, safe='')}" if of else "")


def _conversation(
    letters: Sequence[LetterFacts], shown: Sequence[LetterFacts], reader: Reader, of: str
) -> Conversation:
    newest = letters[0]
    return Conversation(
        href=href_of(newest, of),
        sender=_sender(newest),
        to=_to(newest),
        number=len(letters),
        unread=sum(each.to == reader.name and not each.is_read for each in letters),
        text=one_line(newest.summary or newest.text)[:200],
        at=newest.sent_at,
        is_current=bool(shown) and _pair(newest) == _pair(shown[0]),
    )


def _letter(letter: LetterFacts, facts: FleetFacts, reader: Reader) -> Letter:
    why = letter.why or _why_gone(letter, facts)
    return Letter(
        id=letter.id,
        key=letter.key,
        sender=_sender(letter),
        to=_to(letter),
        text=visible(letter.text),
        is_cut=letter.is_cut,
        sent_at=letter.sent_at,
        steps=list(_steps(letter)),
        why=why,
        marks=list(_marks(letter)),
        is_mine=letter.to == reader.name and not letter.is_read and reader.may_write,
        can_be_delivered=letter.can_be_delivered and reader.may_write,
    )


def _why_gone(letter: LetterFacts, facts: FleetFacts) -> str:
    """Of a message to an agent that no server runs."""
    if letter.is_read or letter.agent:
        return ""
    found = [each for each in facts.agents if each.identity == letter.to and each.team == letter.team]
    newest = max(found, key=lambda each: each.used_at, default=None)
    return "" if newest is None else GONE.get(newest.status, "")


def _steps(letter: LetterFacts) -> Iterable[Step]:
    yield Step("sent", letter.sent_at)
    for name, words in STAGES:
        if name in letter.times and not (name == "read" and not letter.is_read):
            yield Step(words, letter.times[name])
    if letter.is_read and "read" not in letter.times:
        yield Step("read")


def _marks(letter: LetterFacts) -> Iterable[str]:
    if letter.is_urgent:
        yield "urgent"
    if letter.offers > 1:
        yield f"delivered again ({letter.offers} times)"
    if letter.is_acknowledged:
        yield "acknowledged"
    if letter.kind:
        yield one_line(letter.kind.replace("_", " "))


def _recipients(facts: FleetFacts, newest: LetterFacts | None, reader: Reader) -> list[Recipient]:
    """Agents that run, each once, then other names that have mail."""
    party = "" if newest is None else newest.sender if newest.to == reader.name else newest.to
    running = [each for each in facts.agents if each.status == "active" and each.identity != reader.name]
    agents = [Recipient(each.codex_id, _label(each, running), each.identity == party) for each in running if each.owner]
    taken = {each.identity for each in running}
    others = sorted({(each.to, each.team) for each in facts.letters if each.to not in {*taken, reader.name}})
    return agents + [Recipient(f"{name}@{team}", one_line(name), name == party) for name, team in others]


def _label(agent: AgentFacts, all_: Sequence[AgentFacts]) -> str:
    """Its name; of several that have it, with the principal or the team that tells them apart."""
    same = [each for each in all_ if each.identity == agent.identity]
    name = one_line(agent.identity)
    return name if len(same) == 1 else f"{name} ({one_line(agent.principal)}, team {one_line(agent.team)})"
