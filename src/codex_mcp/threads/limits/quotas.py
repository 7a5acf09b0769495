"""Pure. How much one principal may have at a server, and what it is told when it wants more."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.codex.core import TurnSpec


class Quotas(Struct, frozen=True):
    """The limits of each principal."""

    threads: int
    queued_turns: int
    queued_bytes: int


class Queued(Struct, frozen=True):
    """What of a principal has not begun yet."""

    turns: int
    bytes: int


def quotas_of(settings: CallSettings) -> Quotas:
    """As the settings say."""
    return Quotas(
        settings.threads_per_principal, settings.queued_turns_per_principal, settings.queued_bytes_per_principal
    )


def size_of(spec: TurnSpec) -> int:
    """About how many bytes a turn takes while it waits."""
    schema = 0 if spec.output_schema is None else len(str(spec.output_schema))
    return len(spec.prompt) + len(spec.preface) + sum(map(len, spec.images)) + schema


def over_quota(quotas: Quotas, queued: Queued, spec: TurnSpec | None = None) -> str:
    """Why this principal may not queue this turn, or open a thread; empty if it may."""
    if queued.turns >= quotas.queued_turns:
        return (
            f"you have {queued.turns} turns waiting already, which is the limit (queued_turns_per_principal); "
            "wait for some to end"
        )
    size = 0 if spec is None else size_of(spec)
    # One that is too large by itself may wait alone: nothing else would ever make room for it.
    if queued.bytes and queued.bytes + size > quotas.queued_bytes:
        return (
            f"your waiting turns hold {queued.bytes} bytes, and with this one they would hold {queued.bytes + size}: "
            f"the limit is {quotas.queued_bytes} (queued_bytes_per_principal); wait for some to end"
        )
    return ""


def all_busy(count: int) -> str:
    """Why this principal may not open another thread: none of those that it has can be put away."""
    return (
        f"you have {count} threads open and each of them is busy, which is the limit (threads_per_principal); "
        "wait for a turn to end"
    )
