"""Pure. Decodes the messages of `codex app-server`, and decides what to do about messages that were too long.

Unknown fields are ignored, and unknown messages keep their fields, so that a newer Codex stays usable.

Only an outline remains of a message that is too long (`transports.outline`). It still shows that a turn has ended, that
a command runs or which files were patched, but not the agent's whole answer, nor everything that a person should see
before approving.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, field

from codex_mcp.wire.app.items import UNREADABLE, Wire
from codex_mcp.wire.app.notifications import DESCRIBED as NOTIFICATIONS
from codex_mcp.wire.app.notifications import FALLBACKS, AppNotification, DescribedNotification, OtherNotification
from codex_mcp.wire.app.questions import DESCRIBED as QUESTIONS
from codex_mcp.wire.app.questions import AppQuestion, ServerElicitation, malformed, unknown
from codex_mcp.wire.jsonrpc import Id


def read_notification(method: str, params: Raw) -> AppNotification | None:
    """Decode a notification; None if it cannot be read."""
    kind = NOTIFICATIONS.get(method)
    try:
        if kind is None:
            return OtherNotification(method, msgspec.json.decode(params, type=dict[str, object]))
        notification: DescribedNotification = _decoder(kind).decode(params)
        return notification
    except UNREADABLE:
        fallback = FALLBACKS.get(method)
    try:
        return None if fallback is None else msgspec.json.decode(params, type=fallback)
    except UNREADABLE:
        return None


@cache
def _decoder(kind: type[DescribedNotification]) -> msgspec.json.Decoder[Any]:
    # Made when the first notification of its kind arrives: most kinds never do, and the server starts sooner.
    return msgspec.json.Decoder(kind)


class _Scope(Wire, frozen=True):
    thread_id: str | None = None


def read_question(method: str, params: Raw) -> AppQuestion:
    """Decode a request. Its thread is "" if it names none."""
    kind = QUESTIONS.get(method)
    try:
        if kind is not None:
            return msgspec.json.decode(params, type=kind)
        if method == ServerElicitation.method:
            fields = msgspec.json.decode(params, type=dict[str, object])
            thread_id = fields.get("threadId")
            return ServerElicitation(thread_id if isinstance(thread_id, str) else "", fields)
    except UNREADABLE as exc:
        return malformed(method, exc, thread_of(params))
    return unknown(method, thread_of(params))


def thread_of(params: Raw) -> str:
    """The thread that a message names, or ""."""
    try:
        return msgspec.json.decode(params, type=_Scope).thread_id or ""
    except UNREADABLE:
        return ""


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
"""Events of an old Codex: the agent's messages, and details that the questions after them omit."""


def must_be_whole(method: str, params: Raw) -> bool:
    """Whether a turn fails without the whole of this notification."""
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


def too_long(method: str, reason: str) -> str:
    """The error of a turn that needed the whole of a message that was too long."""
    return (
        f"cannot read what Codex says about this turn ({method}): {reason}; "
        "ask the agent for less at once, or raise the setting max_message_bytes"
    )
