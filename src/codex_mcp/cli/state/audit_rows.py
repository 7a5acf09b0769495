"""Pure. One entry of the audit as a line for people."""

from __future__ import annotations

from typing import Final

from codex_mcp.team.records.audit_entry import AuditEntry

TITLES: Final = ("TIME                    ", "OUTCOME    ", "EVENT       ", "IDENTITY", "TOOK  ", "WHAT  ")
"""As wide as most entries need it, so that lines that come one by one stand below each other."""


OPTIONAL: Final = ("TOOK  ", "IDENTITY")
"""What a narrow screen need not show, the least important first."""


def row(entry: AuditEntry) -> tuple[str, ...]:
    """What a table says of an entry, by TITLES."""
    return (
        entry.timestamp,
        entry.outcome,
        entry.event,
        entry.identity or "",
        "" if entry.duration_ms is None else duration(entry.duration_ms),
        " · ".join(text for text in (entry.error, entry.what) if text),
    )


def duration(milliseconds: int) -> str:
    """How long it took, as a person says it."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds // 60_000} min"
