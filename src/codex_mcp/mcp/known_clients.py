"""Pure. What each client does that the protocol does not tell: one table, by the name that a client gives itself.

An unknown client gets the safe behaviour: its model may see the text of a result, the structured content or both, so
that each is complete; and its time limit may be short. Several frameworks in Python call themselves `mcp`, as their SDK
does, and are unknown in this sense.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct


class Shows(StrEnum):
    """What a client shows its model of a result."""

    TEXT = "the text"
    DATA = "the structured content"
    BOTH = "both"
    TEXT_OR_BOTH = "the text; newer versions both"
    UNKNOWN = "one of them, or both"


class KnownClient(Struct, frozen=True):
    shows: Shows = Shows.UNKNOWN
    shows_of_errors: Shows = Shows.UNKNOWN
    """The same for a result that is an error."""
    chars: int = 36_000
    """The bytes in JSON of the longest answer that one result holds; the rest is fetched. Clients count the whole
    result, so some room is left for its other fields."""
    with_progress: float | None = 240
    """Seconds after which a call with a progress token returns `running`; None: never. A margin is left for the answer
    to arrive."""
    without_progress: float | None = 45
    """The same for a call without one."""
    hangs_up_to_cancel: bool = False
    """A person stops a stateless call by closing its connection; the client itself does so for no other reason."""
    keeps_server: bool = False
    """It starts one server and uses it for all calls."""
    gives_up_silently: bool = False
    """It may stop waiting for an answer without a word, as the Python SDK 1.x does."""
    takes_events: bool = False
    """It gets `codex/event` notifications without asking for them."""
    takes_links: bool = False
    """It knows what to do with links to resources in results. AutoGen gives its model an error in the place of a result
    with a block that it does not know."""


UNKNOWN: Final = KnownClient(gives_up_silently=True, takes_events=True)
"""A program that was written for `codex mcp-server` may need its events.

Cursor and others give up at 300 s, with or without progress. A client that sends no progress token most likely uses
the TypeScript SDK's default of 60 s. A long answer is cut as for Codex. Clients that hold less are known by their
names; the SDKs, on which the unknown ones are built, have no limit, and a program that does not ask for the rest of an
answer would lose more of it."""

CLIENTS: Final[Mapping[str, KnownClient]] = {
    # No limit while there is progress; silent calls over stdio end after 30 minutes. It moves a result of more than
    # 25,000 tokens into a file.
    "claude-code": KnownClient(
        Shows.DATA,
        Shows.TEXT,
        60_000,
        None,
        without_progress=1500,
        hangs_up_to_cancel=True,
        keeps_server=True,
        takes_links=True,
    ),
    # Claude Desktop has been seen to end calls at 60 s and at 240 s.
    "claude-ai": KnownClient(with_progress=45, keeps_server=True),
    # Codex as a client: 300 s (`tool_timeout_sec`), progress or not. It cuts a result of more than 10,000 tokens.
    "codex-mcp-client": KnownClient(Shows.DATA, Shows.DATA, with_progress=240, without_progress=240, keeps_server=True),
    # The Python SDK's own name. Its first generation writes 41 kB of warnings about the events of one short turn.
    "mcp": KnownClient(gives_up_silently=True),
    # FastMCP's client, also in Pydantic AI, which shows the structured content.
    "fastmcp": KnownClient(),
    # 5 s on stdio; it says when it gives up.
    "google-adk": KnownClient(Shows.BOTH, Shows.BOTH, keeps_server=True),
    "gemini-cli-mcp-client": KnownClient(Shows.TEXT, Shows.BOTH, keeps_server=True),
    # 0.15 shows the text, 0.24 both. It moves a result of more than 28,000 characters into a file, and shows 2,000.
    "qwen-cli-mcp-client": KnownClient(Shows.TEXT_OR_BOTH, Shows.BOTH, 25_000, keeps_server=True),
    "opencode": KnownClient(Shows.TEXT, Shows.TEXT, keeps_server=True),
    # It moves a result of more than 20,480 bytes into a file, and shows 500 characters.
    "copilot-cli": KnownClient(Shows.BOTH, Shows.BOTH, 18_000, hangs_up_to_cancel=True, keeps_server=True),
    # The extension of VS Code, and the command line. Of a result with more than 8,000 characters of JSON, it takes the
    # middle out.
    "cline": KnownClient(Shows.BOTH, Shows.BOTH, 6_000, keeps_server=True),
    "@cline/core": KnownClient(Shows.BOTH, Shows.BOTH, 6_000, keeps_server=True),
    # The Inspector shows a person the whole result; Ctrl-C closes its connection.
    "inspector-cli": KnownClient(hangs_up_to_cancel=True, takes_events=True, takes_links=True),
}
"""By lower-case name. Some clients append the name that the user gave the server: `qwen-cli-mcp-client-codex`."""


EVENTS_CAPABILITY: Final = "codex/event"
"""An experimental capability: a client that declares it gets `codex/event` notifications."""


def asks_for_events(capabilities: Mapping[str, object]) -> bool:
    experimental = capabilities.get("experimental")
    return isinstance(experimental, Mapping) and experimental.get(EVENTS_CAPABILITY) is not None


TIME_OUTS: Final = re.compile(r"\btim(?:ed?|ing)[ -]?out\b|timeout|deadline|-32001\b", re.IGNORECASE)
"""In the reasons of clients that give up: `timed out after 5s` (Python SDK), `MCP error -32001: Request timed out`
(TypeScript SDK), `TimeoutError: The operation was aborted due to timeout` (AbortSignal.timeout)."""


def is_time_out(reason: str) -> bool:
    """Whether a client cancels because its time is up, and not because a person wants to stop the work."""
    return TIME_OUTS.search(reason) is not None


def known_client(name: str) -> KnownClient:
    name = name.lower()
    found = CLIENTS.get(name)
    if found is None:
        found = next((client for known, client in CLIENTS.items() if name.startswith(f"{known}-")), UNKNOWN)
    return found


PRIMED_SINCE: Final = "2025-11-25"
"""Older SDKs parse the empty data of the event that begins a stream, and disconnect."""

LINKS_SINCE: Final = "2025-06-18"
"""Older SDKs refuse a result with a block of another kind than they know."""


def takes_priming(revision: str) -> bool:
    """Whether a stream of a session with this revision may begin with an event without a message."""
    return revision >= PRIMED_SINCE


def takes_links(revision: str) -> bool:
    """Whether results may contain links to resources."""
    return revision >= LINKS_SINCE
