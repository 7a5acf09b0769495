"""Summaries that agents write before they are closed: one `summary.md` per thread, read when the thread is resumed.

The path is `<state folder>/<identity>/<thread id>/summary.md`. Both names are checked, so that no path leads elsewhere.
"""

from __future__ import annotations

import logging
import os
import re
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private_folder, opened, remove_drafts, write_whole
from codex_mcp.base.identity import why_invalid
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.timestamps import format_timestamp

logger = logging.getLogger(__name__)

FILE: Final = "summary.md"

LONGEST: Final = 64 * 1024
"""Bytes of a summary; the rest is cut. It precedes a prompt, and a longer one would crowd that out."""

CUT: Final = "\n[cut here: it was longer]\n"

SUMMARY_PROMPT: Final = """\
This conversation is about to be closed. Do not start anything new, and run no commands. Write a summary with which \
somebody who has not seen this conversation can go on, in at most 400 words:

- the task, as you understood it;
- what is done, with the files that you changed;
- what is not done, and what you would do next;
- decisions, and why; questions that are open; whatever stands in the way.

Answer with the summary alone."""

TAG: Final = "earlier-summary"

_THREAD_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_-]{0,127}")
"""Codex's ids are UUIDs; an agent without a thread has its codex_id here."""

_END_TAG: Final = re.compile(rf"<(?=\s*/\s*{TAG})", re.IGNORECASE)


class Summary(Struct, frozen=True):
    """A summary, and when it was written, in seconds since the epoch."""

    text: str
    written_at: float


def path_of(state_dir: str, identity: str, thread_id: str) -> str:
    if reason := why_invalid(identity):
        raise Refused(reason)
    if _THREAD_ID.fullmatch(thread_id) is None:
        raise Refused(f"cannot write a summary of thread {thread_id[:128]!a}: that is not a thread id")
    return os.path.join(state_dir, identity, thread_id, FILE)


def write_summary(state_dir: str, identity: str, thread_id: str, text: str) -> str:
    """Replace the thread's summary, secrets masked, and return its path. Raises Refused, OSError."""
    path = path_of(state_dir, identity, thread_id)
    make_private_folder(os.path.dirname(path))
    remove_drafts(path)  # the claim on the thread keeps other servers from writing
    data = redact(text).encode(errors="replace")
    if len(data) > LONGEST:
        data = data[:LONGEST].decode(errors="ignore").encode() + CUT.encode()
    write_whole(path, data)
    return path


def read_summary(state_dir: str, identity: str, thread_id: str) -> Summary | None:
    """The thread's summary; None if it is missing, empty, or (with a warning) cannot be read."""
    path = path_of(state_dir, identity, thread_id)
    try:
        with opened(path) as file:
            data = file.read(LONGEST + len(CUT))
            written_at = os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("cannot read %s, continuing without it: %s", path, error.strerror or error)
        return None
    text = data.decode(errors="replace").strip()
    return Summary(text, written_at) if text else None


def as_preface(summary: Summary) -> str:
    """The text before the first prompt of a resumed thread. The summary cannot end its block early."""
    body = _END_TAG.sub("&lt;", summary.text)
    return (
        f'<{TAG} written-at="{format_timestamp(summary.written_at)}">\n{body}\n</{TAG}>\n'
        "The block above is what you wrote when this conversation was closed. Files may have changed since: look "
        "before you rely on it. Go on with this:\n\n"
    )
