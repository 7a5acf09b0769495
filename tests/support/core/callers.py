"""Clients of the conversation methods in the test's own process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from codex_mcp.base.logs import Subject
from codex_mcp.base.principals import LOCAL
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.conversations.methods import ConversationMethods
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.wire.conversations import NewConversation
from tests.support.core.cores import scripted_threads, settings_below
from tests.support.patience import PATIENCE

Json = dict[str, Any]

SCENES = Path(__file__).parents[1] / "scripts/recordings.toml"


class TalkingClient:
    """A client that remembers what it is told, and answers when the test says so."""

    def __init__(self, methods: ConversationMethods, owner: str = "one", *, is_local: bool = True) -> None:
        self.owner = owner
        self.principal = LOCAL
        self.subject = Subject(owner, LOCAL)
        self.is_local = is_local
        self.sees_history = is_local
        self.told: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.withdrawn: list[str] = []
        self._answers: list[asyncio.Future[Raw]] = []
        self._changed = asyncio.Event()
        self._methods = methods
        methods.caller_came(self)

    def may_administer(self) -> bool:
        """Only the local one may."""
        return self.is_local

    def notify(self, method: str, params: object) -> None:
        """Remember it."""
        self.told.append((method, msgspec.to_builtins(params)))
        self._changed.set()

    def ask(self, method: str, params: object) -> PendingCall:
        """Remember it, for `answer`."""
        self.asked.append((method, params))
        self._answers.append(asyncio.get_running_loop().create_future())
        self._changed.set()
        return PendingCall(len(self._answers) - 1, self._answers[-1])

    def withdraw(self, pending: PendingCall, reason: str) -> None:
        """Remember it."""
        self.withdrawn.append(reason)

    def answer(self, number: int, answer: object) -> None:
        """Answer a question; an exception is raised where it is asked."""
        if isinstance(answer, Exception):
            self._answers[number].set_exception(answer)
        else:
            self._answers[number].set_result(Raw(msgspec.json.encode(answer)))

    def lose_connection(self, number: int) -> None:
        """Lose the connection while a question is open."""
        self.answer(number, ConnectionLost("gone"))

    def refuse(self, number: int, why: str) -> None:
        """Answer a question with an error."""
        self.answer(number, request_failed(-32601, why))

    async def until(self, is_true: Callable[[], object]) -> None:
        """Wait until this is true."""
        async with asyncio.timeout(PATIENCE):
            while not is_true():
                self._changed.clear()
                await self._changed.wait()

    async def until_told(self, kind: str, number: int = 1) -> None:
        """Wait for so many notifications of this method."""
        await self.until(lambda: [method for method, _ in self.told].count(kind) >= number)

    async def call(self, method: str, **params: object) -> Json:
        """Call a method; its result."""
        answer = await self._methods.handle(method, Raw(msgspec.json.encode(params)), self)
        result: Json = msgspec.to_builtins(answer)
        return result

    async def error(self, method: str, **params: object) -> tuple[int, str]:
        """Call a method that fails: code and text."""
        try:
            answer = await self.call(method, **params)
        except RequestFailed as exc:
            return exc.error.code, exc.error.message
        raise AssertionError(answer)


@contextlib.asynccontextmanager
async def talking(folder: Path, **changed: object) -> AsyncIterator[tuple[ConversationMethods, ScriptedModel]]:
    """The conversation methods on the real Codex, and its model."""
    work = folder / "work"
    work.mkdir(parents=True)

    def spec(params: NewConversation) -> ThreadSpec:
        return ThreadSpec(cwd=str(work), model=params.model, sandbox=params.sandbox)

    async with scripted_threads(folder, script=SCENES, **changed) as (threads, model):
        yield ConversationMethods(threads, settings_below(folder, **changed), spec), model
