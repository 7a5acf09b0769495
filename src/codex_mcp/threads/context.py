"""What a thread shares with the other threads of its server or of its principal."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.codex.core import TurnSpec
from codex_mcp.git.turn_looks import TurnLooks
from codex_mcp.threads.limits.admission import Admission
from codex_mcp.threads.observers import Observers, TurnListener
from codex_mcp.threads.stopping.stopper import Cores


class ThreadContext(Struct, frozen=True):
    settings: CallSettings
    cores: Cores
    listener: TurnListener
    observers: Observers
    principal: str
    admission: Admission
    looks: TurnLooks
    check_quota: Callable[[TurnSpec], None]
    """Called before a turn is queued; raises Refused if the principal has too much waiting."""
