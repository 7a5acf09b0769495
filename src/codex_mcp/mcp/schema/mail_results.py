"""Pure. The results of the tools for team mail, as data; a result in words is the same data as escaped JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from codex_mcp.base.printable import json_escaped
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.mail.store_types import Delivered
from codex_mcp.mcp.schema.results import ToolResult, written

if TYPE_CHECKING:
    from codex_mcp.mail.message import Message


def sent(identity: str, delivered: Delivered) -> dict[str, object]:
    return {"identity": identity, "to": str(delivered.to), "message_id": delivered.id}


def broadcast(identity: str, outcomes: Sequence[Delivered]) -> dict[str, object]:
    rows = [{"to": str(each.to), "message_id": each.id, "error": each.error} for each in outcomes]
    return {"identity": identity, "recipients": rows}


def messages(identity: str, found: Sequence[Message], remaining: int) -> dict[str, object]:
    return {"identity": identity, "messages": [*map(_row, found)], "remaining": remaining}


def _row(message: Message) -> dict[str, object]:
    return {
        "from": message.sender,
        "from_team": message.sender_team,
        "message": message.text,
        "timestamp": None if message.sent_at is None else format_timestamp(message.sent_at),
        "message_id": message.id,
        **({"urgent": True} if message.is_urgent else {}),
    }


def in_words(data: Mapping[str, object]) -> str:
    """One line in which no sender can begin another, or hide characters."""
    return json_escaped(json.dumps(data, ensure_ascii=False))


def mail_result(data: Mapping[str, object]) -> ToolResult:
    return written(in_words(data), data=data)
