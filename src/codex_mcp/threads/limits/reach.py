"""What happens to a turn while its model cannot be reached: its caller is told where Codex looks for the model, and the
turn fails in time. A model of this machine that is not there at all fails it within seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import UNSET

from codex_mcp.base.processes.programs import for_person
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.config import providers
from codex_mcp.codex.config.overrides import expanded
from codex_mcp.codex.core import Core, CoreError, OpenedThread, ThreadSpec
from codex_mcp.wire.app.requests import ConfigRead, Configuration

if TYPE_CHECKING:
    from codex_mcp.threads.turn import Turn

SETTLE: Final = 5.0
"""Seconds in which a program that is being restarted listens again."""


LOOKED_FOR: Final = "Codex looks for the model provider"

CLOSED: Final = (
    "Nothing listens at {where}, where Codex looks for the model provider {provider}. Start it, or correct its "
    "base_url in Codex's config.toml; `codex-mcp doctor` checks it."
)


class Conversation(Protocol):
    """A thread."""

    id: str
    cwd: str
    spec: ThreadSpec
    opened: OpenedThread


class ModelReach:
    """Of the turns of one thread."""

    def __init__(self, thread: Conversation, patience: float, cancel: Callable[[Turn], None], tasks: TaskSet) -> None:
        """`patience`: seconds until a turn fails; 0 means never."""
        self._thread = thread
        self._patience = patience
        self._cancel = cancel
        self._tasks = tasks
        self._turn: Turn | None = None
        """The turn whose model was looked for."""

    def turn_told(self, turn: Turn) -> None:
        """Its model cannot be reached, or can be again."""
        turn.limit_trouble(self._patience, partial(self._cancel, turn))
        if turn.record.trouble and self._turn is not turn and turn.core is not None:
            self._turn = turn
            self._tasks.spawn(self._look(turn, turn.core), name=f"address of the model of {self._thread.id}")

    async def _look(self, turn: Turn, core: Core) -> None:
        opened = self._thread.opened.answer
        provider = "" if opened is None else opened.model_provider
        try:
            url = await self._address(core, provider)
        except CoreError:
            return  # it is told without the address
        if not url:
            return
        where = providers.shown(url)
        turn.locate(f"{LOOKED_FOR} {provider} at {where}")
        if not (self._patience and providers.is_local(url)) or await self._is_there(url):
            return
        if turn.record.trouble and not turn.record.has_heard_model and not turn.ended:
            turn.record.stop_because(for_person(CLOSED.format(where=where, provider=provider)))
            self._cancel(turn)

    async def _address(self, core: Core, provider: str) -> str:
        spec = self._thread.spec
        own = providers.provider_address(expanded(spec.config), provider)
        if own:
            return own
        read = ConfigRead(cwd=self._thread.cwd or UNSET, include_layers=False)
        return providers.provider_address((await core.request("config/read", read, Configuration)).config, provider)

    async def _is_there(self, url: str) -> bool:
        """Whether something listens, at once or soon."""
        deadline = asyncio.get_running_loop().time() + SETTLE
        while True:
            with suppress(OSError, ValueError):
                _, writer = await asyncio.open_connection(*providers.host_and_port(url))
                writer.close()
                return True
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(SETTLE / 5)
