"""Where a question is put: to the person at the client, else on the list of open questions, else it is denied.

    the client                                   with a list of open questions      without
    -------------------------------------------  ---------------------------------  ---------------------------------
    can be asked                                 is asked                           is asked
    can be asked, but no connection reads it     is asked, and the question listed  is asked
    stateless, can be asked                      fetches the question               fetches the question
    cannot be asked                              the question is listed             denied at once
    has cancelled a question at once (headless)  the question is listed             is asked: its cancel denies it
    is gone                                      the question is listed             denied at once

The first decision counts. Without one in time, the question is denied.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from codex_mcp.base.futures import Waiter
from codex_mcp.mcp.asking.elicitation import elicitation_params, why_not_asked
from codex_mcp.mcp.asking.presence import Unattended, is_unattended
from codex_mcp.mcp.client import Client
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.threads.open_questions import ParkedQuestions
from codex_mcp.threads.questions.approvals import decide
from codex_mcp.threads.questions.decisions import NO_PERSON, SESSION_GONE, Decision, Denied, failed, timed_out
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.jsonrpc import Id

WITHDRAWN: Final = "the question is no longer open"
NOT_IN_TIME: Final = "nobody answered in time"


class Asker(Struct, frozen=True):
    """Puts the questions of one call's turn to somebody."""

    client: Client
    caller: str
    request_id: Id
    turn: Callable[[], Awaitable[Turn]]
    """The turn that asks."""
    unattended: Unattended
    lists: bool
    """There is a list of open questions that others can answer."""
    timeout: float

    async def ask(self, question: Question) -> Decision:
        """The decision; Denied if there is none in time."""
        why_not = self.why_not(question)
        if why_not is not None and not self.lists:
            return Denied(why_not)
        if self.timeout == 0:
            return timed_out(0)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                if why_not is None and not self.client.is_stateless:
                    decision = await self._elicited(question, limit)
                    if not isinstance(decision, _NotAsked):
                        return decision
                    if not self.lists:
                        return Denied(decision.why)
                return await (await self.turn()).parked.park(question)
        except TimeoutError:
            return timed_out(self.timeout)

    def why_not(self, question: Question) -> str | None:
        """Why this client is not asked; None if it is."""
        why_not = why_not_asked(question, self.client.capabilities)
        if why_not is None and self.unattended.has(self.caller, asyncio.get_running_loop().time()):
            return NO_PERSON
        return why_not

    async def _elicited(self, question: Question, limit: asyncio.Timeout) -> Decision | _NotAsked:
        loop = asyncio.get_running_loop()
        parked = (await self.turn()).parked
        params = elicitation_params(question, tool_call_id=self.request_id)
        began = loop.time()
        pending = self.client.start_elicitation(params, self.request_id)
        try:
            with parked.asking(question):
                decision = await self._answer_or_listed(question, pending, parked)
            if decision is not None:
                self.client.withdraw(pending, WITHDRAWN)
                return decision
            answer: object = msgspec.json.decode(pending.answer.result())
        except asyncio.CancelledError:
            self.client.withdraw(pending, NOT_IN_TIME if limit.expired() else WITHDRAWN)
            raise
        except RequestFailed as exc:
            return failed(exc.error.message)
        except ConnectionLost:
            return _NotAsked(SESSION_GONE)
        if self.lists and is_unattended(answer, loop.time() - began, machine_load()):
            self.unattended.add(self.caller, loop.time())
            return _NotAsked(NO_PERSON)
        return decide(question, answer)

    async def _answer_or_listed(
        self, question: Question, pending: PendingCall, parked: ParkedQuestions
    ) -> Decision | None:
        """Wait for the client's answer, None; or for a decision of others, once no connection reads the question."""
        unheard: Waiter = asyncio.get_running_loop().create_future()
        if self.lists and self.client.reach is not None:
            self.client.reach.watch_unheard(self.request_id, unheard)
        await _first(pending.answer, unheard)
        unheard.cancel()
        if pending.answer.done():
            return None
        with parked.listed(question) as listed:
            await _first(pending.answer, listed)
            return None if pending.answer.done() else listed.result()


def machine_load() -> float:
    """How many programs run, or want to, for each processor of this machine."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class _NotAsked(Struct, frozen=True):
    """The client could not be asked after all."""

    why: str


async def _first(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
