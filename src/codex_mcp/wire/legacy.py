"""Pure. The messages of an old `codex mcp-server` (0.103 to 0.153): events, questions, answers, its list of tools.

Only fields that are read are described; unknown fields are ignored, since they differ between releases.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from codex_mcp.wire.jsonrpc import Id


class ServerInfo(Struct, frozen=True):
    version: str = ""
    user_agent: str = ""


class Initialized(Struct, frozen=True, rename="camel"):
    server_info: ServerInfo = ServerInfo()


class InputSchema(Struct, frozen=True):
    """JSON schemas by argument name."""

    properties: dict[str, dict[str, object]] = field(default_factory=dict)


class Tool(Struct, frozen=True, rename="camel"):
    name: str
    input_schema: InputSchema = InputSchema()


class Tools(Struct, frozen=True):
    tools: list[Tool] = field(default_factory=list)


class Content(Struct, frozen=True):
    text: str = ""


class CallResult(Struct, frozen=True, rename="camel"):
    content: list[Content] = field(default_factory=list)
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.content)


class EventMeta(Struct, frozen=True, rename="camel"):
    """The call that read the event, which need not be the one that caused it, and the thread."""

    request_id: Id | None = None
    thread_id: str | None = None


class EventNote(Struct, frozen=True):
    msg: dict[str, object]
    """An `EventMsg`, undecoded because it is also passed on."""
    id: str = ""
    """The id of the turn; "" outside of a turn."""
    meta: EventMeta = field(default_factory=EventMeta, name="_meta")


class TokenCounts(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class TokenInfo(Struct, frozen=True):
    total_token_usage: TokenCounts


class ErrorInfo(Struct, frozen=True):
    message: str = ""


class Invocation(Struct, frozen=True):
    server: str = ""
    tool: str = ""


class EventMsg(Struct, frozen=True):
    """The `msg` of an event: the fields of all types that affect a turn."""

    type: str
    turn_id: str | None = None
    session_id: str | None = None
    message: str = ""
    additional_details: str | None = None
    item_id: str = ""
    delta: str = ""
    call_id: str = ""
    command: list[str] = field(default_factory=list)
    process_id: str | None = None
    changes: dict[str, dict[str, object]] = field(default_factory=dict)
    success: bool = False
    invocation: Invocation = Invocation()
    error: ErrorInfo | None = None
    last_agent_message: str | None = None
    info: TokenInfo | None = None


class Elicitation(Struct, frozen=True):
    """The parameters of `elicitation/create`. `codex_elicitation` is exec-approval or patch-approval."""

    codex_elicitation: str
    thread_id: str | None = field(default=None, name="threadId")
    codex_event_id: str = ""
    codex_call_id: str = ""
    codex_command: list[str] = field(default_factory=list)
    codex_cwd: str = ""
    codex_parsed_cmd: list[dict[str, object]] = field(default_factory=list)
    codex_changes: dict[str, object] = field(default_factory=dict)
    codex_reason: str | None = None
    codex_grant_root: str | None = None


class Announcement(Struct, frozen=True):
    """The event exec_approval_request, which has more details than the question that follows it."""

    reason: str | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    available_decisions: list[object] | None = None


class LegacyApproval(Struct, frozen=True):
    """A question, with the details of the event that announced it."""

    method: ClassVar[str] = "elicitation/create"
    elicitation: Elicitation
    announced: Announcement = Announcement()

    @property
    def thread_id(self) -> str:
        return self.elicitation.thread_id or ""
