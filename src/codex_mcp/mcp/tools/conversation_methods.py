"""The conversation methods of 0.42.0 next to MCP: connects sessions of the handshake era with `conversations`."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import Subject
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.mcp.calls.cancellable import RequestCancelled
from codex_mcp.mcp.method_rows import Home, answered_by
from codex_mcp.mcp.methods import Exchange, Handler, user_agent
from codex_mcp.mcp.schema.arguments import CodexArguments
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tools.specs import CONFIG_REFUSED, new_thread
from codex_mcp.rpc.errors import request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.threads.threads import Threads
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR

if TYPE_CHECKING:
    from codex_mcp.conversations.methods import ConversationMethods
    from codex_mcp.wire.conversations import NewConversation

USER_AGENT: Final = "getUserAgent"
ONE_OFF: Final = "execOneOffCommand"


class SessionCaller:
    """A session, as the conversation methods see it."""

    def __init__(self, session: Session, *, shared_history: bool) -> None:
        self._session = session
        self.owner = session.caller
        self.principal = session.principal
        self.subject: Subject = session.subject
        self.is_local = session.is_local
        self.sees_history = session.is_local or shared_history

    def may_administer(self) -> bool:
        return self._session.may_administer()

    def notify(self, method: str, params: object) -> None:
        self._session.client.notify(method, params)

    def ask(self, method: str, params: object) -> PendingCall:
        return self._session.client.start_request(method, params)

    def withdraw(self, pending: PendingCall, reason: str) -> None:
        self._session.client.withdraw(pending, reason)


class ConversationTable:
    def __init__(self, threads: Threads, settings: Settings, *, has_team: bool) -> None:
        """With a team, agents are no conversations: messages to them would bypass the team's limits."""
        self._threads = threads
        self._has_team = has_team
        self._settings = settings
        self._loaded: ConversationMethods | None = None
        self._callers: dict[Session, SessionCaller] = {}

    def table(self) -> dict[str, Handler]:
        return {**dict.fromkeys(answered_by(Home.CONVERSATIONS), self._answer), USER_AGENT: _user_agent}

    def _answer(self, exchange: Exchange) -> object:
        request = exchange.request
        methods = self._methods()
        answer = methods.handle(request.method, request.params, self._caller(methods, exchange.session))
        return _ended_with(exchange, answer) if request.method == ONE_OFF else answer

    def _methods(self) -> ConversationMethods:
        if self._loaded is None:
            # Few clients use these methods, and every server would start later.
            from codex_mcp.conversations.methods import ConversationMethods  # noqa: PLC0415

            self._loaded = ConversationMethods(
                self._threads, self._settings, self._spec, takes_tool_threads=not self._has_team
            )
        return self._loaded

    def _caller(self, methods: ConversationMethods, session: Session) -> SessionCaller:
        caller = self._callers.get(session)
        if caller is None:
            caller = self._callers[session] = SessionCaller(session, shared_history=self._settings.http.shared_history)
            methods.caller_came(caller)
            session.at_close(lambda: self._gone(methods, session))
        return caller

    def _gone(self, methods: ConversationMethods, session: Session) -> None:
        methods.caller_gone(self._callers.pop(session), for_good=session.is_final)

    def _spec(self, params: NewConversation) -> ThreadSpec:
        arguments = CodexArguments(
            prompt="",
            model=params.model,
            cwd=params.cwd,
            approval_policy=params.approval_policy,
            sandbox=params.sandbox,
            config=params.config or {},
            base_instructions=params.base_instructions,
            profile=params.profile,
            include_plan_tool=params.include_plan_tool,
        )
        try:
            return new_thread(arguments, self._settings).spec
        except Refused as exc:
            raise Refused(str(exc).removeprefix(CONFIG_REFUSED)) from exc


async def _cancel(answer: Awaitable[object]) -> object:
    try:
        return await answer
    except RequestCancelled:
        raise request_failed(INTERNAL_ERROR, "exec failed: the request was cancelled") from None


def _ended_with(exchange: Exchange, answer: Awaitable[object]) -> Coroutine[Any, Any, object]:
    """A command ends when its client cancels the request, or leaves."""
    return _cancel(exchange.session.cancellable(exchange.request.id, answer))


def _user_agent(exchange: Exchange) -> object:
    exchange.params(dict[str, object])
    return {"userAgent": user_agent(exchange.client.info)}
