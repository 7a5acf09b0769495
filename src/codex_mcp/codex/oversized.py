"""Pure. Messages of Codex that were too long to be read: which of them a turn can do without, and what to say of it.

Of such a message the outline is left (`transports.outline`). It tells that a turn has ended, that a command runs or
which files were patched. It does not hold all of the agent's answer, and not all of what a person is asked to approve.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct, field

from codex_mcp.wire.jsonrpc import Id


class _Typed(Struct, frozen=True):
    type: str = ""


class _Params(Struct):
    item: _Typed = _Typed()
    msg: _Typed = _Typed()


class _Owner(Struct, rename="camel"):
    thread_id: str | None = None
    request_id: Id | None = None


class _OldParams(_Owner):
    meta: _Owner = field(default_factory=_Owner, name="_meta")


NEEDED_EVENTS: Final = frozenset(
    (
        "agent_message",
        "agent_message_delta",
        "agent_message_content_delta",
        "exec_approval_request",
        "apply_patch_approval_request",
    )
)
"""Of an old Codex: what the agent says, and what the questions leave out that come after them."""


def must_be_whole(method: str, params: Raw) -> bool:
    """Does a turn fail without all of this notification?"""
    try:
        kinds = msgspec.json.decode(params, type=_Params)
    except msgspec.MsgspecError:
        return False
    match method:
        case "item/agentMessage/delta":
            return True
        case "item/completed":
            return kinds.item.type == "agentMessage"
        case "item/started":
            return kinds.item.type == "fileChange"  # a question about a patch names this item, and shows its changes
        case "codex/event":
            return kinds.msg.type in NEEDED_EVENTS
        case _:
            return False


def belongs_to(params: Raw) -> tuple[str | None, Id | None]:
    """The thread and the call that a message of an old Codex belongs to."""
    try:
        old = msgspec.json.decode(params, type=_OldParams)
    except msgspec.MsgspecError:
        return None, None
    return old.thread_id or old.meta.thread_id, old.meta.request_id


def told(method: str, reason: str) -> str:
    """Why a turn has failed."""
    return (
        f"cannot read what Codex says about this turn ({method}): {reason}; "
        "ask the agent for less at once, or raise the setting max_message_bytes"
    )
