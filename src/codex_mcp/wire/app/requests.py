"""Pure. The requests that we send to `codex app-server` and the parts of its answers that we read.

Field names are camelCase in messages. Unknown fields are ignored, by us and by the app-server, so either may be newer.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.app.items import Turn


class ClientInfo(Struct, frozen=True, rename="camel"):
    """Who we say we are; Codex reports the name to the model provider and writes it into each thread."""

    name: str
    title: str
    version: str


class ClientCapabilities(Struct, frozen=True, rename="camel"):
    """`experimentalApi` unlocks raw events, background terminals and environments; what is opted out is not sent."""

    experimental_api: bool = True
    request_attestation: bool = False
    opt_out_notification_methods: tuple[str, ...] = ()


class Initialize(Struct, frozen=True, rename="camel"):
    """`initialize`."""

    client_info: ClientInfo
    capabilities: ClientCapabilities


class Initialized(Struct, frozen=True, rename="camel"):
    """The answer to `initialize`."""

    user_agent: str = ""
    codex_home: str = ""


class ThreadStart(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`thread/start`."""

    cwd: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    approval_policy: str | UnsetType = UNSET
    sandbox: str | UnsetType = UNSET
    base_instructions: str | UnsetType = UNSET
    developer_instructions: str | UnsetType = UNSET
    config: dict[str, object] | UnsetType = UNSET
    environments: list[Environment] | UnsetType = UNSET
    experimental_raw_events: bool = False


class ConfigRead(Struct, frozen=True, rename="camel"):
    """`config/read`: Codex's configuration as it applies to a folder."""

    cwd: str | UnsetType = UNSET
    include_layers: bool = True


class LayerName(Struct, frozen=True, rename="camel"):
    """Where a layer of the configuration comes from."""

    type: str = ""
    """`user`, `system`, `project`, `sessionFlags` (the command line) and others."""


class ConfigLayer(Struct, frozen=True, rename="camel"):
    """One file or command line that is part of the configuration."""

    name: LayerName = LayerName()
    config: dict[str, object] = {}
    disabled_reason: str | None = None
    """Why Codex ignores it, if it does."""


class Configuration(Struct, frozen=True, rename="camel"):
    """The answer to `config/read`."""

    config: dict[str, object] = {}
    """All layers together."""
    layers: list[ConfigLayer] | None = None
    """The highest first."""


class ThreadSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`thread/settings/update`."""

    thread_id: str
    sandbox_policy: dict[str, object] | UnsetType = UNSET
    permissions: str | UnsetType = UNSET


class Environment(Struct, frozen=True, rename="camel"):
    """A place where the commands of a thread run."""

    environment_id: str
    cwd: str


class AddEnvironment(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`environment/add`."""

    environment_id: str
    exec_server_url: str
    auth_bearer_token: str | UnsetType = UNSET


class EnvironmentId(Struct, frozen=True, rename="camel"):
    """`environment/info`."""

    environment_id: str


class ThreadResume(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`thread/resume`."""

    thread_id: str
    exclude_turns: bool
    cwd: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    approval_policy: str | UnsetType = UNSET
    sandbox: str | UnsetType = UNSET
    base_instructions: str | UnsetType = UNSET
    developer_instructions: str | UnsetType = UNSET
    config: dict[str, object] | UnsetType = UNSET


class ThreadId(Struct, frozen=True, rename="camel"):
    """`thread/unsubscribe` and `thread/backgroundTerminals/clean`."""

    thread_id: str


class Thread(Struct, frozen=True, rename="camel"):
    """A thread, in the answer that opens it and in `thread/started`."""

    id: str
    session_id: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    path: str | None = None
    """Its rollout file."""


class Sandbox(Struct, frozen=True, rename="camel"):
    """readOnly, workspaceWrite, dangerFullAccess or externalSandbox, with the fields of each."""

    type: str
    writable_roots: list[str] = []
    network_access: bool | str = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class CollaborationMode(Struct, frozen=True, rename="camel"):
    """plan or default"""

    mode: str


class ThreadOpened(Struct, frozen=True, rename="camel"):
    """The answer to `thread/start` and `thread/resume`. All but the thread is there for the events."""

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
    """A line of a thread's rollout file."""

    type: str
    payload: Raw = Raw(b"null")


class WorkspacePolicy(Struct, frozen=True):
    """The sandbox policy of a turn, as a rollout file has it. All but `type` is about `workspace-write`."""

    type: str
    writable_roots: tuple[str, ...] = ()
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class TurnContext(Struct, frozen=True):
    """What a rollout file says of how a turn was set up: a line of type `turn_context`."""

    sandbox_policy: Raw = Raw(b"null")
    active_permission_profile: dict[str, object] | None = None


class TextInput(Struct, frozen=True, tag_field="type", tag="text"):
    """A part of a prompt: text."""

    text: str


class ImageInput(Struct, frozen=True, tag_field="type", tag="image"):
    """A part of a prompt: an image by URL."""

    url: str


class LocalImageInput(Struct, frozen=True, tag_field="type", tag="localImage"):
    """A part of a prompt: an image file."""

    path: str


class TurnStart(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`turn/start`."""

    thread_id: str
    input: list[TextInput | ImageInput | LocalImageInput]
    output_schema: dict[str, object] | UnsetType = UNSET
    environments: list[Environment] | UnsetType = UNSET


class TurnStartResponse(Struct, frozen=True, rename="camel"):
    """The answer to `turn/start`."""

    turn: Turn


class TurnInterrupt(Struct, frozen=True, rename="camel"):
    """`turn/interrupt`."""

    thread_id: str
    turn_id: str


class InjectItems(Struct, frozen=True, rename="camel"):
    """`thread/inject_items`."""

    thread_id: str
    items: list[dict[str, object]]


class TerminateTerminal(Struct, frozen=True, rename="camel"):
    """`thread/backgroundTerminals/terminate`."""

    thread_id: str
    process_id: str


class Terminal(Struct, frozen=True, rename="camel"):
    """A command that runs: the item that tells of it, and its number for `terminate`."""

    item_id: str
    process_id: str


class Terminals(Struct, frozen=True, rename="camel"):
    """The answer to `thread/backgroundTerminals/list`."""

    data: list[Terminal]


class AccountRead(Struct, frozen=True, rename="camel"):
    """`account/read`."""

    refresh_token: bool = False


class Account(Struct, frozen=True, rename="camel"):
    """The answer to `account/read`."""

    account: object = None
    requires_openai_auth: bool = False
