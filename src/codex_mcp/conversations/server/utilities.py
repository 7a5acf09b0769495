"""`gitDiffToRemote` and `fuzzyFileSearch`, which the core answers."""

from __future__ import annotations

import hashlib

from msgspec import UNSET, Struct, UnsetType

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.refusals import failed, refused
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire

NO_DIFF = "failed to compute git diff to remote"


class Search(Struct, frozen=True, rename="camel", omit_defaults=True):
    query: str
    roots: list[str]
    cancellation_token: str | UnsetType = UNSET


class Utilities:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def git_diff(self, caller: Caller, params: wire.GitDiffToRemote) -> wire.GitDiff:
        try:
            core = await self._threads.supervisor.core()
            return await core.request("gitDiffToRemote", params, wire.GitDiff)
        except CoreLost as exc:
            raise failed(f"{NO_DIFF}: {exc}") from exc
        except (CoreError, Refused) as exc:
            raise refused(str(exc) if str(exc).startswith(NO_DIFF) else f"{NO_DIFF}: {exc}") from exc

    async def search(self, caller: Caller, params: wire.FuzzyFileSearch) -> wire.FoundFiles:
        token = params.cancellation_token
        # The core would let a client cancel another one's search.
        own = UNSET if token is None else hashlib.sha256(f"{caller.owner}\0{token}".encode()).hexdigest()
        try:
            core = await self._threads.supervisor.core()
            return await core.request("fuzzyFileSearch", Search(params.query, params.roots, own), wire.FoundFiles)
        except (CoreError, Refused) as exc:
            raise failed(f"failed to search files: {exc}") from exc
