"""Pure. The arguments of each tool as values, read by the fields of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, structs

from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import GoalOrder, When
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, read_arguments, read_some
from codex_mcp.threads.news import WaitMode


class HowToWait(Struct, frozen=True, kw_only=True, rename="kebab"):
    background: bool = False
    wait_seconds: float | None = None


class TurnArguments(HowToWait, frozen=True, kw_only=True, rename="kebab"):
    prompt: str
    images: tuple[str, ...] = ()
    output_schema: dict[str, object] | None = None
    events: Events | None = None
    goal: str | None = None
    goal_tokens: int | None = None
    goal_status: str | None = None

    @property
    def goal_order(self) -> GoalOrder | None:
        """Raises BadArguments."""
        if self.goal is not None and not self.goal.strip():
            raise BadArguments(f"{BAD_ARGUMENTS}`goal` is empty; `goal-status: cleared` ends a goal")
        if self.goal is None and self.goal_tokens is None and self.goal_status is None:
            return None
        return GoalOrder(self.goal, self.goal_tokens, self.goal_status or "active")


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
    session_id: str | None = msgspec.field(default=None, name="sessionId")
    reset_session: bool = msgspec.field(default=False, name="resetSession")
    reasoning_effort: str | None = msgspec.field(default=None, name="reasoningEffort")
    working_directory: str | None = msgspec.field(default=None, name="workingDirectory")
    full_auto: bool = msgspec.field(default=False, name="fullAuto")
    callback_uri: str | None = msgspec.field(default=None, name="callbackUri")


Started = TypeVar("Started", bound=CodexArguments)


class ReplyArguments(TurnArguments, frozen=True, kw_only=True, rename="kebab"):
    given_thread_id: str | None = msgspec.field(default=None, name="threadId")
    conversation_id: str | None = msgspec.field(default=None, name="conversationId")
    when: When = When.QUEUE
    rollback: int = 0

    @property
    def thread_id(self) -> str | None:
        """The thread; `conversationId` is an older name of `threadId`."""
        return self.given_thread_id or self.conversation_id


class WaitArguments(Struct, frozen=True, kw_only=True, rename="kebab"):
    thread_ids: tuple[str, ...] | None = msgspec.field(default=None, name="threadIds")
    mode: WaitMode = WaitMode.FIRST
    again: bool = False
    offset: int = 0
    timeout_seconds: float | None = None

    @property
    def repeats(self) -> bool:
        """It asks for what was reported before."""
        return self.again or self.offset > 0


CALLBACK: Final = "CODEX_MCP_CALLBACK_URI"
LONGEST_URI: Final = 2048

FULL_AUTO: Final = "fullAuto means sandbox {sandbox} and approval-policy {policy}; name these two instead"
RESET_WHAT: Final = "resetSession has no effect without sessionId"


def translated(arguments: Started) -> tuple[Started, tuple[str, ...]]:
    """The arguments with those of an older wrapper expressed by ours, and warnings. Raises BadArguments."""
    config = dict(arguments.config)
    changes: dict[str, str] = {}
    warnings: list[str] = []
    if arguments.working_directory is not None:
        if arguments.cwd not in (None, arguments.working_directory):
            raise BadArguments(f"{BAD_ARGUMENTS}`cwd` and `workingDirectory` differ; give one of them")
        changes["cwd"] = arguments.working_directory
    if arguments.reasoning_effort is not None:
        config["model_reasoning_effort"] = arguments.reasoning_effort
    if arguments.callback_uri is not None:
        if len(arguments.callback_uri) > LONGEST_URI or not arguments.callback_uri.isprintable():
            raise BadArguments(f"{BAD_ARGUMENTS}`callbackUri` must be a URI of at most {LONGEST_URI} characters")
        config[f"shell_environment_policy.set.{CALLBACK}"] = arguments.callback_uri
    if arguments.full_auto:
        changes["sandbox"] = arguments.sandbox or "workspace-write"
        changes["approval_policy"] = arguments.approval_policy or "on-request"
        warnings.append(FULL_AUTO.format(sandbox=changes["sandbox"], policy=changes["approval_policy"]))
    if arguments.reset_session and arguments.session_id is None:
        warnings.append(RESET_WHAT)
    return structs.replace(arguments, config=config, **changes), tuple(warnings)


Arguments = TypeVar("Arguments")


def how_to_wait(arguments: Mapping[str, object]) -> HowToWait:
    """How long a call waits; other arguments are ignored. Raises BadArguments."""
    return msgspec.convert(read_some(catalogue.COMMON_FIELDS, arguments), HowToWait)


def tool_arguments(tool: Tool, arguments: Mapping[str, object], kind: type[Arguments]) -> Arguments:
    """Raises BadArguments."""
    return msgspec.convert(read_arguments(tool.accepted, arguments), kind)
