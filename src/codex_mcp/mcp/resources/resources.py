"""`resources/*`: the threads of a session and, with a team, the mailboxes of its principal.

Listed are the threads that its caller started or continued; any other thread of its principal can be read by its id.
Another principal's thread looks like an unknown one, unless it is on the list: a shared history allows to continue it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.core import BadThreadId, ThreadNotFound
from codex_mcp.mcp.methods import Exchange
from codex_mcp.mcp.paging import BadCursor, page
from codex_mcp.mcp.resources.diff import diff
from codex_mcp.mcp.resources.history import ThreadHistory
from codex_mcp.mcp.resources.subscriptions import DELAY, MAX_SUBSCRIPTIONS, Source, Subscriptions, thread_source
from codex_mcp.mcp.resources.transcript import transcript
from codex_mcp.mcp.resources.uris import (
    MAIL_TEMPLATE,
    MIME,
    TEMPLATES,
    ResourceAddress,
    ThreadView,
    listed,
    mailbox_in,
    parsed,
)
from codex_mcp.rpc.errors import RequestFailed, invalid_params, request_failed
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import features, mcp
from codex_mcp.wire.app.history import last_answer
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS

if TYPE_CHECKING:
    from codex_mcp.mcp.resources.mailboxes import Mailboxes
    from codex_mcp.mcp.session import Session
    from codex_mcp.mcp.subscriber import Subscriber

logger = logging.getLogger(__name__)

UPDATED: Final = "notifications/resources/updated"

READS_AT_ONCE: Final = 4
"""Threads that are read at once; other requests wait. It bounds the memory that large threads take."""

ABOUT_CHARS: Final = 60
"""What the list shows of a thread's first known prompt."""


class _Listed(Struct):
    """The session's client was shown the list, and is told when it changes."""


class Resources:
    def __init__(self, threads: Threads, settings: Settings, mail: Mailboxes | None = None) -> None:
        self._threads = threads
        self._mail = mail
        self._templates = TEMPLATES if mail is None else TEMPLATES | MAIL_TEMPLATE
        self._reading = asyncio.Semaphore(READS_AT_ONCE)
        # Half of the longest message: a text grows when it is written as JSON.
        self._history = ThreadHistory(threads, settings.core.codex_home, settings.core.max_message_bytes // 2)

    async def list_resources(self, exchange: Exchange, asked: features.Page) -> object:
        if not exchange.client.is_stateless:
            self.watched(exchange)
        entries: dict[str, object] = {}
        for thread_id in self._threads.callers.threads(exchange.session.caller):
            entries |= listed(thread_id, self._about(thread_id))
        if self._mail is not None:
            entries |= await self._mailboxes(exchange.session.principal, self._mail)
        return _page("resources", entries, asked.cursor, "resources")

    def templates(self, exchange: Exchange, asked: features.Page) -> object:
        return _page("templates", self._templates, asked.cursor, "resourceTemplates")

    async def read(self, exchange: Exchange, asked: features.ResourceNamed) -> object:
        uri = asked.uri
        try:
            return {"contents": await self.contents(exchange, uri)}
        except Explained as exc:
            raise request_failed(INTERNAL_ERROR, f"cannot read {uri}: {exc}", {"uri": uri}) from exc

    async def contents(self, exchange: Exchange, uri: str) -> Sequence[dict[str, object]]:
        """Raises RequestFailed if there is no such resource, otherwise CoreError or Refused."""
        if self._mail is not None and (name := mailbox_in(uri)) is not None:
            try:
                return [await self._mail.content(name, exchange.session.principal)]
            except Refused as exc:
                raise _not_found(exchange, uri) from exc
        address = await self._own(exchange, uri)
        try:
            async with self._reading:
                return await self._contents(address, uri)
        except (ThreadNotFound, BadThreadId) as exc:
            raise _not_found(exchange, uri) from exc

    async def _contents(self, address: ResourceAddress, uri: str) -> Sequence[dict[str, object]]:
        thread = await self._history.thread(address.thread_id)
        if address.view is ThreadView.ROLLOUT:
            piece = await self._history.rollout(thread, address.begin)
            content = [{"uri": uri, "mimeType": MIME[ThreadView.ROLLOUT], **piece.content()}]
            return content if piece.end >= piece.size else [*content, _rest(address, piece.end, piece.size)]
        kept = await self._history.turns(thread)
        if address.view is ThreadView.ANSWER:
            text = await in_thread(last_answer, kept.turns)
            return [{"uri": uri, "mimeType": MIME[ThreadView.ANSWER], "text": text[address.begin :]}]
        render = diff if address.view is ThreadView.DIFF else transcript
        text = await in_thread(render, thread, kept.turns, is_cut=kept.is_cut)
        return [{"uri": uri, "mimeType": MIME[address.view], "text": text}]

    async def embed(self, exchange: Exchange, uri: str) -> Mapping[str, object] | None:
        """The resource for a message, if this is the address of one that the client may read."""
        if parsed(uri) is None:
            return None
        try:
            return (await self.contents(exchange, uri))[0]
        except (RequestFailed, Explained):
            return None

    async def subscribe(self, exchange: Exchange, asked: features.ResourceNamed) -> object:
        uri = asked.uri
        source = await self._source(exchange, uri)
        session = exchange.session
        try:
            session.part(Subscriptions, lambda: self._subscriptions(session)).add(uri, *source)
        except Refused as exc:
            raise invalid_params(str(exc)) from exc
        return {}

    def unsubscribe(self, exchange: Exchange, asked: features.ResourceNamed) -> object:
        uri = asked.uri
        subscriptions = exchange.session.kept(Subscriptions)
        if subscriptions is not None:
            subscriptions.remove(uri)
        return {}

    async def follow(self, exchange: Exchange, listener: Subscriber, uris: Sequence[str]) -> tuple[str, ...]:
        """Tell a client that listens when these resources change; return those that it may read."""
        meta = {mcp.SUBSCRIPTION_KEY: exchange.request.id}

        def tell(uri: str) -> None:
            exchange.notify(UPDATED, {"uri": uri, "_meta": meta})

        subscriptions = Subscriptions(tell)
        listener.at_end(subscriptions.stop)
        accepted: dict[str, None] = {}
        for uri in uris[:MAX_SUBSCRIPTIONS]:
            try:
                subscriptions.add(uri, *await self._source(exchange, uri))
            except RequestFailed:
                continue
            accepted[uri] = None
        return tuple(accepted)

    def thread_ids(self, exchange: Exchange) -> list[str]:
        """For completion: the caller's threads, the one used last first."""
        return list(reversed(self._threads.callers.threads(exchange.session.caller)))

    def watched(self, exchange: Exchange) -> None:
        """Tell the session's client when its list changes, from now on."""
        exchange.session.part(_Listed, lambda: self._listed(exchange.session))

    def _listed(self, session: Session) -> _Listed:
        def tell() -> None:
            session.announce(mcp.Change.RESOURCES)

        self._threads.callers.watch(session.caller, tell)
        session.at_close(lambda: self._threads.callers.unwatch(session.caller, tell))
        return _Listed()

    def _subscriptions(self, session: Session) -> Subscriptions:
        subscriptions = Subscriptions(lambda uri: session.client.notify(UPDATED, {"uri": uri}))
        session.at_close(subscriptions.stop)
        return subscriptions

    async def _source(self, exchange: Exchange, uri: str) -> tuple[Source, float]:
        """The changes of a resource that the client may read, and how late it can be read. Raises RequestFailed."""
        if self._mail is not None and (name := mailbox_in(uri)) is not None:
            try:
                return await self._mail.source(name, exchange.session.principal), 0.0
            except Explained as exc:
                raise _not_found(exchange, uri) from exc
        return thread_source(self._threads.observers, await self._find(exchange, uri)), DELAY

    async def _mailboxes(self, principal: str, mail: Mailboxes) -> dict[str, object]:
        try:
            return await mail.describe(principal)
        except Explained as exc:
            logger.warning("cannot list mailboxes: %s", exc)
            return {}

    async def _own(self, exchange: Exchange, uri: str) -> ResourceAddress:
        """Raises RequestFailed, the same for an unknown thread and for that of another principal."""
        address, session = parsed(uri), exchange.session
        if address is not None and (
            self._threads.callers.has(session.caller, address.thread_id)
            or await self._threads.owner_of(address.thread_id) == session.principal
        ):
            return address
        raise _not_found(exchange, uri)

    async def _find(self, exchange: Exchange, uri: str) -> ResourceAddress:
        """As `_own`, for a thread that must exist."""
        address = await self._own(exchange, uri)
        if self._threads.open_thread(address.thread_id) is None:
            try:
                await self._history.thread(address.thread_id)
            except Explained as exc:
                raise _not_found(exchange, uri) from exc
        return address

    def _about(self, thread_id: str) -> str:
        thread = self._threads.open_thread(thread_id)
        turns = [] if thread is None else thread.turns
        return " ".join(turns[0].spec.prompt.split())[:ABOUT_CHARS] if turns else ""


def _page(kind: str, entries: dict[str, object] | dict[str, dict[str, object]], cursor: str | None, key: str) -> object:
    try:
        return page(kind, entries, cursor).answer(key)
    except BadCursor as exc:
        raise invalid_params(str(exc)) from exc


def _rest(address: ResourceAddress, begin: int, size: int) -> dict[str, object]:
    uri = f"{address.uri}?from={begin}"
    return {"uri": uri, "mimeType": "text/plain", "text": f"The file has {size} bytes; read {uri} for what follows."}


def _not_found(exchange: Exchange, uri: str) -> RequestFailed:
    code = INVALID_PARAMS if exchange.client.is_stateless else features.RESOURCE_NOT_FOUND
    return request_failed(code, f"Resource not found: {uri}", {"uri": uri})
