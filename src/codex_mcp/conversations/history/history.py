"""Conversations on disk: lists, resumes, archives and summarises them, as far as the caller may see them.

What a caller may not see does not exist for it: the answers are the same.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import CoreError, CoreLost, ThreadNotFound, is_thread_id, plain_id
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.conversations import Conversations
from codex_mcp.conversations.history import cursors
from codex_mcp.conversations.history.paging import Chunk, page_of
from codex_mcp.conversations.history.rollouts import check_archivable, conversation_in, initial_messages
from codex_mcp.conversations.refusals import conversation_not_found, failed, refused
from codex_mcp.rpc.errors import RequestFailed, invalid_params
from codex_mcp.threads.events.session import session_configured
from codex_mcp.threads.thread import Thread
from codex_mcp.wire import conversations as wire
from codex_mcp.wire.app.client_requests import (
    RawThreadAnswer,
    SummaryAnswer,
    SummaryParams,
    ThreadListParams,
    ThreadPage,
    ThreadRow,
)
from codex_mcp.wire.app.history import ReadThread
from codex_mcp.wire.app.requests import Thread as ThreadInfo
from codex_mcp.wire.app.requests import ThreadId, ThreadOpened

logger = logging.getLogger(__name__)

PAGE: Final = 25
LARGEST_PAGE: Final = 100

MISSING: Final = "error resuming conversation: No such file or directory (os error 2)"


class ConversationHistory:
    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._threads = conversations.threads
        self._home = conversations.settings.core.codex_home

    async def list_page(self, caller: Caller, params: wire.ListConversations) -> wire.ConversationList:
        size = PAGE if params.page_size is None else params.page_size
        if size < 1:
            raise invalid_params("pageSize must be at least 1")
        after = None if params.cursor is None else cursors.read(params.cursor)

        async def fetch(cursor: str | None, limit: int) -> Chunk[ThreadRow]:
            core = await self._threads.supervisor.core()
            page = await core.request("thread/list", ThreadListParams(limit, cursor), ThreadPage)
            return Chunk(page.data, page.next_cursor)

        async def is_own(row: ThreadRow) -> bool:
            return row.path is not None and await self._is_visible(caller, row.id)

        try:
            page = await page_of(fetch, is_own, min(size, LARGEST_PAGE), after)
        except (CoreError, Refused) as exc:
            if str(exc).startswith("invalid cursor"):
                raise cursors.bad_cursor() from exc
            raise failed(f"failed to list conversations: {exc}") from exc
        cursor = page.cursor if page.cursor is None or page.is_exact else cursors.without_id(page.cursor)
        return wire.ConversationList(
            items=[_listed(row) for row in page.rows], next_cursor=UNSET if cursor is None else cursors.written(cursor)
        )

    async def resume(self, caller: Caller, params: wire.ResumeConversation) -> wire.ConversationResumed:
        if params.path is None and params.conversation_id is None:
            raise invalid_params("path or conversationId is needed")
        thread_id, missing = self._named(params.conversation_id, params.path)
        if not (thread_id and await self._is_visible(caller, thread_id)):
            raise missing
        try:
            await self._change(thread_id, params.overrides)
            thread = await self._threads.find(thread_id, caller.principal, shared=caller.sees_history)
            said = await self._read_said(thread_id)
        except ThreadNotFound as exc:
            raise missing from exc
        except (CoreError, Refused) as exc:
            raise failed(f"error resuming conversation: {exc}") from exc
        self._conversations.adopt(caller, thread.id)
        opened = _opened(thread)
        if opened.sandbox is not None:
            # As 0.42.0 did: a plain `codex/event`, before the answer.
            msg = session_configured(opened) | ({} if said is None else {"initial_messages": said})
            caller.notify("codex/event", {"id": "", "msg": msg})
        return wire.ConversationResumed(thread.id, opened.model, UNSET if said is None else said)

    def _named(self, conversation_id: str | None, path: str | None) -> tuple[str, RequestFailed]:
        """The conversation, or "", and the error if it does not exist for the caller."""
        if path is not None:
            return conversation_in(self._home, path) or "", failed(
                f"{MISSING}: only rollout files below sessions in Codex's home can be resumed"
            )
        found = plain_id(conversation_id or "")
        return found if is_thread_id(found) else "", conversation_not_found(conversation_id or "")

    async def _change(self, thread_id: str, overrides: wire.NewConversation | None) -> None:
        if overrides is None or overrides == wire.NewConversation():
            return
        spec = self._conversations.spec_of(overrides)
        await self._threads.change(thread_id, replace(spec, cwd=spec.cwd if overrides.cwd is not None else None))

    async def _read_said(self, thread_id: str) -> list[dict[str, object]] | None:
        core = await self._threads.supervisor.core()
        try:
            return initial_messages(
                await core.request("thread/read", ReadThread(thread_id, include_turns=True), RawThreadAnswer)
            )
        except CoreLost:
            raise
        except CoreError as exc:  # for example, it is too long
            logger.warning("cannot read what was said in %s: %s", thread_id, exc)
            return None

    async def archive(self, caller: Caller, params: wire.ArchiveConversation) -> object:
        thread_id = plain_id(params.conversation_id)
        check_archivable(self._home, params.rollout_path, thread_id)
        is_owned = await self._may_archive(caller, params.conversation_id)
        thread = self._threads.open_thread(thread_id)
        if thread is not None:
            await self._threads.discard(thread)
        try:
            core = await self._threads.supervisor.core()
            await core.request("thread/archive", ThreadId(thread_id), dict[str, object])
        except ThreadNotFound as exc:
            if not is_owned:
                raise conversation_not_found(params.conversation_id) from exc
            # A conversation without any message has no file yet: there is nothing to move.
        except (CoreError, Refused) as exc:
            if thread is not None:
                thread.open()
            raise failed(f"failed to archive conversation: {exc}") from exc
        self._conversations.forget(thread_id)
        return {}

    async def _may_archive(self, caller: Caller, conversation_id: str) -> bool:
        """Whether it is the caller's own conversation. Raises unless it is, or is one on disk that no session uses."""
        try:
            self._conversations.owned(caller, conversation_id)
        except RequestFailed:
            thread_id = plain_id(conversation_id)
            if self._conversations.is_known(thread_id) or not await self._is_visible(caller, thread_id):
                raise
            if self._threads.open_thread(thread_id) is not None:
                raise
            return False
        return True

    async def summary(self, caller: Caller, params: wire.GetSummary) -> object:
        if params.conversation_id is None and params.rollout_path is None:
            raise invalid_params("conversationId or rolloutPath is needed")
        thread_id, missing = self._named(params.conversation_id, params.rollout_path)
        if params.conversation_id is None:
            missing = refused("no conversation found at this rolloutPath")
        if not thread_id or not await self._is_visible(caller, thread_id):
            raise missing
        try:
            core = await self._threads.supervisor.core()
            answer = await core.request("getConversationSummary", SummaryParams(thread_id), SummaryAnswer)
        except CoreError as exc:
            if str(exc).startswith("no rollout found"):
                raise missing from exc
            raise failed(f"failed to read the conversation: {exc}") from exc
        except Refused as exc:
            raise failed(f"failed to read the conversation: {exc}") from exc
        return {"summary": {name: value for name, value in answer.summary.items() if value is not None}}

    async def _is_visible(self, caller: Caller, thread_id: str) -> bool:
        return caller.sees_history or await self._threads.owner_of(thread_id) == caller.principal


def _listed(row: ThreadRow) -> wire.ListedConversation:
    at = datetime.fromtimestamp(row.created_at, UTC).isoformat(timespec="milliseconds")
    return wire.ListedConversation(
        conversation_id=row.id, path=row.path or "", preview=row.preview, timestamp=at.replace("+00:00", "Z")
    )


def _opened(thread: Thread) -> ThreadOpened:
    """How the thread is set up now: a turn may have changed it since it was opened."""
    opened = thread.opened.answer or ThreadOpened(ThreadInfo(thread.id))
    spec = thread.spec
    return replace(
        opened,
        cwd=spec.cwd or opened.cwd,
        model=spec.model or opened.model,
        approval_policy=spec.approval_policy or opened.approval_policy,
    )
