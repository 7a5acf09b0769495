"""All HTTP sessions of a server: made, found, taken up again after a restart, put away when idle, closed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import uuid4

import msgspec

from codex_mcp.base.logs import about_only
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http import tickets
from codex_mcp.mcp.http.channel import HttpChannel, limits_of
from codex_mcp.mcp.http.ended_sessions import EndedSessions
from codex_mcp.mcp.http.evictions import to_evict
from codex_mcp.mcp.http.streams.backlog import Backlog
from codex_mcp.mcp.http.streams.live_stream import Delivery
from codex_mcp.mcp.http.tickets import Ticket
from codex_mcp.mcp.methods import Methods, handle_notification
from codex_mcp.mcp.session import ID_BYTES, Origin, Session, ToolBox
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Message, Notification, Request

logger = logging.getLogger(__name__)

MAX_REQUESTS: Final = 1024
"""Requests of one session at once."""

TICKET_LIFETIME: Final = 7 * 24 * 3600.0
"""Seconds in which a session id can be taken up again by a restarted server. Who was away for longer starts anew."""

TOMBSTONES: Final = 10_000
"""Closed ids that are remembered, so that they stay closed; more than any client makes in a ticket's lifetime."""

SWEEP_INTERVAL: Final = 30.0

SHORT_IDLE: Final = 60.0
"""Seconds after which a session that never sent a message ends, unless somebody listens to it; and after which one that
did may give way to a new one, if no more fit."""

EVICTED_AT_ONCE: Final = 100
"""Sessions that give way together: a hundredth of all, so that a full server does not look through all of them for
each new one."""


class TooManySessions(Exception):
    """No more sessions fit, of this server, principal or address; the text says which."""


@dataclass(frozen=True, slots=True, eq=False)
class HubSession:
    """A session with its channel and its peer."""

    id: str
    channel: HttpChannel
    peer: Peer
    session: Session
    is_bus: bool
    """It was born on the bus, by an id of the client's own."""
    address: str = ""
    """From where it was opened."""

    @property
    def principal(self) -> str:
        """To whom it belongs."""
        return self.session.principal

    @property
    def spoke(self) -> bool:
        """Its client has sent a message."""
        return self.channel.spoke

    @property
    def used_at(self) -> float:
        """When its client last sent something, or opened it."""
        return self.channel.used_at

    @property
    def busy(self) -> bool:
        """It must not be put away."""
        return self.channel.busy or self.session.busy


class Hub:
    """Owns the sessions."""

    def __init__(
        self, methods: Methods, tools: ToolBox, settings: HttpSettings, calls: CallSettings, key: bytes
    ) -> None:
        self.methods = methods
        self.tools = tools
        self._settings = settings
        self.calls = calls
        self._limits = limits_of(settings, calls.outbox_bytes)
        self._key = key
        self._sessions: dict[tuple[str, str], HubSession] = {}
        self._closed: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.ended: EndedSessions | None = None
        """Where ended ids are kept for servers to come."""
        self._of_principal: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()
        self._tasks = TaskSet()
        self._sweeping: asyncio.Task[None] | None = None
        self.exchanges: set[Session] = set()
        """Stateless requests that run now, each a session of its own."""
        self.closing = False
        self.backlog = Backlog()
        self.stateless = Delivery(calls.outbox_bytes, self.backlog)
        """What the streams of stateless requests share."""
        self._dropped = 0
        self._cut_off = 0

    @property
    def dropped(self) -> int:
        """Messages that slow readers have missed, since the server started."""
        return self._dropped + self.stateless.missed + sum(session.channel.dropped for session in self)

    @property
    def cut_off(self) -> int:
        """Listeners that were sent away because they were too slow, since the server started."""
        return self._cut_off + sum(session.channel.cut_off for session in self)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sessions)

    def __iter__(self) -> Iterator[HubSession]:
        """The sessions."""
        return iter(list(self._sessions.values()))

    # -- finding and making -------------------------------------------------------------------------------------------

    def find(self, principal: str, session_id: str, address: str = "") -> HubSession | None:
        """A session of this principal: one that is here, or one that was here before we were restarted.

        Raises TooManySessions.
        """
        found = self._sessions.get((principal, session_id))
        if found is not None or (principal, session_id) in self._closed:
            return found
        ticket = tickets.read(self._key, session_id, principal=principal, now=time.time(), lifetime=TICKET_LIFETIME)
        if ticket is None or (self.ended is not None and session_id in self.ended):
            return None
        taken_up = self._add(principal, session_id, address, is_bus=False)
        capabilities = {} if ticket.elicitation is None else {"elicitation": ticket.elicitation}
        taken_up.session.client.introduce(mcp.ClientInfo(ticket.client_name, ticket.client_version), capabilities)
        with about_only(taken_up.session.subject):
            logger.info("session of %s taken up again", ticket.client_name)
        return taken_up

    def introduce(self, principal: str, params: mcp.Initialize, address: str = "") -> HubSession:
        """A new session for a client that shakes hands; its id says what the client said. Raises TooManySessions."""
        elicitation = params.capabilities.get("elicitation")
        ticket = Ticket(
            serial=uuid4().hex,
            principal=principal,
            issued=time.time(),
            client_name=params.client_info.name[:64],
            client_version=params.client_info.version[:64],
            elicitation=elicitation if isinstance(elicitation, dict) else None,
        )
        return self._add(principal, tickets.written(self._key, ticket), address, is_bus=False)

    def make(self, principal: str, session_id: str, address: str = "") -> HubSession:
        """A new session under the client's own id. Raises TooManySessions."""
        added = self._add(principal, session_id, address, is_bus=True)
        self._closed.pop((principal, session_id), None)
        return added

    def _add(self, principal: str, session_id: str, address: str, *, is_bus: bool) -> HubSession:
        if self.closing:
            raise TooManySessions("the server is stopping")
        self._make_room(principal, address)
        added = self._assembled(principal, session_id, address, is_bus=is_bus)
        self._sessions[principal, session_id] = added
        self._of_principal[principal] += 1
        self._of_address[address] += 1
        with about_only(added.session.subject):
            self._tasks.spawn(added.peer.run(), name=f"session {added.session.id}")
        if self._sweeping is None:
            self._sweeping = self._tasks.spawn(self._sweep(), name="sweep of idle sessions")
        return added

    def _make_room(self, principal: str, address: str) -> None:
        """Let sessions that nobody uses give way, if there are as many as may be. Raises TooManySessions."""
        most = self._settings
        # Where no tokens are needed there is one principal, and a proxy on this machine brings everybody's clients.
        if principal != LOCAL and self._of_principal[principal] >= most.sessions_per_principal:
            ours = [session for session in self if session.principal == principal]
            self._evict(ours, f"{principal} has {len(ours)} sessions, and each of them is in use")
        if not is_loopback(address) and self._of_address[address] >= most.sessions_per_address:
            from_there = [session for session in self if session.address == address]
            self._evict(from_there, f"{len(from_there)} sessions were opened from your address, and each is in use")
        if len(self._sessions) >= most.max_sessions:
            self._evict(list(self), f"there are {len(self)} sessions, and each of them is in use")

    def _evict(self, sessions: list[HubSession], none_can: str) -> None:
        count = max(1, min(EVICTED_AT_ONCE, len(sessions) // EVICTED_AT_ONCE))
        evicted = to_evict(sessions, count, time.monotonic() - min(SHORT_IDLE, self._settings.session_idle))
        if not evicted:
            logger.warning("refused a session: %s", none_can)
            raise TooManySessions(none_can)
        logger.info("%d idle sessions give way to a new one", len(evicted))
        for session in evicted:
            self._remove(session)
            self._tasks.spawn(self._end(session), name=f"end of session {session.session.id}")

    def _remove(self, session: HubSession) -> bool:
        """Take it off the list. False: it was not there any longer."""
        key = (session.principal, session.id)
        if self._sessions.get(key) is not session:
            return False
        del self._sessions[key]
        for counts, name in ((self._of_principal, session.principal), (self._of_address, session.address)):
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
        return True

    def _assembled(self, principal: str, session_id: str, address: str, *, is_bus: bool) -> HubSession:
        channel = HttpChannel(session_id, self._limits, self.backlog)
        channel.spoke = not is_bus  # its id is our answer to the client's first message

        def on_request(request: Request) -> object:
            return self.methods.handle(session, request)

        def on_notification(message: Notification) -> None:
            handle_notification(session, message)

        def on_message(message: Message) -> None:
            with about_only(session.subject):
                peer.message_received(message)

        handlers = Handlers(on_request, on_notification)
        way = watched(channel, "client")
        peer = Peer(way, handlers, max_requests=MAX_REQUESTS, pace=_no_pace)
        if way is channel:  # else somebody reads in the log what comes in
            channel.on_message = on_message
        caller = msgspec.json.encode((principal, session_id)).decode()
        origin = Origin(principal, logged(session_id), caller, channel)
        session = Session(peer, self.tools, self.calls, origin, lambda: self._shut_down(assembled))
        channel.answer_unread = session.answer_unread
        assembled = HubSession(session_id, channel, peer, session, is_bus, address)
        return assembled

    # -- putting away -------------------------------------------------------------------------------------------------

    async def close(self, session: HubSession) -> None:
        """End a session for good: what it has running is interrupted, its id stays closed."""
        if not self._remove(session):
            return
        self._closed[session.principal, session.id] = None
        if self.ended is not None and not session.is_bus:
            self.ended.add(session.id, time.time() + TICKET_LIFETIME)
        if len(self._closed) > TOMBSTONES:
            self._closed.popitem(last=False)
        await self._end(session)

    def _shut_down(self, session: HubSession) -> None:
        if not self.closing:
            self._tasks.spawn(self.close(session), name=f"shutdown of session {session.session.id}")

    async def _end(self, session: HubSession) -> None:
        session.session.cancel_all()
        await session.session.wait_idle(self.calls.interrupt_grace)
        await session.peer.aclose()
        self._dropped += session.channel.dropped
        self._cut_off += session.channel.cut_off
        channel = session.channel
        counted = f"{channel.requests} requests, {channel.sent} messages sent, {channel.dropped} dropped"
        with about_only(session.session.subject):
            logger.info("session ended: %s", counted)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_INTERVAL, self._settings.session_idle))
            await self.put_away_idle(time.monotonic())

    async def put_away_idle(self, now: float) -> None:
        """End sessions that nobody used for a while. Their ids can be taken up again, their threads resumed."""
        for session in self:
            limit = self._settings.session_idle if session.spoke else min(SHORT_IDLE, self._settings.session_idle)
            # While one of them ends, another may be closed by its client.
            if not session.busy and now - session.used_at >= limit and self._remove(session):
                await self._end(session)

    def announce(self, change: mcp.Change) -> None:
        """Tell every client that a list has changed."""
        for session in self.running():
            session.announce(change)

    def stop_accepting(self) -> None:
        """No new sessions, and no new requests; what runs goes on."""
        self.closing = True
        for session in self:
            session.peer.stop_accepting()

    def is_full_for(self, principal: str) -> bool:
        """As many requests without a session run as may, in all or of this principal."""
        running, most = len(self.exchanges), self._settings
        if principal == LOCAL or running < most.sessions_per_principal:
            return running >= most.max_sessions
        return sum(each.principal == principal for each in self.exchanges) >= most.sessions_per_principal

    def running(self) -> Iterator[Session]:
        """Everything that may have calls running."""
        yield from self.exchanges.copy()
        yield from (session.session for session in self)

    async def aclose(self) -> None:
        """End everything."""
        self.closing = True
        for session in self:
            await session.peer.aclose()
        self._sessions.clear()
        self._of_principal.clear()
        self._of_address.clear()
        await self._tasks.aclose()


def logged(session_id: str) -> str:
    """What the log shows of a session id: whoever knows the id finds its lines, and no line gives the id away."""
    return sha256(session_id.encode(errors="surrogateescape")).hexdigest()[: 2 * ID_BYTES]


def is_loopback(address: str) -> bool:
    """Does it come from this machine? A Unix socket has no address."""
    return not address or address == "::1" or address.startswith(("127.", "::ffff:127."))


async def _no_pace() -> None:
    """A slow reader loses events and is told so; the reader of the core is not held back for it."""
