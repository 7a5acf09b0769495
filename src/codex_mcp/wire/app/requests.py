"""Pure. Our requests to `codex app-server`, and the fields of its answers that are read.

Field names are camelCase in messages. Both sides ignore unknown fields, so either may be newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.app.items import Turn


class ClientInfo(Struct, frozen=True, rename="camel"):
    """Codex reports the name to the model provider and writes it into each thread."""

    name: str
    title: str
    version: str


class ClientCapabilities(Struct, frozen=True, rename="camel"):
    """`experimental_api` enables raw events, background terminals and environments."""

    experimental_api: bool = True
    request_attestation: bool = False
    opt_out_notification_methods: tuple[str, ...] = ()


class Initialize(Struct, frozen=True, rename="camel"):
    client_info: ClientInfo
    capabilities: ClientCapabilities


class Initialized(Struct, frozen=True, rename="camel"):
    user_agent: str = ""
    codex_home: str = ""


class ThreadSetup(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    cwd: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    approval_policy: str | UnsetType = UNSET
    sandbox: str | UnsetType = UNSET
    base_instructions: str | UnsetType = UNSET
    developer_instructions: str | UnsetType = UNSET
    config: dict[str, object] | UnsetType = UNSET


class ThreadStart(ThreadSetup, frozen=True, kw_only=True):
    environments: list[Environment] | UnsetType = UNSET
    experimental_raw_events: bool = False
    dynamic_tools: tuple[Mapping[str, object], ...] = ()


class ConfigRead(Struct, frozen=True, rename="camel"):
    """Asks for the configuration as it applies to a folder."""

    cwd: str | UnsetType = UNSET
    include_layers: bool = True


class LayerName(Struct, frozen=True, rename="camel"):
    type: str = ""
    """`user`, `system`, `project`, `sessionFlags` (the command line) and others."""


class ConfigLayer(Struct, frozen=True, rename="camel"):
    """A file or a command line that is part of the configuration."""

    name: LayerName = LayerName()
    config: dict[str, object] = {}
    disabled_reason: str | None = None
    """Set if Codex ignores the layer."""


class Configuration(Struct, frozen=True, rename="camel"):
    """The answer to `config/read`."""

    config: dict[str, object] = {}
    """All layers together."""
    layers: list[ConfigLayer] | None = None
    """The highest first."""


class ThreadSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    thread_id: str
    sandbox_policy: dict[str, object] | UnsetType = UNSET
    permissions: str | UnsetType = UNSET


class Environment(Struct, frozen=True, rename="camel"):
    environment_id: str
    cwd: str


class AddEnvironment(Struct, frozen=True, rename="camel", omit_defaults=True):
    environment_id: str
    exec_server_url: str
    auth_bearer_token: str | UnsetType = UNSET


class EnvironmentId(Struct, frozen=True, rename="camel"):
    environment_id: str


class ThreadResume(ThreadSetup, frozen=True):
    thread_id: str
    exclude_turns: bool


class ThreadFork(ThreadSetup, frozen=True):
    thread_id: str
    exclude_turns: bool
    before_turn_id: str | UnsetType = UNSET


class ThreadRevert(Struct, frozen=True, rename="camel"):
    thread_id: str
    before_turn_id: str
    """This turn and all later ones are dropped."""


class SetGoal(Struct, frozen=True, rename="camel"):
    thread_id: str
    status: str | UnsetType = UNSET
    objective: str | UnsetType = UNSET
    token_budget: int | UnsetType = UNSET


class ThreadId(Struct, frozen=True, rename="camel"):
    """`thread/unsubscribe` and `thread/backgroundTerminals/clean`."""

    thread_id: str


class Thread(Struct, frozen=True, rename="camel"):
    """In the answer that opens a thread and in `thread/started`."""

    id: str
    session_id: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    path: str | None = None
    """The rollout file."""


class Sandbox(Struct, frozen=True, rename="camel"):
    """readOnly, workspaceWrite, dangerFullAccess or externalSandbox, with the fields of each."""

    type: str
    writable_roots: list[str] = []
    network_access: bool | str = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class CollaborationMode(Struct, frozen=True, rename="camel"):
    mode: str


class ThreadOpened(Struct, frozen=True, rename="camel"):
    """The answer to `thread/start` and `thread/resume`."""

    thread: Thread
    cwd: str = ""
    model: str = ""
    model_provider: str = ""
    approval_policy: object = None
    approvals_reviewer: str = ""
    sandbox: Sandbox | None = None
    reasoning_effort: str | None = None
    service_tier: str | None = None
    collaboration_mode: CollaborationMode | None = None


class ThreadFile(Struct, frozen=True):
    id: str
    path: str | None = None


class ThreadLocation(Struct, frozen=True):
    """The part of `ThreadOpened` without which a thread cannot be used."""

    thread: ThreadFile
    cwd: str = ""


class RolloutLine(Struct, frozen=True):
    type: str
    payload: Raw = Raw(b"null")


class RolloutTokens(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class RolloutUsage(Struct, frozen=True):
    total_token_usage: RolloutTokens


class TokenCount(Struct, frozen=True):
    """The payload of an event of a rollout file; other events have no `info`."""

    info: RolloutUsage | None = None


class WorkspacePolicy(Struct, frozen=True):
    """The sandbox policy of a turn in a rollout file. All fields but `type` belong to `workspace-write`."""

    type: str
    writable_roots: tuple[str, ...] = ()
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class TurnContext(Struct, frozen=True):
    """The settings of a turn: a line of type `turn_context` in a rollout file."""

    sandbox_policy: Raw = Raw(b"null")
    active_permission_profile: dict[str, object] | None = None


class TextInput(Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageInput(Struct, frozen=True, tag_field="type", tag="image"):
    url: str


class LocalImageInput(Struct, frozen=True, tag_field="type", tag="localImage"):
    path: str


class TurnStart(Struct, frozen=True, rename="camel", omit_defaults=True):
    thread_id: str
    input: list[TextInput | ImageInput | LocalImageInput]
    output_schema: dict[str, object] | UnsetType = UNSET
    environments: list[Environment] | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    approval_policy: str | UnsetType = UNSET
    sandbox_policy: dict[str, object] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    effort: str | UnsetType = UNSET
    client_user_message_id: str | UnsetType = UNSET


class UncommittedChanges(Struct, frozen=True, rename="camel", tag_field="type", tag="uncommittedChanges"):
    """Staged, unstaged and untracked changes."""


class BaseBranch(Struct, frozen=True, rename="camel", tag_field="type", tag="baseBranch"):
    """The changes since this branch."""

    branch: str


class Commit(Struct, frozen=True, rename="camel", tag_field="type", tag="commit", omit_defaults=True):
    sha: str
    title: str | UnsetType = UNSET


class Instructions(Struct, frozen=True, rename="camel", tag_field="type", tag="custom"):
    """What the reviewer is asked to look at, in words."""

    instructions: str


ReviewTarget: TypeAlias = UncommittedChanges | BaseBranch | Commit | Instructions


class ReviewStart(Struct, frozen=True, rename="camel"):
    thread_id: str
    target: ReviewTarget
    delivery: str = "inline"
    """The review is a turn of this thread, not of a new one."""


class TurnStartResponse(Struct, frozen=True, rename="camel"):
    turn: Turn


class TurnInterrupt(Struct, frozen=True, rename="camel"):
    thread_id: str
    turn_id: str


class TurnSteer(Struct, frozen=True, rename="camel", omit_defaults=True):
    thread_id: str
    expected_turn_id: str
    input: list[TextInput | ImageInput | LocalImageInput]
    client_user_message_id: str | UnsetType = UNSET
    """The item of the message carries it as `clientId`."""


class InjectItems(Struct, frozen=True, rename="camel"):
    thread_id: str
    items: list[dict[str, object]]


class TerminateTerminal(Struct, frozen=True, rename="camel"):
    thread_id: str
    process_id: str


class Terminal(Struct, frozen=True, rename="camel"):
    """A running command: its item, and its number for `TerminateTerminal`."""

    item_id: str
    process_id: str


class Terminals(Struct, frozen=True, rename="camel"):
    data: list[Terminal]


class AccountRead(Struct, frozen=True, rename="camel"):
    refresh_token: bool = False


class Account(Struct, frozen=True, rename="camel"):
    account: object = None
    requires_openai_auth: bool = False
