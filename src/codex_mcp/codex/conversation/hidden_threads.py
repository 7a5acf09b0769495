"""What threads have used that Codex hides from its clients: in these it reviews approvals (`approvals_reviewer`).

Codex reports nothing of their tokens. Their files have them.
"""

from __future__ import annotations

import contextlib
from typing import Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.codex.facts import Tokens
from codex_mcp.codex.rollout import tokens_used

LISTED: Final = 50
"""The hidden threads that were used last. A thread uses one for all of its approvals."""


class ListHidden(Struct, frozen=True, rename="camel"):
    limit: int = LISTED
    sort_key: str = "recency_at"
    model_providers: tuple[str, ...] = ()
    source_kinds: tuple[str, ...] = ("subAgentOther",)


class HiddenThread(Struct, frozen=True, rename="camel"):
    id: str
    path: str | None = None
    created_at: float = 0.0


class HiddenThreads(Struct, frozen=True):
    data: list[HiddenThread] = []


async def read_hidden_usage(core: Core, parent_id: str, since: float) -> dict[str, Tokens]:
    """The tokens of each hidden thread that Codex has opened for this one since then; empty if they cannot be read."""
    with contextlib.suppress(CoreError):
        listed = (await core.request("thread/list", ListHidden(), HiddenThreads)).data
        found = {each.id: each.path for each in listed if each.path is not None and each.created_at >= int(since)}
        return {hidden_id: await in_thread(tokens_used, path, parent_id) for hidden_id, path in found.items()}
    return {}
