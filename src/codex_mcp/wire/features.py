"""Pure. The parameters of MCP's prompts, resources, completion and logging, of both eras."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

RESOURCE_NOT_FOUND: Final = -32002
"""Of the handshake era; the stateless era uses -32602."""


class Page(Struct, frozen=True):
    """`prompts/list`, `resources/list` and `resources/templates/list`."""

    cursor: str | None = None


class GetPrompt(Struct, frozen=True):
    name: str
    arguments: dict[str, str] | None = None


class ResourceNamed(Struct, frozen=True):
    """`resources/read`, `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class PromptReference(Struct, frozen=True, tag_field="type", tag="ref/prompt"):
    name: str


class ResourceReference(Struct, frozen=True, tag_field="type", tag="ref/resource"):
    uri: str


class Argument(Struct, frozen=True):
    name: str
    value: str


class Complete(Struct, frozen=True):
    """The argument that a person types, and what it belongs to."""

    ref: PromptReference | ResourceReference
    argument: Argument


class Level(StrEnum):
    """How important a log message is, from the least important on."""

    DEBUG = "debug"
    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
    ALERT = "alert"
    EMERGENCY = "emergency"


class SetLevel(Struct, frozen=True):
    level: Level


class LogMessage(Struct, frozen=True):
    """`notifications/message`."""

    level: Level
    logger: str
    data: str


class Root(Struct, frozen=True):
    uri: str
    name: str | None = None


class Roots(Struct, frozen=True):
    """The client's answer to `roots/list`."""

    roots: list[Root] = msgspec.field(default_factory=list)
