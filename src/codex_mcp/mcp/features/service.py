"""All features of a server, made when a client first uses one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from codex_mcp.base.settings.groups import Settings
from codex_mcp.mcp.features.completion import Completion
from codex_mcp.mcp.features.logging_methods import LoggingMethods
from codex_mcp.mcp.methods import Exchange
from codex_mcp.mcp.prompts.prompts import Prompts
from codex_mcp.mcp.resources.resources import Resources
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import features, mcp

if TYPE_CHECKING:
    from codex_mcp.mcp.resources.mailboxes import Mailboxes
    from codex_mcp.mcp.subscriber import Subscriber

Body: TypeAlias = Callable[[Exchange, Any], object]
"""Answers a request with these parameters, or returns the coroutine that will."""


class Features:
    def __init__(self, threads: Threads, settings: Settings, mail: Mailboxes | None = None) -> None:
        home = settings.core.codex_home
        self.resources = Resources(threads, settings, mail)
        self.prompts = Prompts(home, self.resources.embed)
        self.logging = LoggingMethods(None if mail is None else mail.log_to)
        completion = Completion(threads, home, self.prompts, self.resources)
        self._bodies: dict[str, tuple[type[Any], Body]] = {
            "prompts/list": (features.Page, self.prompts.list_prompts),
            "prompts/get": (features.GetPrompt, self.prompts.get),
            "resources/list": (features.Page, self.resources.list_resources),
            "resources/templates/list": (features.Page, self.resources.templates),
            "resources/read": (features.ResourceNamed, self.resources.read),
            "resources/subscribe": (features.ResourceNamed, self.resources.subscribe),
            "resources/unsubscribe": (features.ResourceNamed, self.resources.unsubscribe),
            "completion/complete": (features.Complete, completion.complete),
            "logging/setLevel": (features.SetLevel, self.logging.set_level),
            "subscriptions/listen": (mcp.Listen, self._listen),
        }

    def handle(self, exchange: Exchange) -> object:
        kind, body = self._bodies[exchange.request.method]
        return body(exchange, exchange.params(kind))

    def _listen(self, exchange: Exchange, asked: mcp.Listen) -> object:
        wanted = asked.notifications.among(exchange.capabilities)
        return exchange.session.listen(exchange.request.id, exchange.client, wanted, partial(self._prepare, exchange))

    async def _prepare(self, exchange: Exchange, listener: Subscriber) -> mcp.Wanted:
        wanted = listener.wanted
        if wanted.prompts_list_changed:
            await self.prompts.watch(exchange)
        if wanted.resources_list_changed:
            self.resources.watched(exchange)
        if not wanted.resource_subscriptions:
            return wanted
        accepted = await self.resources.follow(exchange, listener, wanted.resource_subscriptions)
        return replace(wanted, resource_subscriptions=accepted)
