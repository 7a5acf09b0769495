"""What results say about a thread of what Codex does by itself."""

from __future__ import annotations

from collections.abc import Mapping

from codex_mcp.threads.threads import Threads


def own_work(threads: Threads, thread_id: str) -> Mapping[str, object]:
    """The fields `goal` and `subagents`, if the thread has them."""
    thread = threads.open_thread(thread_id)
    return {} if thread is None else thread.own.described()
