"""Pure. The conversation methods of `codex mcp-server` 0.42.0: their parameters and results.

Names are camelCase in messages, as 0.42.0 had them; unknown fields are ignored. A result leaves out what is not known.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

ApprovalPolicy: TypeAlias = Literal["untrusted", "on-failure", "on-request", "never"]
SandboxMode: TypeAlias = Literal["read-only", "workspace-write", "danger-full-access"]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Summary: TypeAlias = Literal["auto", "concise", "detailed", "none"]

EXEC_APPROVAL: Final = "execCommandApproval"
PATCH_APPROVAL: Final = "applyPatchApproval"
"""Our requests to the client."""


class Params(Struct, frozen=True, rename="camel"):
    pass


class Result(Struct, frozen=True, rename="camel", omit_defaults=True):
    pass


class NoParams(Params, frozen=True):
    pass


class NewConversation(Params, frozen=True):
    """Also the `overrides` of `resumeConversation`."""

    model: str | None = None
    profile: str | None = None
    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    config: dict[str, object] | None = None
    base_instructions: str | None = None
    include_plan_tool: bool | None = None
    include_apply_patch_tool: bool | None = None
    """Ignored: Codex decides by the model."""


class ConversationMade(Result, frozen=True):
    conversation_id: str
    model: str
    rollout_path: str
    reasoning_effort: str | UnsetType = UNSET


class Conversation(Params, frozen=True):
    """`interruptConversation` and `addConversationListener`."""

    conversation_id: str


class SendUserMessage(Params, frozen=True):
    conversation_id: str
    items: list[dict[str, object]]


class SendUserTurn(SendUserMessage, frozen=True):
    cwd: str
    approval_policy: ApprovalPolicy
    sandbox_policy: dict[str, object]
    model: str
    summary: Summary
    effort: Effort | None = None


class Interrupted(Result, frozen=True, omit_defaults=False):
    abort_reason: str = "interrupted"


class Listening(Result, frozen=True):
    subscription_id: str


class Subscription(Params, frozen=True):
    subscription_id: str


class ListConversations(Params, frozen=True):
    page_size: int | None = None
    cursor: str | None = None


class ListedConversation(Result, frozen=True):
    conversation_id: str
    path: str
    preview: str
    timestamp: str | UnsetType = UNSET


class ConversationList(Result, frozen=True):
    items: list[ListedConversation]
    next_cursor: str | UnsetType = UNSET


class ResumeConversation(Params, frozen=True):
    """It names a rollout file or a conversation."""

    path: str | None = None
    conversation_id: str | None = None
    overrides: NewConversation | None = None


class ConversationResumed(Result, frozen=True):
    conversation_id: str
    model: str
    initial_messages: list[dict[str, object]] | UnsetType = UNSET


class ArchiveConversation(Params, frozen=True):
    conversation_id: str
    rollout_path: str


class GetSummary(Params, frozen=True):
    """It names a conversation or a rollout file."""

    conversation_id: str | None = None
    rollout_path: str | None = None


class LoginApiKey(Params, frozen=True):
    api_key: str


class Login(Params, frozen=True):
    login_id: str


class LoginStarted(Result, frozen=True):
    login_id: str
    auth_url: str


class GetAuthStatus(Params, frozen=True):
    include_token: bool | None = None
    refresh_token: bool | None = None


class AuthStatus(Result, frozen=True):
    requires_openai_auth: bool
    auth_method: str | UnsetType = UNSET
    auth_token: str | UnsetType = UNSET


class AuthStatusChange(Result, frozen=True):
    """Two names of one fact: `authMethod` of 0.42.0, and `auth_mode` of its documentation."""

    auth_method: str | UnsetType = UNSET
    auth_mode: str | UnsetType = field(default=UNSET, name="auth_mode")


class LoginComplete(Result, frozen=True):
    """`loginId` is the name of 0.42.0, `login_id` that of its documentation."""

    login_id: str
    same_login_id: str = field(name="login_id")
    success: bool
    error: str | UnsetType = UNSET


class SetDefaultModel(Params, frozen=True):
    """What is absent is deleted."""

    model: str | None = None
    reasoning_effort: Effort | None = None


class UserInfo(Result, frozen=True, omit_defaults=False):
    alleged_user_email: str | None = None


class GitDiffToRemote(Params, frozen=True):
    cwd: str


class GitDiff(Result, frozen=True):
    sha: str
    diff: str


class ExecOneOffCommand(Params, frozen=True):
    command: list[str]
    timeout_ms: int | None = None
    cwd: str | None = None
    sandbox_policy: dict[str, object] | None = None


class Executed(Result, frozen=True):
    exit_code: int
    stdout: str
    stderr: str


class FuzzyFileSearch(Params, frozen=True):
    query: str
    roots: list[str]
    cancellation_token: str | None = None


class FoundFile(Result, frozen=True):
    root: str
    path: str
    score: int
    indices: list[int] | None = None


class FoundFiles(Result, frozen=True, omit_defaults=False):
    files: list[FoundFile] = field(default_factory=list)


class ListenerEvent(Result, frozen=True):
    """The params of `codex/event/TYPE`."""

    id: str
    msg: dict[str, object]
    conversation_id: str


class SandboxPolicy(Struct, frozen=True):
    """snake_case in messages; camelCase is accepted as well."""

    mode: SandboxMode
    writable_roots: tuple[str, ...] = ()
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False
