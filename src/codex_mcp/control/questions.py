"""Questions of all living servers of a state folder, and their answers."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import foreign
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.server import Caller, Server, connect_server, living_nodes
from codex_mcp.rpc.errors import INVALID, RequestFailed
from codex_mcp.wire import control

TRIES: Final = 3
"""For an answer whose connection is lost although the server lives."""

KEY_BYTES: Final = 8


class NotUsed(Explained):
    """The server refused the answer."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


_Of: TypeAlias = Callable[[Server], Awaitable[list[control.Question]]]


class Survey(Struct, frozen=True):
    asked: Sequence[Asked]
    unreached: Sequence[CannotReach]


async def open_questions(state_dir: str, caller: Caller, names: Mapping[str, str]) -> Survey:
    """The open questions of all living servers; `names` are those that are known of servers, by node."""

    async def of(server: Server) -> list[control.Question]:
        return list((await server.follow([control.QUESTIONS])).questions)

    return await _survey(state_dir, caller, names, of)


async def find_question(state_dir: str, question_id: str, caller: Caller, names: Mapping[str, str]) -> Survey:
    """The question of this id, open or closed within a day, if a living server knows it."""

    async def of(server: Server) -> list[control.Question]:
        try:
            answer = await server.call(control.QUESTION, control.QuestionNamed(question_id))
        except RequestFailed:
            return []
        return [msgspec.json.decode(answer, type=control.Question)]

    return await _survey(state_dir, caller, names, of)


async def _survey(state_dir: str, caller: Caller, names: Mapping[str, str], of: _Of) -> Survey:
    """Ask all servers at once: one that hangs delays the others by no more than its two seconds."""

    async def asked(node: str) -> list[Asked] | CannotReach:
        try:
            async with connect_server(state_dir, node, caller, name=names.get(node, "")) as (server, greeting):
                return [Asked(each, node, f"server process {greeting.pid}") for each in await of(server)]
        except CannotReach as exc:
            return exc

    tasks = TaskSet()
    try:
        asking = [tasks.spawn(asked(node), name=f"questions of {node}") for node in living_nodes(state_dir)]
        found = [await each for each in asking]
    finally:
        await tasks.aclose()
    unreached = [each for each in found if isinstance(each, CannotReach) and each.why is not Why.ENDED]
    listed = [row for each in found if not isinstance(each, CannotReach) for row in each]
    return Survey(sorted(listed, key=lambda row: row.question.asked_at), unreached)


async def give_answer(
    state_dir: str, asked: Asked, given: control.Given, caller: Caller, *, key: str = ""
) -> control.Verdict:
    """Answer what was shown. Raises CannotReach, or NotUsed if the answer does not fit.

    If the connection is lost after the answer was sent, the same answer is sent again: its key makes that safe.
    """
    question = asked.question
    key = key or os.urandom(KEY_BYTES).hex()
    answer = control.Answer(id=question.id, digest=question.digest, key=key, answer=given)
    tries = TRIES
    while True:
        tries -= 1
        try:
            async with connect_server(state_dir, asked.node, caller, name=asked.server) as (server, _):
                told = await server.call(control.ANSWER, answer, changes=True)
                return msgspec.json.decode(told, type=control.Verdict)
        except RequestFailed as exc:
            why = foreign(str(exc).removeprefix(INVALID))
            raise NotUsed(f"the answer was not used: {why}", exc.error.code) from exc
        except CannotReach as exc:
            if exc.why is not Why.LOST or not tries:
                raise
