"""Tells an MCP client on stdin and stdout, and the log, why the server does not start.

The client would otherwise see only a closed connection.

    message                    answer                  then
    -------------------------  ----------------------  --------------------------------------------------
    `server/discover`          an error, the sentence  read on: the client now tries `initialize`
    any other request          an error, the sentence  done
    a notification, an answer  none                    read on
    not a message              none                    read on
    the end, or PATIENCE over  none                    done
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from codex_mcp.base.logs import write_to_log
from codex_mcp.config.load import likely_codex_home
from codex_mcp.rpc.channel import Frame
from codex_mcp.rpc.codec import decode, encode_error
from codex_mcp.transports.framing import FrameReader, encode
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, ErrorObject, Request

PROBE: Final = "server/discover"
"""How a client finds out the era. Claude Code shows only the error of the `initialize` that follows."""

PATIENCE: Final = 10.0
"""Seconds for the first request, which clients send at once. A pipe without a client may stay open and silent."""

READ_BYTES: Final = 1 << 16
MAX_MESSAGE_BYTES: Final = 1 << 20
"""Far more than a first request has."""


def answer_to(frame: Frame, sentence: str) -> tuple[bytes | None, bool]:
    """The answer to a message, if it is a request, and whether it was the last one."""
    message = decode(frame) if isinstance(frame, bytes) else None
    if not isinstance(message, Request):
        return None, False
    return encode_error(message.id, ErrorObject(INTERNAL_ERROR, sentence)), message.method != PROBE


def tell_client(sentence: str, stdin: int, stdout: int, *, patience: float | None = None) -> bool:
    """Answer the first request with the sentence. Returns whether there was one.

    Returns at once if stdin is a terminal or has ended.
    """
    if os.isatty(stdin):
        return False
    frames = FrameReader(MAX_MESSAGE_BYTES)
    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    is_told = False
    try:
        while data := _read(stdin, deadline - time.monotonic()):
            for frame in frames.feed(data):
                answer, is_last = answer_to(frame, sentence)
                if answer is not None:
                    is_told = True
                    os.write(stdout, encode(answer, frames.style))
                if is_last:
                    return True
    except OSError:  # the client has gone
        pass
    return is_told


def log_failure(sentence: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write the sentence to the log, in the home that the server would probably have used."""
    named = [word.partition("=")[2] or after for word, after in pairwise((*words, "")) if _is_home(word)]
    home = likely_codex_home(named[-1] if named else None, environment)
    if os.path.isdir(home):
        write_to_log(sentence, home)


def _is_home(word: str) -> bool:
    return word.partition("=")[0] == "--codex-home"


def _read(stdin: int, timeout: float) -> bytes:
    ready, _, _ = select.select([stdin], [], [], max(0.0, timeout))
    return os.read(stdin, READ_BYTES) if ready else b""
