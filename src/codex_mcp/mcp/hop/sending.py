"""Sends requests to the servers that answer them. One that was sent is never sent again: what became of it is not known
once the connection is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw, UnsetType

from codex_mcp.control.failures import CannotReach, NotSent, Why
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.hop.links import Links
from codex_mcp.mcp.hop.waits import Asked, FarPart, FarWait
from codex_mcp.mcp.hop.ways import Ways
from codex_mcp.mcp.methods import Exchange
from codex_mcp.mcp.session import Session
from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.state.contract import Node
from codex_mcp.team import refusals
from codex_mcp.team.refusals import RunElsewhere
from codex_mcp.wire import control, hop, mcp
from codex_mcp.wire.glances import PART
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

EACH: Final = 5.0
"""Seconds for a server to tell what it knows at once. The hooks of Claude Code wait for ten."""


class Sending:
    def __init__(self, ways: Ways, own_node: Callable[[], str]) -> None:
        """`own_node` tells which node this server is."""
        self._links = Links(ways, own_node)

    async def call(self, call: Call, found: RunElsewhere) -> Raw | None:
        """The result; None if that server does not run the agent any more. Raises RequestFailed, TeamRefused."""
        if call.is_forwarded:
            raise request_failed(hop.ELSEWHERE, "another server runs this agent")
        session = call.session
        assert isinstance(session, Session)
        asked = hop.Forward(
            meta=_meta(session, call.client),
            origin=_origin(session, call.client),
            id=call.request_id,
            method="tools/call",
            params=_call_params(call),
        )
        try:
            return await self._links.forward(found.node, session, asked, call.done_by)
        except NotSent as exc:
            if exc.why is Why.ENDED:
                return None
            raise refusals.owned_elsewhere(found.agent, found.node, str(exc)) from exc
        except CannotReach as exc:
            if exc.why is Why.ENDED:
                raise refusals.ended_elsewhere(found.agent, found.node) from exc
            raise refusals.owned_elsewhere(found.agent, found.node, str(exc), was_told=True) from exc
        except RequestFailed as exc:
            if exc.error.code == hop.ELSEWHERE:
                return None
            raise

    def far_wait(self, call: Call, parts: Iterable[tuple[Node, tuple[str, ...] | None]]) -> FarWait:
        session = call.session
        assert isinstance(session, Session)

        async def ask(asked: Asked) -> Raw:
            forward = hop.Forward(
                meta=_meta(session, call.client),
                origin=_origin(session, call.client),
                id=call.request_id if asked.id is None else asked.id,
                method="tools/call",
                params=_part_params(call, asked),
            )
            return await self._links.forward(asked.node, session, forward, begins=False)

        return FarWait(
            [FarPart(node, ids) for node, ids in parts],
            ask,
            matters=lambda node: self._links.has_forwarded(call.caller, node),
            answers=call.params.request_state is not None,
        )

    def has_forwarded(self, caller: str) -> bool:
        return self._links.has_forwarded(caller)

    async def each(self, call: Call, nodes: Sequence[Node], arguments: Mapping[str, object]) -> list[Raw]:
        """The results of the servers that may have work of the caller; those that do not answer are passed over."""
        session = call.session
        assert isinstance(session, Session)

        async def ask(node: Node) -> Raw | None:
            forward = hop.Forward(
                meta=_meta(session, call.client),
                origin=_origin(session, call.client),
                id=call.request_id,
                method="tools/call",
                params=_params(call, {}, with_answers=False, arguments=arguments),
            )
            try:
                async with asyncio.timeout(EACH):
                    return await self._links.forward(node, session, forward, begins=False)
            except (CannotReach, RequestFailed, TimeoutError) as exc:
                logger.warning("server process %s does not tell what is unfinished: %s", node.pid, exc)
                return None

        asked = [node for node in nodes if self._links.has_forwarded(call.caller, node.id)]
        return [answer for answer in await asyncio.gather(*map(ask, asked)) if answer is not None]

    async def whose(self, thread_id: str, principal: str, nodes: Sequence[Node]) -> Node | None:
        """Which of these servers has a thread open that is no agent's; those that do not answer are passed over."""
        meta = control.Meta(control.ActsFor(principal=principal, via="hop"))
        asked = hop.Whose(meta=meta, thread=thread_id)
        answers = await asyncio.gather(*(self._links.has(node, asked) for node in nodes), return_exceptions=True)
        for node, answer in zip(nodes, answers, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, RequestFailed | CannotReach):
                raise answer
            if answer is True:
                return node
        return None

    def untold(self, call: Call, node: Node) -> None:
        """What this server told is not in the result."""
        self._links.tell(node.id, hop.CallerNews(kind=hop.LOST, caller=call.caller, id=call.request_id))

    async def read(self, exchange: Exchange, node: Node) -> Raw | None:
        """The answer; None if that server does not answer. Raises RequestFailed."""
        try:
            return await self._forward(exchange, node)
        except CannotReach as exc:
            logger.warning("%s is not answered by the server that could: %s", exchange.request.method, exc)
            return None

    async def first(self, exchange: Exchange, nodes: Sequence[Node]) -> Raw | None:
        """The answer of the one among these that has one; None if there is none."""
        for answer in await asyncio.gather(*(self.read(exchange, node) for node in nodes), return_exceptions=True):
            if isinstance(answer, Raw):
                return answer
            if answer is not None and not isinstance(answer, RequestFailed):
                raise answer
        return None

    async def _forward(self, exchange: Exchange, node: Node) -> Raw:
        request = exchange.request
        # Written anew: the client's message may have been spread over several lines.
        params = Raw(msgspec.json.encode(msgspec.json.decode(request.params)))
        asked = hop.Forward(
            meta=_meta(exchange.session, exchange.client),
            origin=_origin(exchange.session, exchange.client),
            id=request.id,
            method=request.method,
            params=params,
        )
        return await self._links.forward(node, exchange.session, asked)

    def answer_lost(self, caller: str, request_id: Id) -> None:
        self._links.caller_told(hop.CallerNews(kind=hop.LOST, caller=caller, id=request_id))

    def answer_read(self, caller: str, request_id: Id) -> None:
        self._links.caller_told(hop.CallerNews(kind=hop.READ, caller=caller, id=request_id))

    def caller_left(self, caller: str, client: str) -> None:
        self._links.caller_told(hop.CallerNews(kind=hop.LEFT, caller=caller, client=client))

    def caller_came(self, caller: str) -> None:
        self._links.caller_told(hop.CallerNews(kind=hop.CAME, caller=caller))

    async def aclose(self) -> None:
        await self._links.aclose()


def _meta(session: Session, client: Client) -> control.Meta:
    return control.Meta(control.ActsFor(principal=session.principal, person=client.name, via="hop"))


def _origin(session: Session, client: Client) -> hop.Origin:
    return hop.Origin(
        session=session.number,
        log_id=session.id,
        caller=session.caller,
        client=client.info,
        capabilities=client.capabilities,
        revision=client.revision,
        is_stateless=client.is_stateless,
        is_local=session.is_local,
    )


def _call_params(call: Call) -> Raw:
    meta: dict[str, object] = {}
    if not isinstance(call.params.meta.progress_token, UnsetType):
        meta["progressToken"] = call.params.meta.progress_token
    return _params(call, meta, with_answers=call.params.request_state is not None)


def _part_params(call: Call, asked: Asked) -> Raw:
    """Its progress is told here."""
    return _params(call, {PART: asked.part}, with_answers=asked.with_answers)


def _params(
    call: Call, meta: dict[str, object], *, with_answers: bool, arguments: Mapping[str, object] | None = None
) -> Raw:
    if call.client.is_stateless:
        meta[mcp.VERSION_KEY] = call.client.revision
        meta[mcp.CAPABILITIES_KEY] = call.client.capabilities
        meta[mcp.CLIENT_KEY] = call.client.info
    params: dict[str, object] = {
        "name": call.params.name,
        "arguments": arguments or call.params.arguments,
        "_meta": meta,
    }
    if with_answers:
        params["requestState"] = call.params.request_state
        params["inputResponses"] = call.params.input_responses
    return Raw(msgspec.json.encode(params))
