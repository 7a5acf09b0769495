"""Pure. The parameters of the app-server's notifications and questions, around the items of `app_items`."""

from __future__ import annotations

from msgspec import field

from codex_mcp.wire.app.items import Failure, FileUpdate, Item, Tokens, TokenUsage, Wire
from codex_mcp.wire.app.questions import CommandAction

# ----------------------------------------------------------------------------------------------------- notifications


class InTurn(Wire, frozen=True):
    """Anything that says which turn it belongs to."""

    turn_id: str


class ItemStarted(InTurn, frozen=True):
    """item/started"""

    item: Item
    started_at_ms: int = 0


class ItemCompleted(InTurn, frozen=True):
    """item/completed"""

    item: Item
    completed_at_ms: int = 0


class Delta(InTurn, frozen=True):
    """item/…/delta: the hot path, so nothing is read that is not sent on."""

    thread_id: str
    item_id: str
    delta: str


class SummaryDelta(Delta, frozen=True):
    """item/reasoning/summaryTextDelta"""

    summary_index: int = 0


class ContentDelta(Delta, frozen=True):
    """item/reasoning/textDelta"""

    content_index: int = 0


class SummaryPart(InTurn, frozen=True):
    """item/reasoning/summaryPartAdded"""

    item_id: str
    summary_index: int = 0


class TerminalInput(InTurn, frozen=True):
    """item/commandExecution/terminalInteraction"""

    item_id: str
    process_id: str
    stdin: str


class PatchUpdated(InTurn, frozen=True):
    """item/fileChange/patchUpdated"""

    item_id: str
    changes: list[FileUpdate]


class Turn(Wire, frozen=True):
    """One turn. Times are in seconds since 1970."""

    id: str
    status: str = "inProgress"
    error: Failure | None = None
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None


class TurnNote(Wire, frozen=True):
    """turn/started and turn/completed"""

    turn: Turn


class DiffUpdated(InTurn, frozen=True):
    """turn/diff/updated"""

    diff: str


class PlanStep(Wire, frozen=True):
    """One line of the plan."""

    step: str
    status: str


class PlanUpdated(InTurn, frozen=True):
    """turn/plan/updated"""

    plan: list[PlanStep]
    explanation: str | None = None


class UsageUpdated(InTurn, frozen=True):
    """thread/tokenUsage/updated"""

    token_usage: TokenUsage


class RateLimits(Wire, frozen=True):
    """account/rateLimits/updated: of the account, not of a thread"""

    rate_limits: dict[str, object]


class ErrorNote(InTurn, frozen=True):
    """error"""

    error: Failure
    will_retry: bool = False


class ServerStatus(Wire, frozen=True):
    """mcpServer/startupStatus/updated; status is starting, ready, failed or cancelled"""

    name: str
    status: str
    error: str | None = None


class CollaborationMode(Wire, frozen=True):
    """plan or default"""

    mode: str


class Settings(Wire, frozen=True):
    """What of a thread's settings the events show."""

    collaboration_mode: CollaborationMode


class SettingsUpdated(Wire, frozen=True):
    """thread/settings/updated"""

    thread_settings: Settings


class RawItem(InTurn, frozen=True):
    """rawResponseItem/completed"""

    item: object


class RawCompleted(InTurn, frozen=True):
    """rawResponse/completed"""

    response_id: str
    usage: Tokens | None = None
    usage_metadata: object = None


# -------------------------------------------------------------------------------------------------- an opened thread


class ThreadInfo(Wire, frozen=True):
    """The thread inside the answer to thread/start and thread/resume."""

    id: str
    session_id: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    path: str | None = None


class Sandbox(Wire, frozen=True):
    """readOnly, workspaceWrite, dangerFullAccess or externalSandbox, with what each can say."""

    type: str
    writable_roots: list[str] = field(default_factory=list)
    network_access: bool | str = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class ThreadOpened(Wire, frozen=True):
    """The answer to thread/start and thread/resume."""

    thread: ThreadInfo
    model: str
    model_provider: str
    cwd: str
    approval_policy: object
    approvals_reviewer: str
    sandbox: Sandbox
    reasoning_effort: str | None = None
    service_tier: str | None = None
    collaboration_mode: CollaborationMode | None = None


# --------------------------------------------------------------------------------------------------------- questions


class CommandAsked(InTurn, frozen=True):
    """item/commandExecution/requestApproval"""

    item_id: str
    started_at_ms: int = 0
    kind: str = "command"
    approval_id: str | None = None
    environment_id: str | None = None
    reason: str | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: list[CommandAction] | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    proposed_network_policy_amendments: list[object] | None = None
    network_approval_context: object = None
    additional_permissions: object = None
    available_decisions: list[object] | None = None


class AboutItem(Wire, frozen=True):
    """Any message about one item."""

    item_id: str


class PatchAsked(InTurn, frozen=True):
    """item/fileChange/requestApproval; the patch itself is in the item"""

    item_id: str
    started_at_ms: int = 0
    reason: str | None = None
    grant_root: str | None = None


class PermissionsAsked(InTurn, frozen=True):
    """item/permissions/requestApproval"""

    item_id: str
    permissions: object
    started_at_ms: int = 0
    environment_id: str | None = None
    reason: str | None = None
    cwd: str | None = None


class InputAsked(InTurn, frozen=True):
    """item/tool/requestUserInput"""

    item_id: str
    questions: list[object]
    is_blocking: bool = True
    auto_resolution_ms: int | None = None


class ToolAsked(InTurn, frozen=True):
    """item/tool/call: a tool that we brought along is called"""

    call_id: str
    tool: str
    namespace: str | None = None
    arguments: object = None
