"""Pure. Decodes what `codex app-server` sends: the one place where its messages become values.

Unknown fields are ignored, and unknown messages keep their fields, so that a newer Codex stays usable.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from codex_mcp.wire.app.items import UNREADABLE, Wire
from codex_mcp.wire.app.notifications import DESCRIBED as NOTIFICATIONS
from codex_mcp.wire.app.notifications import FALLBACKS, AppNotification, DescribedNotification, OtherNotification
from codex_mcp.wire.app.questions import DESCRIBED as QUESTIONS
from codex_mcp.wire.app.questions import AppQuestion, ServerElicitation, malformed, unknown


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
    """The thread that a message names; "" if it names none."""
    try:
        return msgspec.json.decode(params, type=_Scope).thread_id or ""
    except UNREADABLE:
        return ""
