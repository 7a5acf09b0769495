"""Pure. Did the sandbox stop this process? A guess from its exit code and its words, as the real server makes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from codex_mcp.wire.exec.protocol import Chunk

KILLED_BY_FILTER: Final = 128 + 31
"""A shell's way to say SIGSYS: the system call filter ended it."""

WORDS: Final = (
    b"operation not permitted",
    b"permission denied",
    b"read-only file system",
    b"seccomp",
    b"sandbox",
    b"landlock",
    b"failed to write file",
)


def looks_denied(exit_code: int, output: Iterable[Chunk]) -> bool:
    """Does a confined process's failure look like the sandbox's doing?"""
    if exit_code == 0:
        return False
    if exit_code == KILLED_BY_FILTER:
        return True
    said = b"".join(chunk.chunk for chunk in output).lower()
    return any(word in said for word in WORDS)
