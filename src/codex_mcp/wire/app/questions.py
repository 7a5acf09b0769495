"""Pure. The requests in which the app-server asks for a person: their parameters as they come, nothing decided.

Only what we show or answer is decoded; unknown fields are ignored, so that a newer Codex stays readable.
The decisions inside `availableDecisions` are either a word or one of the two objects of `OfferedDecision`.
"""

import msgspec


class CommandAction(msgspec.Struct, frozen=True):
    """What Codex believes a piece of the command does. `type` is read, listFiles, search or unknown."""

    type: str
    command: str
    name: str | None = None
    path: str | None = None
    query: str | None = None


class NetworkContext(msgspec.Struct, frozen=True):
    """The host a command wants to reach."""

    host: str
    protocol: str


class NetworkAmendment(msgspec.Struct, frozen=True):
    """A lasting rule for one host. `action` is allow or deny."""

    host: str
    action: str


class OfferedRule(msgspec.Struct, frozen=True):
    """The inside of acceptWithExecpolicyAmendment."""

    execpolicy_amendment: list[str]


class OfferedNetworkRule(msgspec.Struct, frozen=True):
    """The inside of applyNetworkPolicyAmendment."""

    network_policy_amendment: NetworkAmendment


class OfferedDecision(msgspec.Struct, frozen=True, rename="camel"):
    """A decision of `availableDecisions` that carries data."""

    accept_with_execpolicy_amendment: OfferedRule | None = None
    apply_network_policy_amendment: OfferedNetworkRule | None = None


class CommandApproval(msgspec.Struct, frozen=True, rename="camel"):
    """item/commandExecution/requestApproval. `kind` is command or writeStdin (input for a running terminal)."""

    thread_id: str
    turn_id: str
    item_id: str
    kind: str = "command"
    environment_id: str | None = None
    reason: str | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: list[CommandAction] | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    proposed_network_policy_amendments: list[NetworkAmendment] | None = None
    network_approval_context: NetworkContext | None = None
    additional_permissions: dict[str, object] | None = None
    available_decisions: list[str | OfferedDecision] | None = None


class FileChangeApproval(msgspec.Struct, frozen=True, rename="camel"):
    """item/fileChange/requestApproval. The patch itself came earlier, as the item of this id."""

    thread_id: str
    turn_id: str
    item_id: str
    reason: str | None = None
    grant_root: str | None = None


class PermissionsApproval(msgspec.Struct, frozen=True, rename="camel"):
    """item/permissions/requestApproval."""

    thread_id: str
    turn_id: str
    item_id: str
    cwd: str
    permissions: dict[str, object]
    reason: str | None = None


class InputOption(msgspec.Struct, frozen=True):
    """One answer to choose."""

    label: str
    description: str


class InputQuestion(msgspec.Struct, frozen=True, rename="camel"):
    """One question of the model to the user."""

    id: str
    header: str
    question: str
    is_other: bool = False
    is_secret: bool = False
    options: list[InputOption] | None = None


class UserInputRequest(msgspec.Struct, frozen=True, rename="camel"):
    """item/tool/requestUserInput."""

    thread_id: str
    turn_id: str
    item_id: str
    questions: list[InputQuestion]
    is_blocking: bool = True


class ServerElicitation(msgspec.Struct, frozen=True, rename="camel"):
    """mcpServer/elicitation/request. `mode` says which of the optional fields are there."""

    thread_id: str
    server_name: str
    mode: str
    turn_id: str | None = None
    message: str = ""
    requested_schema: dict[str, object] | None = None
    url: str | None = None
    elicitation_id: str | None = None
    title: str | None = None
    meta: dict[str, object] | None = msgspec.field(default=None, name="_meta")


class OldElicitation(msgspec.Struct, frozen=True):
    """elicitation/create of an old `codex mcp-server`. `codex_elicitation` is exec-approval or patch-approval."""

    codex_elicitation: str
    thread_id: str | None = msgspec.field(default=None, name="threadId")
    codex_mcp_tool_call_id: str = ""
    codex_event_id: str = ""
    codex_call_id: str = ""
    codex_command: list[str] = msgspec.field(default_factory=list)
    codex_cwd: str = ""
    codex_parsed_cmd: list[dict[str, object]] = msgspec.field(default_factory=list)
    codex_changes: dict[str, object] = msgspec.field(default_factory=dict)
    codex_reason: str | None = None
    codex_grant_root: str | None = None


class OldAnnouncement(msgspec.Struct, frozen=True):
    """Its event exec_approval_request, which says more than the question that follows it."""

    call_id: str = ""
    reason: str | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    available_decisions: list[object] | None = None


class OldQuestion(msgspec.Struct, frozen=True):
    """A question, with the event that announced it if there was one."""

    elicitation: OldElicitation
    announced: OldAnnouncement | None = None
