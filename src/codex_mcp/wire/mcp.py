"""Pure. The MCP messages that we read, in the revisions 2024-11-05 to 2025-11-25."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codex_mcp.wire.jsonrpc import Id

REVISIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions that we speak, newest first."""

ProgressToken = int | str


def negotiated(asked: str) -> str:
    """The revision for a client that asks for this one: the same if we speak it, else our newest."""
    return asked if asked in REVISIONS else REVISIONS[0]


class ClientInfo(Struct, frozen=True):
    """Who the client says it is."""

    name: str
    version: str


class Initialize(Struct, frozen=True, rename="camel"):
    """`initialize`."""

    protocol_version: str
    capabilities: dict[str, object]
    client_info: ClientInfo


class Meta(Struct, frozen=True, rename="camel"):
    """The part of `_meta` that we read. 0 and "" are tokens like any other."""

    progress_token: ProgressToken | UnsetType = UNSET


class CallTool(Struct, frozen=True):
    """`tools/call`."""

    name: str
    arguments: dict[str, object] | None = None
    meta: Meta = msgspec.field(default_factory=Meta, name="_meta")


class Cancelled(Struct, frozen=True, rename="camel"):
    """`notifications/cancelled`."""

    request_id: Id
    reason: str | None = None


class Progress(Struct, frozen=True, rename="camel"):
    """`notifications/progress`."""

    progress_token: ProgressToken
    progress: float
    message: str


class EventMeta(Struct, frozen=True, rename="camel"):
    """Which call and which thread an event belongs to."""

    request_id: Id
    thread_id: str


class CodexEvent(Struct, frozen=True):
    """`codex/event`."""

    meta: EventMeta = msgspec.field(name="_meta")
    msg: dict[str, object]
    id: str
