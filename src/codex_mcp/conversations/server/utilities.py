"""`gitDiffToRemote`, and `fuzzyFileSearch`, which the core answers."""

from __future__ import annotations

import hashlib
import json

from msgspec import UNSET

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import CoreError
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.refusals import failed, refused
from codex_mcp.git.running import LONGEST_OUTPUT, GitFailed
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire
from codex_mcp.wire.app.client_requests import SearchFiles

NO_DIFF = "failed to compute git diff to remote"


class Utilities:
    def __init__(self, threads: Threads, codex_home: str) -> None:
        self._threads = threads
        self._codex_home = codex_home

    async def git_diff(self, caller: Caller, params: wire.GitDiffToRemote) -> wire.GitDiff:
        """Not asked of the core, whose git would run the filters of the repository."""
        try:
            found = await in_thread(_diff_to_remote, params.cwd, self._codex_home)
        except (GitFailed, Refused, OSError) as exc:
            raise refused(f"{NO_DIFF} for cwd: {_quoted(params.cwd)}: {exc}") from exc
        if found is None:
            raise refused(f"{NO_DIFF} for cwd: {_quoted(params.cwd)}")
        return found

    async def search(self, caller: Caller, params: wire.FuzzyFileSearch) -> wire.FoundFiles:
        token = params.cancellation_token
        # The core would let a client cancel another one's search.
        own = UNSET if token is None else hashlib.sha256(f"{caller.owner}\0{token}".encode()).hexdigest()
        try:
            core = await self._threads.supervisor.core()
            return await core.request("fuzzyFileSearch", SearchFiles(params.query, params.roots, own), wire.FoundFiles)
        except (CoreError, Refused) as exc:
            raise failed(f"failed to search files: {exc}") from exc


def _diff_to_remote(cwd: str, codex_home: str) -> wire.GitDiff | None:
    from codex_mcp.git.diffs import Wanted, diff_of, remote_commit  # noqa: PLC0415  not at the server's start

    commit = remote_commit(cwd)
    if commit is None:
        return None
    found = diff_of(cwd, Wanted(commit), LONGEST_OUTPUT, codex_home)
    if found.is_cut:
        raise Refused(f"it is longer than {LONGEST_OUTPUT} bytes")
    return wire.GitDiff(sha=commit, diff=found.text)


def _quoted(cwd: str) -> str:
    return json.dumps(cwd, ensure_ascii=False)
