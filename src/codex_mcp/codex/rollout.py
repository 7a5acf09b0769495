"""What a thread's rollout file tells about it: the sandbox of its last turn, which of its turns are whole, its tokens.

`thread/resume` restores read-only, full access and named permission profiles. It replaces `workspace-write` with the
sandbox of config.toml, which may allow more than the thread was started with. It also passes over lines that it cannot
read, and does not say so.
"""

from __future__ import annotations

import logging
import os
from itertools import chain
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.files import lines_up_to, opened, short_lines
from codex_mcp.codex.config.permissions import Grant, names_sandbox, restored
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.codex.facts import Tokens, tokens_of
from codex_mcp.codex.losses import TurnsKept
from codex_mcp.wire.app.requests import RolloutLine, TokenCount, TurnContext

logger = logging.getLogger(__name__)

TURN_CONTEXT = b'"turn_context"'
TOKEN_COUNT = b'"token_count"'

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of a line that is looked at. Longer ones hold output or pictures."""

LONGEST: Final = 1024 * 1024 * 1024
"""Bytes at the end of a rollout that are searched, in about a second."""


class Rollout(Struct, frozen=True):
    last_context: TurnContext | None = None
    turns: TurnsKept | None = None
    """None if the file was not read from its beginning."""


def read_rollout(path: str | None) -> Rollout:
    """A file that cannot be read tells nothing."""
    if path is None:
        return Rollout()
    try:
        with opened(path) as file:
            return _read(file)
    except OSError as exc:
        logger.warning("cannot read the last sandbox of a thread from %s: %s", path, exc.strerror)
        return Rollout()


def tokens_used(path: str, parent_id: str) -> Tokens:
    """All that a thread has used if this one is its parent; nothing if it is not, or if that cannot be read."""
    used, requests = Tokens(), 0
    try:
        with opened(path) as file:
            lines = short_lines(file, LONGEST_LINE, LONGEST)
            if parent_id.encode() not in next(lines, b""):  # Codex says it nowhere else
                return used
            for line in lines:
                total = (_usage_in(line) if TOKEN_COUNT in line else None) or used
                requests += total.total_tokens > used.total_tokens  # it is repeated
                used = total
    except OSError as exc:
        logger.warning("cannot read the tokens of a thread from %s: %s", path, exc.strerror)
    return replace(used, requests=requests)


def _usage_in(line: bytes) -> Tokens | None:
    try:
        entry = msgspec.json.decode(line, type=RolloutLine)
        counted = msgspec.json.decode(entry.payload, type=TokenCount) if entry.type == "event_msg" else TokenCount()
    except msgspec.MsgspecError:  # the last line may be half written
        return None
    return None if counted.info is None else tokens_of(counted.info.total_token_usage)


def sandbox_to_restore(asked: ThreadSpec, rollout: Rollout) -> Grant | None:
    """The grant for a resumed thread with this rollout file; None if it already has the right sandbox."""
    context = None if names_sandbox(asked) else rollout.last_context
    return None if context is None else restored(context)


def _read(file: BinaryIO) -> Rollout:
    unread = max(0, os.fstat(file.fileno()).st_size - LONGEST)
    file.seek(unread)
    last: TurnContext | None = None
    turns = TurnsKept()
    for line in chain.from_iterable(lines_up_to(file, LONGEST_LINE, LONGEST)):
        if line is None:
            turns.skip()
            continue
        turns.read(line)
        if TURN_CONTEXT in line:
            last = _context_in(line) or last
    return Rollout(last, None if unread else turns)


def _context_in(line: bytes) -> TurnContext | None:
    try:
        entry = msgspec.json.decode(line, type=RolloutLine)
        return msgspec.json.decode(entry.payload, type=TurnContext) if entry.type == "turn_context" else None
    except msgspec.MsgspecError:  # the last line may be half written
        return None
