"""Pure. One line of `audit.jsonl`: what was asked of which agent, and the outcome. Secrets are masked."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.secrets.redact import redact

LONGEST_TEXT: Final = 200
"""Characters of a prompt, a message or an error: enough to recognise it."""

LONGEST_NAME: Final = 200
"""Characters of an id, which clients choose."""

LOOKED_AT: Final = 4096
"""Characters searched for secrets before the text is cut: half a secret would not be recognised."""

LONG: Final = ("what", "error")


class AuditOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    RUNNING = "running"
    """The call was answered while its turn continues."""
    TIMED_OUT = "timed_out"


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields that do not apply are left out of the line."""

    timestamp: str
    """When it ended, in ISO 8601 with milliseconds, UTC."""
    event: str
    """The tool that was called, or what the server did by itself."""
    outcome: str
    """An `AuditOutcome`, as text so that files of later versions can be read."""
    request_id: str | None = None
    codex_id: str | None = None
    thread_id: str | None = None
    identity: str | None = None
    team: str | None = None
    principal: str | None = None
    what: str | None = None
    by: str | None = None
    """Who answered a question; left out if no person has."""
    via: str | None = None
    """How it was answered, or came to its end."""
    error: str | None = None
    duration_ms: int | None = None
    tokens: int | None = None


def without_tails(entry: AuditEntry) -> AuditEntry:
    """The entry with long texts cut to what its line needs, so that a long prompt is not kept in memory."""
    long = {
        name: text[: LOOKED_AT + 1]
        for name in LONG
        if isinstance(text := getattr(entry, name), str) and len(text) > LOOKED_AT
    }
    return msgspec.structs.replace(entry, **long) if long else entry


def line_of(entry: AuditEntry) -> bytes:
    """The entry as a line, with its line break. Texts are masked and cut."""
    fields = msgspec.structs.asdict(entry)
    cut = {
        name: shown(value) if name in LONG else redact(value[:LONGEST_NAME]).encode(errors="replace").decode()
        for name, value in fields.items()
        if isinstance(value, str)
    }
    return msgspec.json.encode(msgspec.structs.replace(entry, **cut)) + b"\n"


def entry_in(line: bytes) -> AuditEntry | None:
    """The entry in a line; None if the line is torn or not an entry."""
    try:
        return msgspec.json.decode(line, type=AuditEntry)
    except (ValueError, RecursionError):
        return None


def shown(text: str) -> str:
    piece = text[:LOOKED_AT]
    if len(text) > LOOKED_AT:
        piece = piece.rpartition(" ")[0]  # the last word may be half of a secret
    masked = redact(piece)
    kept = masked if len(masked) <= LONGEST_TEXT and len(piece) == len(text) else masked[: LONGEST_TEXT - 1] + "…"
    return kept.encode(errors="replace").decode()
