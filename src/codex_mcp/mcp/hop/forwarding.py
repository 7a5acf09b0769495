"""Whether another server of the folder answers a request: the one that runs the agent that the request is about.

A request that was forwarded is forwarded to no third server. What sends it is loaded with the first that is forwarded.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from codex_mcp.codex.core import is_thread_id, plain_id
from codex_mcp.mcp.asking.inputs import threads_asking
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.hop.ways import Ways
from codex_mcp.mcp.methods import Exchange, Handler
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.results import Result, ToolResult
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.state.contract import Node
from codex_mcp.team import refusals
from codex_mcp.team.agent import thread_of_none
from codex_mcp.team.refusals import RunElsewhere
from codex_mcp.team.team import Team
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import features
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, Id

if TYPE_CHECKING:
    from codex_mcp.mcp.hop.sending import Sending
    from codex_mcp.mcp.hop.waits import FarWait

TRIES: Final = 2
"""An agent may have moved since it was looked for. Then the server that was asked has done nothing."""

KEPT: Final = 1.0
"""Seconds for which it is remembered who runs an agent. A server that does not run it any more says so."""

MOST_KEPT: Final = 1_000

CODEX_WAIT: Final = "codex_wait"
"""Is split between the servers, with its answers (see `split`)."""

TASKS: Final = ("tasks/get", "tasks/update", "tasks/cancel")


class Split(Struct, frozen=True):
    """Whose the agents are that a wait is about."""

    ours: tuple[str, ...] | None = None
    others: Mapping[str, tuple[Node, tuple[str, ...] | None]] = {}
    """What the caller calls those of each other server, by its id; None: its own work there."""


ALL_OURS: Final = Split()


class Forwarding:
    def __init__(self, team: Team, threads: Threads, key: bytes) -> None:
        """`key` seals what clients carry for us."""
        self._key = key
        self._team = team
        self._ways = Ways(team.state_dir, team.cluster)
        self._threads = threads
        self._sending: Sending | None = None
        self._seen: OrderedDict[tuple[str, ...], tuple[float, RunElsewhere]] = OrderedDict()

    async def call(self, call: Call, tool: Tool) -> Raw | None:
        """The result of the server that runs the agent; None if we answer. Raises RequestFailed, TeamRefused."""
        references = tool.agents_in(call.params.arguments or {})
        if not references and call.params.request_state is not None and tool.name != CODEX_WAIT:
            # The call that started an agent comes again with an answer, perhaps to another server of the cluster.
            references = threads_asking(self._key, call.params.request_state)
        if not references:
            return None
        found: RunElsewhere | None = None
        for _ in range(TRIES):
            found = await self._elsewhere(references, call.principal, may_ask=not call.is_forwarded)
            if found is None:
                return None
            if not await self._ways.leads_to(found.node):
                raise refusals.owned_elsewhere(found.agent, found.node)
            answer = await self._loaded().call(call, found)
            if answer is not None:
                return answer
            self._seen.clear()
        assert found is not None
        raise refusals.owned_elsewhere(found.agent, found.node)

    async def moved(self, call: Call, found: RunElsewhere) -> Raw | None:
        """The result of that server, after we have found that it runs the agent; None if it does not either."""
        return await self._loaded().call(call, found) if await self._ways.leads_to(found.node) else None

    async def split(self, call: Call, references: Sequence[str] | None) -> Split:
        """The parts of a wait that other servers have; `references` are the agents, None the caller's own work."""
        if call.is_forwarded:
            return ALL_OURS
        if references is None:
            return Split(others={node.id: (node, None) for node in await self._others()})
        ours: list[str] = []
        others: dict[str, tuple[Node, tuple[str, ...] | None]] = {}
        for reference in references:
            found = await self._elsewhere([reference], call.principal)
            if found is None or not await self._ways.leads_to(found.node):
                ours.append(reference)
            else:
                _, before = others.get(found.node.id, (found.node, ()))
                others[found.node.id] = found.node, (*(before or ()), reference)
        return Split(tuple(ours), others)

    def far_wait(self, call: Call, split: Split) -> FarWait:
        return self._loaded().far_wait(call, split.others.values())

    def has_forwarded(self, caller: str) -> bool:
        """Whether other servers may have work of this caller."""
        return self._sending is not None and self._sending.has_forwarded(caller)

    async def each(self, call: Call, arguments: Mapping[str, object]) -> list[Raw]:
        """The results of this call, with these arguments, of the servers that may have work of its caller."""
        return await self._loaded().each(call, await self._others(), arguments)

    async def whole(self, call: Call, far: FarWait, own: ToolResult) -> Result:
        """The result of a wait with the parts of other servers."""
        result, untold = await far.collected(own)
        for node in untold:
            self._loaded().untold(call, node)
        return result

    async def _others(self) -> list[Node]:
        return await self._ways.among(await self._team.directory.others())

    async def _elsewhere(
        self, references: Sequence[str], principal: str, *, may_ask: bool = True
    ) -> RunElsewhere | None:
        """Who runs the agents of these names, if it is another server that runs all of them.

        `may_ask`: others are asked for a thread that is no agent's.
        """
        if any(self._is_here(reference, principal) for reference in references):
            return None
        key, now = (principal, *references), asyncio.get_running_loop().time()
        known = self._seen.get(key)
        if known is not None and now < known[0]:
            return known[1]
        found = await self._team.directory.run_elsewhere(references, principal)
        if found is None and may_ask and len(references) == 1 and is_thread_id(references[0]):
            found = await self._has_thread(references[0], principal)
        if found is not None and await self._ways.leads_to(found.node):
            self._seen[key] = now + KEPT, found
            self._seen.move_to_end(key)
            if len(self._seen) > MOST_KEPT:
                self._seen.popitem(last=False)
        return found

    async def _has_thread(self, reference: str, principal: str) -> RunElsewhere | None:
        """Which other server has a thread open that is no agent's, as that of a review."""
        if await self._team.directory.find_record(plain_id(reference), principal) is not None:
            return None
        others = await self._others()
        node = await self._loaded().whose(plain_id(reference), principal, others) if others else None
        return None if node is None else RunElsewhere(thread_of_none(reference), node)

    def _is_here(self, reference: str, principal: str) -> bool:
        member = self._team.roster.called(reference, principal)
        return member is not None or self._threads.known(reference, principal) is not None

    def around(self, table: Mapping[str, Handler]) -> dict[str, Handler]:
        """Handlers of the methods that name a thread or a task, which may be those of another server."""
        tasks = {name: partial(self._task, table[name]) for name in TASKS}
        return {"resources/read": partial(self._read, table["resources/read"]), **tasks}

    def _read(self, handler: Handler, exchange: Exchange) -> object:
        from codex_mcp.mcp.resources.uris import parsed  # noqa: PLC0415  with the first request that needs it

        address = parsed(exchange.params(features.ResourceNamed).uri)
        if address is None or exchange.session.is_forwarded or self._threads.open_thread(address.thread_id) is not None:
            return handler(exchange)
        return self._read_there(handler, exchange, address.thread_id)

    async def _read_there(self, handler: Handler, exchange: Exchange, thread_id: str) -> object:
        """Codex's record of the thread may be readable here as well, if that server does not answer."""
        found = await self._elsewhere([thread_id], exchange.session.principal)
        has_way = found is not None and await self._ways.leads_to(found.node)
        answer = await self._loaded().read(exchange, found.node) if found is not None and has_way else None
        if answer is not None:
            return answer
        own = handler(exchange)
        return await own if inspect.isawaitable(own) else own

    def _task(self, handler: Handler, exchange: Exchange) -> object:
        try:
            return handler(exchange)
        except RequestFailed as exc:
            if exc.error.code != INVALID_PARAMS or exchange.session.is_forwarded:
                raise
            return self._task_there(exchange, exc)

    async def _task_there(self, exchange: Exchange, unknown: RequestFailed) -> object:
        """A task is known to one server only, which has sealed its id: ask all."""
        answer = await self._loaded().first(exchange, await self._others())
        if answer is None:
            raise unknown
        return answer

    def answer_lost(self, caller: str, request_id: Id) -> None:
        if self._sending is not None:
            self._sending.answer_lost(caller, request_id)

    def answer_read(self, caller: str, request_id: Id) -> None:
        if self._sending is not None:
            self._sending.answer_read(caller, request_id)

    def caller_left(self, caller: str, client: str) -> None:
        if self._sending is not None:
            self._sending.caller_left(caller, client)

    def caller_came(self, caller: str) -> None:
        if self._sending is not None:
            self._sending.caller_came(caller)

    def _loaded(self) -> Sending:
        if self._sending is None:
            from codex_mcp.mcp.hop.sending import Sending  # noqa: PLC0415  with the first request that needs it

            session = self._team.session
            self._sending = Sending(self._ways, lambda: session.owner.node)
        return self._sending

    async def aclose(self) -> None:
        if self._sending is not None:
            await self._sending.aclose()
