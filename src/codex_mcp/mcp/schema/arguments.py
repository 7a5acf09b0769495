"""Pure. The arguments of each tool as values, read by the fields of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.base.settings.kinds import Events
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import read_arguments, read_some
from codex_mcp.threads.news import WaitMode


class HowToWait(Struct, frozen=True, kw_only=True, rename="kebab"):
    background: bool = False
    wait_seconds: float | None = None


class TurnArguments(HowToWait, frozen=True, kw_only=True, rename="kebab"):
    prompt: str
    images: tuple[str, ...] = ()
    output_schema: dict[str, object] | None = None
    events: Events | None = None


class CodexArguments(TurnArguments, frozen=True, kw_only=True, rename="kebab"):
    model: str | None = None
    cwd: str | None = None
    approval_policy: str | None = None
    sandbox: str | None = None
    config: dict[str, object] = msgspec.field(default_factory=dict)
    base_instructions: str | None = None
    developer_instructions: str | None = None
    compact_prompt: str | None = None
    profile: str | None = None
    include_plan_tool: bool | None = None
    environment: str | None = None


class ReplyArguments(TurnArguments, frozen=True, kw_only=True, rename="kebab"):
    given_thread_id: str | None = msgspec.field(default=None, name="threadId")
    conversation_id: str | None = msgspec.field(default=None, name="conversationId")

    @property
    def thread_id(self) -> str | None:
        """The thread; `conversationId` is an older name of `threadId`."""
        return self.given_thread_id or self.conversation_id


class WaitArguments(Struct, frozen=True, kw_only=True, rename="kebab"):
    thread_ids: tuple[str, ...] | None = msgspec.field(default=None, name="threadIds")
    mode: WaitMode = WaitMode.FIRST
    again: bool = False
    timeout_seconds: float | None = None


Arguments = TypeVar("Arguments")


def how_to_wait(arguments: Mapping[str, object]) -> HowToWait:
    """How long a call waits; other arguments are ignored. Raises BadArguments."""
    return msgspec.convert(read_some(catalogue.COMMON_FIELDS, arguments), HowToWait)


def tool_arguments(tool: Tool, arguments: Mapping[str, object], kind: type[Arguments]) -> Arguments:
    """Raises BadArguments."""
    return msgspec.convert(read_arguments(tool.fields, arguments), kind)
