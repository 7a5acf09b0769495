"""What results say about a thread of what Codex does by itself: its goal, and its sub-agents."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from codex_mcp.threads.threads import Threads


def own_work(threads: Threads, thread_id: str) -> Mapping[str, object]:
    """The fields `goal` and `subagents`, if the thread has them."""
    thread = threads.open_thread(thread_id)
    if thread is None:
        return {}
    goal, helpers = thread.own.unasked.goal(thread.id), thread.own.subagents.listed()
    told: dict[str, object] = {} if goal is None else {"goal": msgspec.to_builtins(goal)}
    return {**told, "subagents": msgspec.to_builtins(helpers)} if helpers else told
