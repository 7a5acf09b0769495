"""All HTTP sessions of a server: creates, finds, restores after a restart, closes when idle."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final
from uuid import uuid4

import msgspec

from codex_mcp.access.loopback import is_loopback
from codex_mcp.base.logs import about_only
from codex_mcp.base.principals import LOCAL, of_session
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http import tickets
from codex_mcp.mcp.http.channel import HttpChannel, Reading, limits_of
from codex_mcp.mcp.http.ended_sessions import EndedSessions
from codex_mcp.mcp.http.evictions import to_evict
from codex_mcp.mcp.http.tickets import SessionTicket
from codex_mcp.mcp.known_clients import asks_for_events
from codex_mcp.mcp.methods import Methods, handle_notification
from codex_mcp.mcp.session import ID_BYTES, Session, SessionOrigin, ToolBox
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.transports.streams.backlog import Backlog
from codex_mcp.transports.streams.live_stream import Delivery
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id, Message, Notification, Request

logger = logging.getLogger(__name__)

MAX_REQUESTS: Final = 1024
"""Open requests of one session."""

TICKET_LIFETIME: Final = 7 * 24 * 3600.0
"""Seconds in which a restarted server restores a session from its id. Later its client must start a new one."""

TOMBSTONES: Final = 10_000
"""Closed ids that are remembered so that they stay closed; no client creates more in a ticket's lifetime."""

SWEEP_INTERVAL: Final = 30.0

SHORT_IDLE: Final = 60.0
"""Seconds after which a session without messages and listeners ends, and after which any other idle session may be
closed when the limit is reached."""

EVICTED_AT_ONCE: Final = 100
"""Sessions closed together: a hundredth of all, so that a full server does not scan all of them for each new one."""


class TooManySessions(Exception):
    """The limit of sessions of this server, principal or address is reached; the text says which."""


class HubSession:
    __slots__ = ("_methods", "_tools", "address", "channel", "id", "is_bus", "peer", "principal", "session")

    def __init__(self, hub: Hub, principal: str, session_id: str, address: str, *, is_bus: bool) -> None:
        """`is_bus`: it was created on the bus, with an id of the client's choice. `address`: where it was opened."""
        self.id = session_id
        self.address = address
        self.is_bus = is_bus
        self._methods, self._tools = hub.methods, hub.tools
        # Any other session begins with a message of its client, whose answer is the id.
        self.channel = HttpChannel(
            session_id,
            hub.limits,
            hub.backlog,
            spoke=not is_bus,
            reading=Reading(self._answer_unread, self._client_left, self._client_came),
        )
        logged_channel = watched(self.channel, "client")
        handlers = Handlers(self._request_received, self._notification_received)
        # A slow reader misses events, and does not hold its own requests back.
        self.peer = Peer(logged_channel, handlers, max_requests=MAX_REQUESTS)
        caller = msgspec.json.encode((principal, session_id)).decode()
        self.principal = principal
        owner = of_session(principal, session_id) if hub.has_private_sessions else principal
        origin = SessionOrigin(owner, logged(session_id), caller, self.channel, lambda: hub.administers(principal))
        self.session = Session(self.peer, hub.tools, hub.calls, origin, lambda: hub.shut_down(self))
        if logged_channel is self.channel:  # otherwise incoming messages must pass through the log
            self.channel.deliver_directly(self._message_received)

    @property
    def spoke(self) -> bool:
        return self.channel.spoke

    @property
    def used_at(self) -> float:
        return self.channel.used_at

    @property
    def busy(self) -> bool:
        return self.channel.busy or self.session.busy

    def _request_received(self, request: Request) -> object:
        return self._methods.handle(self.session, request)

    def _notification_received(self, message: Notification) -> None:
        handle_notification(self.session, message)

    def _message_received(self, message: Message) -> None:
        with about_only(self.session.subject):
            self.peer.message_received(message)

    def _answer_unread(self, request_id: Id) -> None:
        self.session.answer_unread(request_id)

    def _client_came(self) -> None:
        self._tools.caller_came(self.session.caller)

    def _client_left(self) -> None:
        self._tools.caller_left(self.session.caller, self.session.client.name)


class Hub:
    def __init__(
        self, methods: Methods, tools: ToolBox, settings: HttpSettings, calls: CallSettings, key: bytes
    ) -> None:
        self.methods = methods
        self.tools = tools
        self._settings = settings
        self.calls = calls
        self.has_private_sessions = settings.private_sessions
        self.limits = limits_of(settings, calls.outbox_bytes)
        self._key = key
        self._sessions: dict[tuple[str, str], HubSession] = {}
        self._closed: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._ended: EndedSessions | None = None
        self.administers: Callable[[str], bool] = lambda _: False
        self._of_principal: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()
        self._tasks = TaskSet()
        self._sweeping: asyncio.Task[None] | None = None
        self.exchanges: set[Session] = set()
        """Stateless requests in progress, each a session of its own."""
        self.closing = False
        self.backlog = Backlog()
        self.stateless = Delivery(calls.outbox_bytes, self.backlog)
        """What the streams of stateless requests share."""
        self._dropped = 0
        self._cut_off = 0

    @property
    def dropped(self) -> int:
        return self._dropped + self.stateless.missed + sum(session.channel.dropped for session in self)

    @property
    def cut_off(self) -> int:
        return self._cut_off + sum(session.channel.cut_off for session in self)

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HubSession]:
        return iter(list(self._sessions.values()))

    def ask_who_administers(self, administers: Callable[[str], bool]) -> None:
        """Until this is called, no principal may change the server for everyone."""
        self.administers = administers

    def remember_ended(self, ended: EndedSessions) -> None:
        self._ended = ended

    async def learn_if_ended(self, principal: str, session_id: str | None) -> None:
        """Before `find`: look an id up that might be of a session from before a restart, which may have ended since."""
        if session_id is None or self._ended is None:
            return
        if (principal, session_id) in self._sessions or (principal, session_id) in self._closed:
            return
        ticket = tickets.read(self._key, session_id, principal=principal, now=time.time(), lifetime=TICKET_LIFETIME)
        if ticket is not None and await self._ended.has(session_id):
            self._stay_closed(principal, session_id)

    def find(self, principal: str, session_id: str, address: str = "") -> HubSession | None:
        """An open session of this principal, or one from before a restart. Raises TooManySessions."""
        found = self._sessions.get((principal, session_id))
        if found is not None or (principal, session_id) in self._closed:
            return found
        ticket = tickets.read(self._key, session_id, principal=principal, now=time.time(), lifetime=TICKET_LIFETIME)
        if ticket is None:
            return None
        restored = self._add(principal, session_id, address, is_bus=False)
        info = mcp.ClientInfo(ticket.client_name, ticket.client_version)
        restored.session.client.introduce(info, ticket.capabilities, ticket.revision)
        restored.session.counts_as(info)
        with about_only(restored.session.subject):
            logger.info("session of %s restored", ticket.client_name)
        return restored

    def introduce(self, principal: str, params: mcp.Initialize, address: str = "") -> HubSession:
        """A new session for a client that sends `initialize`. Raises TooManySessions."""
        elicitation = params.capabilities.get("elicitation")
        ticket = SessionTicket(
            serial=uuid4().hex,
            principal=principal,
            issued=time.time(),
            client_name=params.client_info.name[:64],
            client_version=params.client_info.version[:64],
            elicitation=elicitation if isinstance(elicitation, dict) else None,
            revision=mcp.negotiated(params.protocol_version),
            has_roots=params.capabilities.get("roots") is not None,
            takes_events=asks_for_events(params.capabilities),
        )
        return self._add(principal, tickets.written(self._key, ticket), address, is_bus=False)

    def make(self, principal: str, session_id: str, address: str = "") -> HubSession:
        """A new session with an id of the client's choice. Raises TooManySessions."""
        added = self._add(principal, session_id, address, is_bus=True)
        self._closed.pop((principal, session_id), None)
        return added

    def _add(self, principal: str, session_id: str, address: str, *, is_bus: bool) -> HubSession:
        if self.closing:
            raise TooManySessions("the server is stopping")
        self._make_room(principal, address)
        added = HubSession(self, principal, session_id, address, is_bus=is_bus)
        self._sessions[principal, session_id] = added
        self._of_principal[principal] += 1
        self._of_address[address] += 1
        with about_only(added.session.subject):
            self._tasks.spawn(added.peer.run(), name=f"session {added.session.id}")
        if self._sweeping is None:
            self._sweeping = self._tasks.spawn(self._sweep(), name="sweep of idle sessions")
        return added

    def _make_room(self, principal: str, address: str) -> None:
        most = self._settings
        # Without tokens there is only one principal, and a proxy on this machine, even on a Unix socket, which has no
        # address, serves everyone's clients.
        if principal != LOCAL and self._of_principal[principal] >= most.sessions_per_principal:
            ours = [session for session in self if session.principal == principal]
            self._evict(ours, f"{principal} has {len(ours)} sessions, all in use")
        if address and not is_loopback(address) and self._of_address[address] >= most.sessions_per_address:
            from_there = [session for session in self if session.address == address]
            self._evict(from_there, f"{len(from_there)} sessions were opened from your address, all in use")
        if len(self._sessions) >= most.max_sessions:
            self._evict(list(self), f"there are {len(self)} sessions, all in use")

    def _evict(self, sessions: list[HubSession], none_can: str) -> None:
        count = max(1, min(EVICTED_AT_ONCE, len(sessions) // EVICTED_AT_ONCE))
        evicted = to_evict(sessions, count, time.monotonic() - min(SHORT_IDLE, self._settings.session_idle))
        if not evicted:
            logger.warning("refused a session: %s", none_can)
            raise TooManySessions(none_can)
        logger.info("closed %d idle sessions to make room for a new one", len(evicted))
        for session in evicted:
            self._remove(session)
            self._tasks.spawn(self._end(session), name=f"end of session {session.session.id}")

    def _remove(self, session: HubSession) -> bool:
        """Remove it from the list. False: it was removed before."""
        key = (session.principal, session.id)
        if self._sessions.get(key) is not session:
            return False
        del self._sessions[key]
        for counts, name in ((self._of_principal, session.principal), (self._of_address, session.address)):
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
        return True

    async def close(self, session: HubSession) -> None:
        """End a session permanently: its calls are interrupted, and its id stays closed."""
        if not self._remove(session):
            return
        self._stay_closed(session.principal, session.id)
        session.session.finish()
        recorded = None
        if self._ended is not None and not session.is_bus:
            recorded = self._ended.add(session.id, time.time() + TICKET_LIFETIME)
        await self._end(session)
        if recorded is not None:
            await recorded

    def _stay_closed(self, principal: str, session_id: str) -> None:
        self._closed[principal, session_id] = None
        if len(self._closed) > TOMBSTONES:
            self._closed.popitem(last=False)

    def shut_down(self, session: HubSession) -> None:
        if not self.closing:
            self._tasks.spawn(self.close(session), name=f"shutdown of session {session.session.id}")

    async def _end(self, session: HubSession) -> None:
        session.session.cancel_all()
        await session.session.wait_idle(self.calls.interrupt_grace)
        await session.peer.aclose()
        session.session.close()
        self.tools.caller_left(session.session.caller, session.session.client.name)
        self._dropped += session.channel.dropped
        self._cut_off += session.channel.cut_off
        channel = session.channel
        counted = f"{channel.requests} requests, {channel.sent} messages sent, {channel.dropped} dropped"
        with about_only(session.session.subject):
            logger.info("session ended: %s", counted)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_INTERVAL, self._settings.session_idle))
            await self.close_idle(time.monotonic())

    async def close_idle(self, now: float) -> None:
        """End sessions that were idle for a while. They can be restored from their ids, and their threads resumed."""
        for session in self:
            limit = self._settings.session_idle if session.spoke else min(SHORT_IDLE, self._settings.session_idle)
            # While one ends, another may be closed by its client.
            if not session.busy and now >= session.used_at + limit and self._remove(session):
                await self._end(session)

    def announce(self, change: mcp.Change) -> None:
        for session in self.running():
            session.announce(change)

    def stop_accepting(self) -> None:
        """Refuse new sessions and requests; running ones continue."""
        self.closing = True
        for session in self:
            session.peer.stop_accepting()

    def is_full_for(self, principal: str) -> bool:
        running, most = len(self.exchanges), self._settings
        if principal == LOCAL or running < most.sessions_per_principal:
            return running >= most.max_sessions
        return sum(each.principal == principal for each in self.exchanges) >= most.sessions_per_principal

    def running(self) -> Iterator[Session]:
        """All sessions that may have running calls, including stateless ones."""
        yield from self.exchanges.copy()
        yield from (session.session for session in self)

    async def aclose(self) -> None:
        self.closing = True
        for session in self:
            await session.peer.aclose()
            session.session.close()
        self._sessions.clear()
        self._of_principal.clear()
        self._of_address.clear()
        await self._tasks.aclose()


def logged(session_id: str) -> str:
    """A session id as the log shows it: whoever knows the id can find its lines, but not the other way round."""
    return sha256(session_id.encode(errors="surrogateescape")).hexdigest()[: 2 * ID_BYTES]
