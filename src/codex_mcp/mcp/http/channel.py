"""The channel of an HTTP session: POSTs deliver the client's messages, streams carry the server's.

Every message of the server goes to
- all subscribers of the bus (`GET /`, `/ws`, `POST /` with streaming);
- and to exactly one stream of `/mcp`: that of the POST whose request it is about, until that request is answered, even
  if its connection is gone (it may be resumed); otherwise the standing stream that `GET /mcp` reads. A POST that
  accepts only JSON gets nothing but its answer.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.settings.kinds import SlowReader
from codex_mcp.rpc import codec
from codex_mcp.rpc.channel import Frame, FrameKind, Receiving
from codex_mcp.transports.streams.backlog import Backlog
from codex_mcp.transports.streams.live_stream import STREAM_BYTES, STREAM_MESSAGES, Delivery, LiveStream
from codex_mcp.transports.streams.message_ring import MOST_BYTES
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, ErrorObject, Id, Message, Request

INBOX: Final = 128
"""Messages of one client that may wait, and that a listener on the bus may fall behind, as the bus specifies."""

ENDED_STREAMS: Final = 16
"""Streams of answered requests that can still be resumed by a client that lost its connection at the end."""

MARK_BYTES: Final = 4

CLOSED: Final = ErrorObject(INTERNAL_ERROR, "the session was closed before the request was handled")


class InboxFull(Exception):
    """Too many messages of the client are waiting."""


class ChannelLimits(Struct, frozen=True):
    """How many messages of a session may wait, and what happens to a listener on the bus that is too slow."""

    inbox: int = INBOX
    queue: int = INBOX
    slow_reader: SlowReader = SlowReader.DROP_OLDEST
    most_bytes: int = MOST_BYTES


def limits_of(settings: HttpSettings, outbox_bytes: int) -> ChannelLimits:
    return ChannelLimits(settings.session_inbox, settings.subscriber_queue, settings.slow_reader, outbox_bytes)


DEFAULTS: Final = ChannelLimits()


class Reading(Struct, frozen=True):
    """Who is told of what the client reads."""

    answer_unread: Callable[[Id], None] = lambda _: None
    """No connection was there to read the answer to this request."""
    client_left: Callable[[], None] = lambda: None
    """The last connection is lost on which the client was waiting."""
    client_came: Callable[[], None] = lambda: None
    """It has a connection, perhaps again."""


class HttpChannel(Receiving):
    def __init__(
        self,
        session_id: str,
        limits: ChannelLimits = DEFAULTS,
        backlog: Backlog | None = None,
        *,
        spoke: bool = False,
        reading: Reading | None = None,
    ) -> None:
        self.id = session_id
        self._limits = limits
        self._delivery = Delivery(limits.most_bytes, backlog or Backlog())
        self.used_at = time.monotonic()
        self.spoke = spoke
        """The client has sent a message."""
        self.subscribers: set[LiveStream] = set()
        # In the names of streams, because a client may return to a restarted server with an old name.
        self._mark = os.urandom(MARK_BYTES).hex()
        self.standing = self._resumable(f"s-{self._mark}")
        self.opened_at = self.used_at
        self.received = self.requests = 0
        """Messages of the client, and requests among them."""
        self.sent = self.sent_bytes = 0
        """Messages to the client, each counted once for any number of readers."""
        self.cut_off = 0
        """Listeners on the bus that were disconnected because they were too slow."""
        self.readers = 0
        """Connections that read a stream of this session now."""
        self._on_message: Callable[[Message], None] | None = None
        # Not an asyncio.Queue: it takes 3 KiB even in an idle session.
        self._inbox: list[Message] = []
        self._reader: asyncio.Future[None] | None = None
        self._posts: dict[Id, LiveStream] = {}
        self._answer_only: set[Id] = set()
        self._ended: OrderedDict[str, tuple[LiveStream, Id]] = OrderedDict()
        self._streams = 0
        self._closed = False
        self._unheard: list[tuple[Id, Waiter]] = []
        self._reading = reading or Reading()
        self._is_gone = True

    def __repr__(self) -> str:
        return f"<HttpChannel {self.id}: {len(self._posts)} requests, {len(self.subscribers)} subscribers>"

    def deliver_directly(self, on_message: Callable[[Message], None]) -> None:
        """Call this for messages that arrive while the peer waits, instead of waking it."""
        self._on_message = on_message

    def deliver(self, message: Message) -> None:
        self.used_at = time.monotonic()
        self.spoke = True
        if len(self._inbox) >= self._limits.inbox:
            raise InboxFull
        self.received += 1
        self.requests += isinstance(message, Request)
        is_idle = self._reader is not None and not self._reader.done()
        if is_idle and self._on_message is not None and not self._inbox:
            self._on_message(message)  # the same as waking the peer, without two passes of the event loop
            return
        self._inbox.append(message)
        resolve(self._reader, None)

    def expect(self, request_id: Id, *, answer_only: bool = False) -> LiveStream | None:
        """The stream for a request that is about to be delivered. None if a request with this id is still open."""
        if request_id in self._posts:
            return None
        self._streams += 1
        stream = self._resumable(f"p{self._streams}-{self._mark}")
        self._posts[request_id] = stream
        if answer_only:
            self._answer_only.add(request_id)
        return stream

    def forget(self, request_id: Id) -> None:
        """The request was not delivered after all."""
        self._posts.pop(request_id, None)
        self._answer_only.discard(request_id)

    def taken_whole(self, stream: LiveStream) -> None:
        """The answer was sent as JSON: it has no number from which the client could resume."""
        self._ended.pop(stream.name, None)

    def subscribe(self) -> LiveStream:
        limits = self._limits
        subscriber = LiveStream("b", limits.queue, STREAM_BYTES, limits.slow_reader, self._delivery)
        subscriber.add_reader()
        self.subscribers.add(subscriber)
        if self._closed:
            subscriber.end()
        return subscriber

    def unsubscribe(self, subscriber: LiveStream) -> None:
        self.subscribers.discard(subscriber)
        self.cut_off += subscriber.overrun
        self._tell_unheard()

    def reader_came(self, stream: LiveStream) -> None:
        self.readers += 1
        stream.add_reader()
        if self._is_gone:
            self._is_gone = False
            self._reading.client_came()

    def reader_left(self, stream: LiveStream) -> None:
        self.readers -= 1
        stream.remove_reader()
        self._tell_unheard()
        if not self.readers and (stream is self.standing or self.request_of(stream) is not None):
            self._is_gone = True
            self._reading.client_left()

    def is_heard(self, about: Id) -> bool:
        """Does a connection read what the client is asked about this request?"""
        stream = None if about in self._answer_only else self._posts.get(about)
        return bool(self.subscribers) or (stream or self.standing).readers > 0

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        """Tell this one when no connection reads what the client is asked about this request; at once if none does."""
        self._unheard = [entry for entry in self._unheard if not entry[1].done()]
        self._unheard.append((about, waiter))
        self._tell_unheard()

    def _tell_unheard(self) -> None:
        for about, waiter in self._unheard:
            if not self.is_heard(about):
                resolve(waiter, None)

    @property
    def dropped(self) -> int:
        return self._delivery.missed

    @property
    def waiting(self) -> int:
        return len(self._inbox)

    def find_stream(self, name: str) -> LiveStream | None:
        if name == self.standing.name:
            return self.standing
        if name in self._ended:
            return self._ended[name][0]
        return next((stream for stream in self._posts.values() if stream.name == name), None)

    def request_of(self, stream: LiveStream) -> Id | None:
        return next((request_id for request_id, each in self._posts.items() if each is stream), None)

    def request_read_on(self, stream: LiveStream) -> Id | None:
        """The same, also if the answer has ended the stream."""
        return self._ended[stream.name][1] if stream.name in self._ended else self.request_of(stream)

    @property
    def busy(self) -> bool:
        return bool(self.readers or self._posts or self.subscribers)

    async def receive(self) -> Sequence[Frame]:
        if not self._inbox and not self._closed:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if self._closed:
            return []
        messages, self._inbox = self._inbox, []
        return messages

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        self.sent += 1
        self.sent_bytes += len(frame)
        vital, final = kind is not FrameKind.NOTIFICATION, kind is FrameKind.ANSWER
        for subscriber in self.subscribers:
            subscriber.put(frame, vital=vital)
        stream = self._posts.get(about) if about is not None else None
        is_read = bool(self.subscribers) or (stream is not None and stream.readers > 0)
        if final and not is_read and about is not None:
            self._reading.answer_unread(about)
        if stream is None or (about in self._answer_only and not final):
            if not final:
                self._put_standing(frame, vital=vital)
            return
        stream.put(frame, vital=vital, final=final)
        if final and about is not None:
            is_resumable = about not in self._answer_only
            self.forget(about)
            if is_resumable:
                self._ended[stream.name] = stream, about
            if len(self._ended) > ENDED_STREAMS:
                self._ended.popitem(last=False)

    def _put_standing(self, frame: bytes, *, vital: bool) -> None:
        self.standing.put(frame, vital=vital)
        if self.standing.overrun:
            # Thousands of questions were never read; later messages must not be lost as well.
            self._streams += 1
            self.standing = self._resumable(f"s{self._streams}-{self._mark}")

    def _resumable(self, name: str) -> LiveStream:
        return LiveStream(name, STREAM_MESSAGES, STREAM_BYTES, delivery=self._delivery)

    async def drain(self, below: int) -> None:
        """Return at once: the streams are bounded."""

    async def aclose(self) -> None:
        """Answer unhandled requests with an error, and end every stream. May be called twice."""
        self._closed = True
        resolve(self._reader, None)
        for request_id in list(self._posts):
            self.send(codec.encode_error(request_id, CLOSED), request_id, FrameKind.ANSWER)
        for stream in (self.standing, *self.subscribers):
            stream.end()
