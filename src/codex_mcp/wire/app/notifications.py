"""Pure. The notifications of `codex app-server`, each described once.

`codex.reading` decodes them. A notification that is not described here keeps its method and its fields
(`OtherNotification`).
"""

from __future__ import annotations

from typing import ClassVar, Final, TypeAlias

from msgspec import Struct

from codex_mcp.wire.app.items import (
    Failure,
    FileUpdate,
    Item,
    OtherItem,
    TokenCounts,
    TokenUsage,
    Turn,
    Wire,
)
from codex_mcp.wire.app.requests import CollaborationMode, Thread
from codex_mcp.wire.jsonrpc import Id


class DescribedNotification(Wire, frozen=True, kw_only=True):
    """A notification without a thread is about the app-server as a whole."""

    method: ClassVar[str]
    thread_id: str | None = None


class InTurn(DescribedNotification, frozen=True):
    turn_id: str


class ItemStarted(InTurn, frozen=True):
    method: ClassVar[str] = "item/started"
    item: Item
    started_at_ms: int = 0


class ItemCompleted(InTurn, frozen=True):
    method: ClassVar[str] = "item/completed"
    item: Item
    completed_at_ms: int = 0


class OtherItemStarted(InTurn, frozen=True):
    method: ClassVar[str] = "item/started"
    item: OtherItem


class OtherItemCompleted(InTurn, frozen=True):
    method: ClassVar[str] = "item/completed"
    item: OtherItem


class Delta(InTurn, frozen=True):
    """A piece of streamed text. Deltas are the hot path: only fields that are passed on are decoded."""

    item_id: str
    delta: str


class MessageDelta(Delta, frozen=True):
    method: ClassVar[str] = "item/agentMessage/delta"


class PlanDelta(Delta, frozen=True):
    method: ClassVar[str] = "item/plan/delta"


class OutputDelta(Delta, frozen=True):
    method: ClassVar[str] = "item/commandExecution/outputDelta"


class SummaryDelta(Delta, frozen=True):
    method: ClassVar[str] = "item/reasoning/summaryTextDelta"
    summary_index: int = 0


class ReasoningDelta(Delta, frozen=True):
    method: ClassVar[str] = "item/reasoning/textDelta"
    content_index: int = 0


class SummaryPartAdded(InTurn, frozen=True):
    method: ClassVar[str] = "item/reasoning/summaryPartAdded"
    item_id: str
    summary_index: int = 0


class TerminalInput(InTurn, frozen=True):
    method: ClassVar[str] = "item/commandExecution/terminalInteraction"
    item_id: str
    process_id: str
    stdin: str


class PatchUpdated(InTurn, frozen=True):
    method: ClassVar[str] = "item/fileChange/patchUpdated"
    item_id: str
    changes: list[FileUpdate]


class TurnStarted(DescribedNotification, frozen=True):
    method: ClassVar[str] = "turn/started"
    turn: Turn


class TurnCompleted(DescribedNotification, frozen=True):
    method: ClassVar[str] = "turn/completed"
    turn: Turn


class DiffUpdated(InTurn, frozen=True):
    method: ClassVar[str] = "turn/diff/updated"
    diff: str


class PlanStep(Wire, frozen=True):
    step: str
    status: str


class PlanUpdated(InTurn, frozen=True):
    method: ClassVar[str] = "turn/plan/updated"
    plan: list[PlanStep]
    explanation: str | None = None


class UsageUpdated(InTurn, frozen=True):
    method: ClassVar[str] = "thread/tokenUsage/updated"
    token_usage: TokenUsage


class RateLimitsUpdated(DescribedNotification, frozen=True):
    """Limits of the account, not of a thread."""

    method: ClassVar[str] = "account/rateLimits/updated"
    rate_limits: dict[str, object]


class ErrorReported(InTurn, frozen=True):
    method: ClassVar[str] = "error"
    error: Failure
    will_retry: bool = False


class ServerStatusUpdated(DescribedNotification, frozen=True):
    """An MCP server of Codex is starting, ready, failed or cancelled."""

    method: ClassVar[str] = "mcpServer/startupStatus/updated"
    name: str
    status: str
    error: str | None = None


class ThreadSettings(Wire, frozen=True):
    collaboration_mode: CollaborationMode


class SettingsUpdated(DescribedNotification, frozen=True):
    method: ClassVar[str] = "thread/settings/updated"
    thread_settings: ThreadSettings


class RawItemCompleted(InTurn, frozen=True):
    method: ClassVar[str] = "rawResponseItem/completed"
    item: object


class RawResponseCompleted(InTurn, frozen=True):
    method: ClassVar[str] = "rawResponse/completed"
    response_id: str
    usage: TokenCounts | None = None
    usage_metadata: object = None


class Goal(Wire, frozen=True):
    """What a thread works towards, turn after turn, until it is complete, blocked, paused or out of tokens."""

    objective: str = ""
    status: str = ""
    token_budget: int | None = None
    tokens_used: int = 0


class GoalUpdated(DescribedNotification, frozen=True):
    method: ClassVar[str] = "thread/goal/updated"
    goal: Goal


class GoalCleared(DescribedNotification, frozen=True):
    method: ClassVar[str] = "thread/goal/cleared"


class ThreadStarted(DescribedNotification, frozen=True):
    method: ClassVar[str] = "thread/started"
    thread: Thread


class RequestResolved(DescribedNotification, frozen=True):
    """The app-server no longer waits for the answer to its request."""

    method: ClassVar[str] = "serverRequest/resolved"
    request_id: Id


class OtherNotification(Struct, frozen=True):
    """A notification that is not described here, with all its fields."""

    method: str
    params: dict[str, object]

    @property
    def thread_id(self) -> str | None:
        thread_id = self.params.get("threadId")
        return thread_id if isinstance(thread_id, str) else None


AppNotification: TypeAlias = DescribedNotification | OtherNotification

DESCRIBED: Final[dict[str, type[DescribedNotification]]] = {
    kind.method: kind
    for kind in (
        ItemStarted,
        ItemCompleted,
        MessageDelta,
        PlanDelta,
        OutputDelta,
        SummaryDelta,
        ReasoningDelta,
        SummaryPartAdded,
        TerminalInput,
        PatchUpdated,
        TurnStarted,
        TurnCompleted,
        DiffUpdated,
        PlanUpdated,
        UsageUpdated,
        RateLimitsUpdated,
        ErrorReported,
        ServerStatusUpdated,
        SettingsUpdated,
        RawItemCompleted,
        RawResponseCompleted,
        GoalUpdated,
        GoalCleared,
        ThreadStarted,
        RequestResolved,
    )
}

FALLBACKS: Final[dict[str, type[DescribedNotification]]] = {
    kind.method: kind for kind in (OtherItemStarted, OtherItemCompleted)
}
"""For items that are not described, or that cannot be read in full."""
