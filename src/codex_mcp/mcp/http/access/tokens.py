"""Pure. The file of bearer tokens: a principal and its token in each line.

    # comments and blank lines are skipped
    alice   s3cr3t-token
    bob     sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

A principal may have several lines, which is how a token is changed without an interruption.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

PRINCIPAL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

MAX_SUBJECT_CHARS: Final = 1024
"""Of the principal in a signed token: a user's address, `auth0|…`, a repository with its branch, a service account."""

HASHED: Final = "sha256:"

LOCAL: Final = "local"
"""Whoever needs no token. All threads on disk that nobody else has started are its, so that no token may be."""

MIN_TOKEN_CHARS: Final = 16
"""Shorter ones can be guessed; `openssl rand -hex 32` makes a good one."""


def parse_tokens(text: str) -> dict[bytes, str]:
    """SHA-256 of each token → its principal. Raises ValueError with a sentence that names the line, never the token."""
    tokens: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split() if line.lstrip().startswith("#") else line.split()
        if not words:
            continue
        if len(words) != 2 or not PRINCIPAL.fullmatch(words[0]):
            raise ValueError(f"line {number} must be a principal's name and its token")
        if words[0] == LOCAL:
            raise ValueError(f"line {number} must not name {LOCAL}: that is who needs no token")
        digest = _digest(words[1], number)
        if tokens.get(digest, words[0]) != words[0]:
            raise ValueError(f"line {number} gives {words[0]} the token of somebody else")
        tokens[digest] = words[0]
    if not tokens:
        raise ValueError("it holds no token")
    return tokens


def why_no_principal(subject: str) -> str:
    """Why the `sub` of a signed token is no principal; empty if it is one. To be put behind "the sub of this token"."""
    if not subject:
        return "is empty"
    if len(subject) > MAX_SUBJECT_CHARS:
        return f"has {len(subject)} characters, and {MAX_SUBJECT_CHARS} is the most"
    if not subject.isprintable():
        return "holds characters that cannot be printed"
    if subject == LOCAL:
        return f"is {LOCAL}, which is the name of clients that need no token"
    return ""


def _digest(token: str, number: int) -> bytes:
    if not token.startswith(HASHED):
        if len(token) < MIN_TOKEN_CHARS:
            raise ValueError(f"the token in line {number} is shorter than {MIN_TOKEN_CHARS} characters")
        return hashlib.sha256(token.encode()).digest()
    try:
        digest = bytes.fromhex(token.removeprefix(HASHED))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise ValueError(f"line {number} must have 64 hexadecimal digits behind {HASHED}")
    return digest
