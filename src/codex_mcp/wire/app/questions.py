"""Pure. The requests with which `codex app-server` asks a person, each described once.

`codex.reading` decodes them. Values that events repeat unchanged are plain JSON here; `OfferedDecision`,
`NetworkContext`, `NetworkAmendment`, `InputQuestion` and `Elicitation` describe their contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from msgspec import Struct, field

from codex_mcp.wire.app.items import CommandAction, Wire

if TYPE_CHECKING:
    from codex_mcp.wire.legacy import LegacyApproval


class NetworkContext(Struct, frozen=True):
    host: str
    protocol: str


class NetworkAmendment(Struct, frozen=True):
    """A lasting rule for one host. `action` is allow or deny."""

    host: str
    action: str


class OfferedRule(Struct, frozen=True):
    execpolicy_amendment: list[str]


class OfferedNetworkRule(Struct, frozen=True):
    network_policy_amendment: NetworkAmendment


class OfferedDecision(Wire, frozen=True):
    """A decision in `available_decisions` that carries data; the others are words."""

    accept_with_execpolicy_amendment: OfferedRule | None = None
    apply_network_policy_amendment: OfferedNetworkRule | None = None


class InputOption(Struct, frozen=True):
    label: str
    description: str


class InputQuestion(Wire, frozen=True):
    id: str
    header: str
    question: str
    is_other: bool = False
    is_secret: bool = False
    options: list[InputOption] | None = None


class Elicitation(Wire, frozen=True):
    """A question of an MCP server that Codex runs. `mode` decides which of the optional fields are present."""

    server_name: str
    mode: str
    message: str = ""
    requested_schema: dict[str, object] | None = None
    url: str | None = None
    elicitation_id: str | None = None
    title: str | None = None
    meta: dict[str, object] | None = field(default=None, name="_meta")


class DescribedQuestion(Wire, frozen=True, kw_only=True):
    method: ClassVar[str]
    thread_id: str


class AboutItem(DescribedQuestion, frozen=True):
    turn_id: str
    item_id: str


class CommandApproval(AboutItem, frozen=True):
    """`kind` is command or writeStdin (input for a running terminal)."""

    method: ClassVar[str] = "item/commandExecution/requestApproval"
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
    additional_permissions: dict[str, object] | None = None
    available_decisions: list[object] | None = None


class FileChangeApproval(AboutItem, frozen=True):
    """The patch itself was sent before, as the item of this id."""

    method: ClassVar[str] = "item/fileChange/requestApproval"
    started_at_ms: int = 0
    reason: str | None = None
    grant_root: str | None = None


class PermissionsApproval(AboutItem, frozen=True):
    method: ClassVar[str] = "item/permissions/requestApproval"
    cwd: str
    permissions: dict[str, object]
    started_at_ms: int = 0
    environment_id: str | None = None
    reason: str | None = None


class UserInputRequest(AboutItem, frozen=True):
    method: ClassVar[str] = "item/tool/requestUserInput"
    questions: list[object]
    is_blocking: bool = True
    auto_resolution_ms: int | None = None


class ToolCallRequest(DescribedQuestion, frozen=True):
    """Codex calls a tool that its client offers."""

    method: ClassVar[str] = "item/tool/call"
    turn_id: str
    call_id: str
    tool: str
    namespace: str | None = None
    arguments: object = None


class ServerElicitation(Struct, frozen=True):
    """An MCP server that Codex runs asks the user. `params` are an `Elicitation`, undecoded."""

    method: ClassVar[str] = "mcpServer/elicitation/request"
    thread_id: str
    params: dict[str, object]

    @property
    def turn_id(self) -> str | None:
        turn_id = self.params.get("turnId")
        return turn_id if isinstance(turn_id, str) else None


class UnreadableQuestion(Struct, frozen=True):
    """A request that cannot be understood and must be refused, and why."""

    method: str
    why: str
    thread_id: str = ""


AppQuestion: TypeAlias = DescribedQuestion | ServerElicitation | UnreadableQuestion

Asked: TypeAlias = "AppQuestion | LegacyApproval"
"""A question of either core."""

DESCRIBED: Final[dict[str, type[DescribedQuestion]]] = {
    kind.method: kind
    for kind in (CommandApproval, FileChangeApproval, PermissionsApproval, UserInputRequest, ToolCallRequest)
}


def malformed(method: str, error: Exception, thread_id: str) -> UnreadableQuestion:
    return UnreadableQuestion(method, f"cannot ask the user: {method} is malformed: {error}", thread_id)


def unknown(method: str, thread_id: str) -> UnreadableQuestion:
    return UnreadableQuestion(method, f"cannot ask the user: {method} is not a question that we know", thread_id)
