"""Pure. The MCP messages that the server reads and sends, of both eras.

In the handshake era (2024-11-05 to 2025-11-25) a client starts with `initialize`, and its version and capabilities
apply to the whole connection. In the stateless era (2026-07-28) every request carries them in `_meta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codex_mcp.wire.glances import PART, Part
from codex_mcp.wire.jsonrpc import Id

REVISIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Supported revisions with a handshake, newest first."""

STATELESS_REVISIONS: Final = ("2026-07-28",)
"""Supported revisions without a handshake, newest first."""

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

PREFIX: Final = "io.modelcontextprotocol/"
"""The prefix of the names in `_meta` that the specification defines."""

VERSION_KEY: Final = f"{PREFIX}protocolVersion"
CAPABILITIES_KEY: Final = f"{PREFIX}clientCapabilities"
CLIENT_KEY: Final = f"{PREFIX}clientInfo"
SERVER_KEY: Final = f"{PREFIX}serverInfo"
SUBSCRIPTION_KEY: Final = f"{PREFIX}subscriptionId"
LOG_LEVEL_KEY: Final = f"{PREFIX}logLevel"

TASKS_EXTENSION: Final = f"{PREFIX}tasks"

ProgressToken = int | str


class Change(StrEnum):
    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


def negotiated(asked: str) -> str:
    """The revision for a client that asks for this one: the same if supported, otherwise the newest."""
    return asked if asked in REVISIONS else REVISIONS[0]


class ClientInfo(Struct, frozen=True):
    name: str
    version: str


class Initialize(Struct, frozen=True, rename="camel"):
    protocol_version: str
    capabilities: dict[str, object]
    client_info: ClientInfo


class Meta(Struct, frozen=True, rename="camel"):
    """The fields of `_meta` that are read. 0 and "" are valid tokens."""

    progress_token: ProgressToken | UnsetType = UNSET
    part: Part | None = msgspec.field(default=None, name=PART)
    """Of a wait, which another server of the folder forwards; from any other client it is ignored."""


class CallTool(Struct, frozen=True, rename="camel"):
    """The last two fields come with the retry of a call that needed input."""

    name: str
    arguments: dict[str, object] | None = None
    meta: Meta = msgspec.field(default_factory=Meta, name="_meta")
    input_responses: dict[str, object] | None = None
    request_state: str | None = None


class TaskNamed(Struct, frozen=True, rename="camel"):
    task_id: str


class UpdateTask(Struct, frozen=True, rename="camel"):
    """Answers to a task's questions, by the keys of the questions."""

    task_id: str
    input_responses: dict[str, object]


class Wanted(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The changes that a client subscribes to with `subscriptions/listen`, or those that the server will report."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()
    """Addresses of resources."""

    def among(self, capabilities: Mapping[str, object]) -> Wanted:
        """The changes that a server with these capabilities reports."""
        return Wanted(
            self.tools_list_changed and _tells_changes(capabilities.get("tools")),
            self.prompts_list_changed and _tells_changes(capabilities.get("prompts")),
            self.resources_list_changed and _tells_changes(capabilities.get("resources")),
            self.resource_subscriptions if _has(capabilities.get("resources"), "subscribe") else (),
        )

    def holds(self, change: Change) -> bool:
        wanted: bool = getattr(self, f"{change}_list_changed")
        return wanted


def _tells_changes(capability: object) -> bool:
    return _has(capability, "listChanged")


def _has(capability: object, name: str) -> bool:
    return isinstance(capability, dict) and capability.get(name) is True


class Listen(Struct, frozen=True):
    notifications: Wanted


class Cancelled(Struct, frozen=True, rename="camel"):
    request_id: Id
    reason: str | None = None


class Progress(Struct, frozen=True, rename="camel"):
    progress_token: ProgressToken
    progress: float
    message: str


class EventMeta(Struct, frozen=True, rename="camel"):
    request_id: Id
    thread_id: str


class CodexEvent(Struct, frozen=True):
    meta: EventMeta = msgspec.field(name="_meta")
    msg: dict[str, object]
    id: str
