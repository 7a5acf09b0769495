"""Gives each `tools/call` to its tool. A failure becomes a result, as MCP requires, and never an exception."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Raw, Struct

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.processes.programs import for_person
from codex_mcp.codex.core import MAX_PROMPT_CHARS, PROMPT_TOO_LONG, ConfigRefused, CoreError
from codex_mcp.mcp.callers import RecentClients
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.client_budgets import LearnedLimits
from codex_mcp.mcp.calls.follower import Follower
from codex_mcp.mcp.schema import catalogue, results
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.results import Result
from codex_mcp.mcp.tools.specs import CONFIG_REFUSED
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

Json: TypeAlias = Mapping[str, object]

Body: TypeAlias = Callable[[Call, Any], Awaitable[Result]]
"""What a tool does with its arguments, which are of the type that it takes."""

Bodies: TypeAlias = Sequence[tuple[Tool, Body]]


AtOnce: TypeAlias = Callable[[Json, str, str], Result | None]
"""A tool's immediate answer to its arguments, a principal and a caller; None if the call must wait."""

MISSING: Final = {
    catalogue.CODEX.name: "Missing arguments for codex tool-call; the `prompt` field is required.",
    catalogue.CODEX_REPLY.name: (
        "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required."
    ),
}


class CallerNews(Protocol):
    """Told the same as a ToolBox."""

    def answer_lost(self, caller: str, request_id: Id) -> None: ...

    def answer_read(self, caller: str, request_id: Id) -> None: ...

    def caller_left(self, caller: str, client: str) -> None: ...

    def caller_came(self, caller: str) -> None: ...


class Around(Struct, frozen=True):
    """What is done with every call."""

    run: Callable[[Call, Tool, Callable[[], Awaitable[Result]]], Awaitable[Result | Raw]]
    """Runs its last argument and returns the result."""
    before_answer: Callable[[], Awaitable[None]]
    elsewhere: Callable[[Call, Tool], Awaitable[Result | Raw | None]]
    """The answer of another server, if that one has to answer."""
    others: CallerNews
    """The other servers that answer calls of the same callers."""


class Tools:
    def __init__(
        self,
        bodies: Mapping[str, tuple[Tool, Body]],
        follower: Follower,
        warm_up: Callable[[], None],
        at_once: Mapping[str, AtOnce] | None = None,
        around: Around | None = None,
    ) -> None:
        """`at_once`: tools that can answer some calls without waiting, and without `around`."""
        self._bodies = bodies
        self._around = around
        self._follower = follower
        self._told: list[CallerNews] = [follower.waiter] if around is None else [follower.waiter, around.others]
        self.limits = LearnedLimits()
        self.callers = RecentClients()
        self.warm_up = warm_up
        self._at_once = at_once or {}

    def answer_at_once(self, params: mcp.CallTool, principal: str, caller: str) -> Result | None:
        answer = self._at_once.get(params.name)
        if answer is None or params.request_state is not None:
            return None
        return answer(params.arguments or {}, principal, caller)

    def answer_lost(self, caller: str, request_id: Id) -> None:
        for each in self._told:
            each.answer_lost(caller, request_id)

    def answer_read(self, caller: str, request_id: Id) -> None:
        for each in self._told:
            each.answer_read(caller, request_id)

    def caller_left(self, caller: str, client: str) -> None:
        for each in self._told:
            each.caller_left(caller, client)

    def caller_came(self, caller: str) -> None:
        for each in self._told:
            each.caller_came(caller)

    async def run(self, call: Call) -> Result | Raw:
        result = await self._result(call)
        if self._around is not None:
            await self._around.before_answer()
        return result

    async def _result(self, call: Call) -> Result | Raw:
        name, arguments = call.params.name, call.params.arguments
        found = self._bodies.get(name)
        if found is None:
            return results.refused(f"Unknown tool '{name}'")
        if arguments is None and name in MISSING:
            return results.refused(MISSING[name])
        prompt = (arguments or {}).get("prompt")
        if isinstance(prompt, str) and len(prompt) > MAX_PROMPT_CHARS:
            return results.refused(PROMPT_TOO_LONG.format(MAX_PROMPT_CHARS, len(prompt)))
        call.begin(lists=self._follower.lists, unattended=self._follower.unattended)
        try:
            return await self._answer(call, *found)
        except ConfigRefused as exc:
            return results.refused(for_person(f"{CONFIG_REFUSED}{exc}"))
        except BadArguments as exc:
            return results.refused(exc.told(name))
        except Refused as exc:
            return results.refused(for_person(str(exc)))
        except CoreError as exc:
            return results.refused(for_person(f"Failed to start Codex session: {exc}"))
        except Explained as exc:
            logger.warning("call of %s failed: %s", name, exc)
            return results.refused(for_person(str(exc)))
        finally:
            call.end()

    async def _answer(self, call: Call, tool: Tool, body: Body) -> Result | Raw:
        if self._around is not None and (answer := await self._around.elsewhere(call, tool)) is not None:
            return answer
        if call.params.request_state is not None:
            return await self._again(call, tool, body)
        return await self._run(call, tool, body)

    async def _run(self, call: Call, tool: Tool, body: Body) -> Result | Raw:
        async def begin() -> Result:
            return await body(call, tool.read(call.params.arguments or {}))

        if self._around is None:
            return await begin()
        return await self._around.run(call, tool, begin)

    async def _again(self, call: Call, tool: Tool, body: Body) -> Result | Raw:
        """Give the client's answers to the turns that asked, and go on waiting for these turns."""
        turns = self._follower.answered(call)
        if call.params.name == catalogue.CODEX_WAIT.name:
            return await self._run(call, tool, body)
        if not turns:
            return self._follower.question_gone(call)
        ((thread, turn),) = turns
        return await self._follower.follow_again(call, thread, turn)
