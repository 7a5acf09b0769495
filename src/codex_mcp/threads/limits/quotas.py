"""Pure. How much each principal may have on a server, and the error when it asks for more."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.codex.core import TurnSpec


class Queued(Struct, frozen=True):
    """The turns of a principal that have not started."""

    turns: int
    bytes: int


def size_of(spec: TurnSpec) -> int:
    schema = 0 if spec.output_schema is None else len(str(spec.output_schema))
    return len(spec.prompt) + len(spec.preface) + sum(map(len, spec.images)) + schema


def over_quota(limits: CallSettings, queued: Queued, spec: TurnSpec | None = None) -> str:
    """Why a principal may not queue this turn or open a thread; empty if it may."""
    if queued.turns >= limits.queued_turns_per_principal:
        return (
            f"you have {queued.turns} turns waiting already, which is the limit (queued_turns_per_principal); "
            "wait for some to end"
        )
    size = 0 if spec is None else size_of(spec)
    # A turn above the limit may wait alone: otherwise it could never run.
    if queued.bytes and queued.bytes + size > limits.queued_bytes_per_principal:
        return (
            f"your waiting turns hold {queued.bytes} bytes, and with this one they would hold {queued.bytes + size}: "
            f"the limit is {limits.queued_bytes_per_principal} (queued_bytes_per_principal); wait for some to end"
        )
    return ""


def all_busy(count: int) -> str:
    """Why a principal may not open another thread: all of its threads are busy, so none can be unloaded."""
    return (
        f"you have {count} threads open and each of them is busy, which is the limit (threads_per_principal); "
        "wait for a turn to end"
    )
