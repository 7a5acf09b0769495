"""Takes a question down the ladder: asks the client, or parks the question, and returns the decision."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Final

import msgspec
from msgspec import Struct

from codex_mcp.base.futures import Waiter
from codex_mcp.mcp.asking.elicitation import elicitation_params
from codex_mcp.mcp.asking.ladder import (
    Obstacle,
    Route,
    Step,
    Terms,
    Unattended,
    after_failure,
    reason_for,
    route,
    understood,
)
from codex_mcp.mcp.client import Client
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.threads.open_questions import ParkedQuestions
from codex_mcp.threads.questions.board import Answer, Via, denied, expired
from codex_mcp.threads.questions.decisions import Decision, failed
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.jsonrpc import Id

WITHDRAWN: Final = "the question is no longer open"
NOT_IN_TIME: Final = "no answer in time"


class Asker(Struct, frozen=True):
    client: Client
    caller: str
    request_id: Id
    turn: Turn | None
    """The turn in which the question is asked."""
    unattended: Unattended
    lists: bool
    timeout: float

    @property
    def terms(self) -> Terms:
        return Terms(
            capabilities=self.client.capabilities,
            is_stateless=self.client.is_stateless,
            has_person=not self.unattended.has(self.caller, asyncio.get_running_loop().time()),
            lists=self.lists,
            timeout=self.timeout,
        )

    @property
    def _parked(self) -> ParkedQuestions:
        assert self.turn is not None
        return self.turn.parked

    def route(self, question: Question) -> Route:
        return route(question, self.terms)

    async def ask(self, question: Question) -> Answer:
        """The answer; a denial if there is none in time. It is cancelled if the question is closed at the board."""
        taken = self.route(question)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                if taken.step is Step.ASK:
                    answer = await self._elicit(question, limit)
                    if not isinstance(answer, Obstacle):
                        return answer
                    taken = after_failure(answer, self.terms)
                if taken.step is Step.DENY and taken.obstacle is not None:
                    return denied(reason_for(taken.obstacle, question))
                if taken.step is Step.FETCH:
                    with self._parked.asking(question, self.client.name, Via.INPUT_REQUIRED):
                        return await self._parked.park(question)
                return await self._parked.park(question)
        except TimeoutError:
            return expired(self.timeout)

    def answered(self, question: Question, answer: object, seconds: float) -> Decision | Obstacle:
        """What the client's answer means, that many seconds after it was asked. A client without a person is noted."""
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        decision = understood(question, answer, self.terms, seconds, load)
        if decision is Obstacle.NO_PERSON:
            self.unattended.add(self.caller, asyncio.get_running_loop().time())
        return decision

    async def _elicit(self, question: Question, limit: asyncio.Timeout) -> Answer | Obstacle:
        loop = asyncio.get_running_loop()
        parked = self._parked
        params = elicitation_params(question, tool_call_id=self.request_id)
        began = loop.time()
        pending = self.client.start_elicitation(params, self.request_id)
        try:
            with parked.asking(question, self.client.name):
                await self._until_answered(question, pending, parked, limit)
            answer: object = msgspec.json.decode(pending.answer.result())
        except asyncio.CancelledError:
            self.client.withdraw(pending, NOT_IN_TIME if limit.expired() else WITHDRAWN)
            raise
        except RequestFailed as exc:
            return Answer(failed(exc.error.message))
        except ConnectionLost:
            return Obstacle.GONE
        decision = self.answered(question, answer, loop.time() - began)
        return decision if isinstance(decision, Obstacle) else Answer(decision, self.client.name, Via.ELICITATION)

    async def _until_answered(
        self, question: Question, pending: PendingCall, parked: ParkedQuestions, limit: asyncio.Timeout
    ) -> None:
        """Wait for the client's answer. Once no connection reads the question, it is listed as well."""
        unheard: Waiter = asyncio.get_running_loop().create_future()
        if self.lists:
            self.client.watch_unheard(self.request_id, unheard)
        await _first(limit, pending.answer, unheard)
        unheard.cancel()
        if not pending.answer.done():
            with parked.listed(question):
                await _first(limit, pending.answer)


async def _first(limit: asyncio.Timeout, *futures: asyncio.Future[Any]) -> None:
    """Wait for one of them within a block of `limit`. One that is done when the time is up counts."""
    try:
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        if not limit.expired() or not any(each.done() for each in futures):
            raise
