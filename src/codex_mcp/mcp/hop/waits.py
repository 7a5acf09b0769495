"""A wait that is about agents of several servers: each tells when its part has changed, and in the end gives its part
of the result. So news is reported by the server that has it, once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.failures import CannotReach
from codex_mcp.mcp.news import News, NewsKind
from codex_mcp.mcp.schema.results import Result, ToolResult
from codex_mcp.mcp.schema.wait_parts import Unreached, is_asking, merged_parts
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.state.contract import Node
from codex_mcp.wire.glances import Glance, Part
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, Id

FIRST: Final = "part"
"""Begins the ids of looks; the client's own id is that of the request for the answer."""


class FarPart(Struct, frozen=True):
    """The agents of one other server that a wait is about."""

    node: Node
    ids: tuple[str, ...] | None = None
    """None: what the caller has given to it."""


class Asked(Struct, frozen=True):
    """A request for one part."""

    node: Node
    part: Part
    id: Id | None = None
    """None: that of the call."""
    with_answers: bool = False
    """It brings the client's answers to questions."""


Ask: TypeAlias = Callable[[Asked], Awaitable[Raw]]


class _Look(Glance, frozen=True, rename={"is_error": "isError"}):
    is_error: bool = False


class FarWait:
    """What a wait sees of other servers. `ask` raises RequestFailed, CannotReach."""

    def __init__(self, parts: Sequence[FarPart], ask: Ask, *, matters: Callable[[str], bool], answers: bool) -> None:
        """`matters`: whether the caller has work at this node. `answers`: the call brings answers to questions."""
        self._parts = parts
        self._ask = ask
        self._matters = matters
        self._answers = answers
        self._glances: dict[str, _Look] = {}
        self._failed: dict[str, Unreached] = {}
        self._has_answered: set[str] = set()
        self._changed = Waiters()
        self._numbers = itertools.count(1)
        self._tasks = TaskSet()

    async def __aenter__(self) -> FarWait:
        for part in self._parts:
            self._tasks.spawn(self._look(part), name=f"wait at {part.node.id}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.aclose()

    @property
    def news(self) -> Sequence[News]:
        kinds = [NewsKind.QUESTION for glance in self._glances.values() if glance.is_asking]
        kinds += [NewsKind.ANSWER for glance in self._glances.values() if glance.has_news or glance.is_error]
        return [News(kind, FIRST) for kind in kinds] + [News(NewsKind.CLOSE, node) for node in self._failed]

    @property
    def runs(self) -> bool:
        return not self._is_known or any(glance.runs for glance in self._glances.values())

    @property
    def _is_known(self) -> bool:
        return self._has_looked(self._parts)

    def _has_looked(self, parts: Iterable[FarPart]) -> bool:
        return all(part.node.id in self._glances or part.node.id in self._failed for part in parts)

    def watch(self, waiter: Waiter) -> None:
        self._changed.add(waiter)

    async def known(self, *, all_of_them: bool = True) -> None:
        """Wait until each server has looked once, or does not answer; or only those where there must be something."""
        parts = [part for part in self._parts if all_of_them or part.ids is not None or self._matters(part.node.id)]
        while not self._has_looked(parts):
            await self._changed.wait()

    async def took_answers(self) -> bool:
        """Whether one of them asked what the client's answers are for."""
        await self.known()
        return bool(self._has_answered)

    async def _look(self, part: FarPart) -> None:
        known: _Look | None = None
        brings = self._answers
        while known is None or (not known.is_error and (known.has_work or part.ids is not None)):
            number = f"{FIRST}/{next(self._numbers)}"
            seen = None if known is None else Glance(known.is_asking, known.has_news, known.runs, known.has_work)
            try:
                raw = await self._ask(Asked(part.node, Part(part.ids, seen), number, brings))
            except CannotReach as exc:
                self._lost(part, str(exc))
                return
            except RequestFailed as exc:
                if not brings or exc.error.code != INVALID_PARAMS:
                    self._lost(part, str(exc))
                    return
                brings = False  # another server has asked
                continue
            known = msgspec.json.decode(raw, type=_Look)
            if brings:
                self._has_answered.add(part.node.id)
                brings = False
            self._glances[part.node.id] = known
            self._changed.tell()

    def _lost(self, part: FarPart, why: str) -> None:
        self._glances.pop(part.node.id, None)
        if part.ids is not None or self._matters(part.node.id):
            self._failed[part.node.id] = Unreached(part.node.pid, why)
        else:
            self._glances[part.node.id] = _Look()
        self._changed.tell()

    async def collected(self, own: ToolResult) -> tuple[Result, Sequence[Node]]:
        """The whole result, and the servers whose parts are not in it: they ask what cannot be told with the rest."""
        parts = [part for part in self._parts if self._counts(part)]
        answers = await asyncio.gather(*(self._part_of(part) for part in parts))
        told = [(part.node, answer) for part, answer in zip(parts, answers, strict=True) if answer is not None]
        asking = [(node, answer) for node, answer in told if is_asking(answer)]
        others = [msgspec.convert(answer, ToolResult) for _, answer in told if not is_asking(answer)]
        whole = merged_parts(own, others, list(self._failed.values()))
        if asking and whole.is_empty:
            return asking[0][1], [node for node, _ in asking[1:]]
        return whole.result, [node for node, _ in asking]

    def _counts(self, part: FarPart) -> bool:
        glance = self._glances.get(part.node.id)
        return glance is not None and (glance.has_work or glance.is_error)

    async def _part_of(self, part: FarPart) -> dict[str, object] | None:
        try:
            raw = await self._ask(Asked(part.node, Part(part.ids, collects=True)))
        except (CannotReach, RequestFailed) as exc:
            self._lost(part, str(exc))
            return None
        result: dict[str, object] = msgspec.json.decode(raw)
        return result
