"""Pure. The session of Claude Code that has started this server, as its variables tell it; and what is said to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

SESSION_ID: Final = "CLAUDE_CODE_SESSION_ID"
SOCKET: Final = "CLAUDE_CODE_MESSAGING_SOCKET"
TOKEN: Final = "CLAUDE_CODE_MESSAGING_TOKEN"

ID_START: Final = 8
"""Characters of a session's id in the name of its team."""

LONGEST_SUMMARY: Final = 100

_SESSION_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_SESSION_TEAM: Final = re.compile(r"session-[0-9a-f]{8}")


class Wire(Struct, frozen=True):
    """The session's own inbox, a Unix socket."""

    path: str
    token: str

    def __repr__(self) -> str:
        return f"Wire({self.path!r})"  # the token must not come into a log


class ClaudeSession(Struct, frozen=True):
    team: str | None = None
    """The name that its team has, if it has one."""
    wire: Wire | None = None


NO_SESSION: Final = ClaudeSession()


def claude_session(environment: Mapping[str, str]) -> ClaudeSession:
    session_id, path, token = (environment.get(name, "") for name in (SESSION_ID, SOCKET, TOKEN))
    if not _SESSION_ID.fullmatch(session_id):
        return NO_SESSION
    return ClaudeSession(f"session-{session_id[:ID_START]}", Wire(path, token) if path and token else None)


def session_team(session: ClaudeSession, own_team: str) -> str | None:
    """The team of Claude Code in which our agents are members: that of its session, or ours if it is named like one."""
    if session.team is not None:
        return session.team
    return own_team if _SESSION_TEAM.fullmatch(own_team) else None


class Letter(Struct, frozen=True):
    """A message that was sent to the lead."""

    id: str
    sender: str
    summary: str


def letter(message_id: str, sender: str, text: str, summary: str | None) -> Letter:
    short = " ".join((summary or text).split())
    return Letter(message_id, sender, short if len(short) <= LONGEST_SUMMARY else f"{short[: LONGEST_SUMMARY - 1]}…")


def nudge(letters: list[Letter], inbox: str) -> str:
    """One line for each message: who, summary, id. What an agent wrote is quoted."""
    lines = [f"Mail from {each.sender}: {json.dumps(each.summary)} (message {each.id})." for each in letters]
    return "\n".join([*lines, f"If it is not shown to you, read it in {inbox}."])


def spoken(token: str, text: str) -> bytes:
    """What is written to the socket: who we are, and what the session's user would say."""
    lines = ({"type": "auth", "token": token}, {"type": "user", "message": {"role": "user", "content": text}})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
