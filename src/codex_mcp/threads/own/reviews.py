"""Counts the tokens that Codex has used to review approvals itself, in threads that it hides."""

from __future__ import annotations

import time
from collections.abc import Callable

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.conversation.hidden_threads import read_hidden_usage
from codex_mcp.codex.core import Core
from codex_mcp.codex.facts import Tokens
from codex_mcp.threads.own.subagents import Subagents


class Reviews:
    """Of one thread and its sub-agents."""

    def __init__(self, subagents: Subagents, count: Callable[[Tokens], None], tasks: TaskSet) -> None:
        self._subagents = subagents
        self._count = count
        self._tasks = tasks
        self._since = time.time()
        self._reviewed: set[str] = set()
        """Threads of which Codex has reviewed approvals."""

    def happened(self, core: Core | None, thread_id: str) -> None:
        """Codex has reviewed an approval of this thread."""
        self._reviewed.add(thread_id)
        self.look(core, thread_id)

    def look(self, core: Core | None, thread_id: str) -> None:
        """Count what Codex has used to review approvals of this thread, here or of a sub-agent."""

        async def count(core: Core) -> None:
            for hidden_id, total in (await read_hidden_usage(core, thread_id, self._since)).items():
                if (used := self._subagents.hidden_used(hidden_id, total)).total_tokens:
                    self._count(used)

        if core is not None and thread_id in self._reviewed:
            self._tasks.spawn(count(core), name=f"reviews of approvals of {thread_id}")
