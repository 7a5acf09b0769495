"""Pure. What the app-server means when it refuses: all refusals have the same code, and only their texts differ."""

from __future__ import annotations

import re
from typing import Final

from codex_mcp.base.errors import Notice
from codex_mcp.codex.core import (
    BadThreadId,
    ConfigRefused,
    CoreError,
    NotSteerable,
    ThreadDamaged,
    ThreadHeld,
    ThreadNotFound,
    ThreadUnusable,
)

REFUSALS: Final = (
    ("failed to load configuration: ", ConfigRefused),
    ("no rollout found for thread id", ThreadNotFound),
    ("thread not found", ThreadNotFound),
    ("thread not loaded", ThreadNotFound),
    ("invalid session id: ", BadThreadId),
    ("invalid thread id: ", BadThreadId),
    ("no active turn to steer", NotSteerable),
    ("expected active turn id", NotSteerable),
    ("cannot steer a ", NotSteerable),
    ("active turn uses a different output schema", NotSteerable),
)

HELD: Final = "already has an active writer"

ARCHIVED: Final = re.compile(r"session \S+ is archived", re.IGNORECASE)
DAMAGED: Final = re.compile(
    r"failed to read thread: thread-store internal error|invalid paginated history lineage", re.IGNORECASE
)


def refusal(said: Notice) -> CoreError:
    message = said.problem
    if message.endswith(HELD):
        return ThreadHeld(f"{message}: another Codex has it open", "end the server that runs it, or wait")
    if ARCHIVED.match(message):
        return ThreadUnusable(message)
    if DAMAGED.match(message):
        return ThreadDamaged(message)
    for beginning, kind in REFUSALS:
        if message.startswith(beginning):
            text = message.removeprefix(beginning) if beginning.endswith(": ") else message
            return kind(text.strip(), said.fix)
    return CoreError(message, said.fix)
