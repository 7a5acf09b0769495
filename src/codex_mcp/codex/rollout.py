"""Which sandbox the last turn of a thread had, read from its rollout file.

`thread/resume` restores read-only, full access and named permission profiles. It replaces `workspace-write` with the
sandbox of config.toml, which may allow more than the thread was started with.
"""

from __future__ import annotations

import logging
import os
from typing import Final

import msgspec

from codex_mcp.base.files import opened, short_lines
from codex_mcp.codex.config.permissions import Grant, names_sandbox, restored
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.wire.app.requests import RolloutLine, TurnContext

logger = logging.getLogger(__name__)

TURN_CONTEXT = b'"turn_context"'

LONGEST_CONTEXT: Final = 1024 * 1024
"""Bytes of a line that describes a turn, with its permissions. Longer ones hold output or pictures."""

LONGEST: Final = 1024 * 1024 * 1024
"""Bytes at the end of a rollout that are searched, in about a second."""


def sandbox_to_restore(asked: ThreadSpec, path: str | None) -> Grant | None:
    """The grant for a resumed thread with this rollout file; None if it already has the right sandbox."""
    if path is None or names_sandbox(asked):
        return None
    try:
        context = _last_context(path)
    except OSError as exc:
        logger.warning("cannot read the last sandbox of a thread from %s: %s", path, exc.strerror)
        return None
    return None if context is None else restored(context)


def _last_context(path: str) -> TurnContext | None:
    last: TurnContext | None = None
    with opened(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST))
        for line in short_lines(file, LONGEST_CONTEXT, LONGEST):
            if TURN_CONTEXT in line:
                last = _context_in(line) or last
    return last


def _context_in(line: bytes) -> TurnContext | None:
    try:
        entry = msgspec.json.decode(line, type=RolloutLine)
        return msgspec.json.decode(entry.payload, type=TurnContext) if entry.type == "turn_context" else None
    except msgspec.MsgspecError:  # the last line may be half written
        return None
