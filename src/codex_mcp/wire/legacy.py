"""Pure. What an old `codex mcp-server` (0.103 to 0.153) sends: events, questions, answers, its list of tools.

Only what is read is described; unknown fields are ignored, since fifty releases differ in them.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from codex_mcp.wire.jsonrpc import Id


class ServerInfo(Struct, frozen=True):
    """Who answered `initialize`."""

    version: str = ""
    user_agent: str = ""


class Initialized(Struct, frozen=True, rename="camel"):
    """The answer to `initialize`."""

    server_info: ServerInfo = ServerInfo()


class InputSchema(Struct, frozen=True):
    """What a tool takes: JSON schemas by the names of its arguments."""

    properties: dict[str, dict[str, object]] = field(default_factory=dict)


class Tool(Struct, frozen=True, rename="camel"):
    """One tool."""

    name: str
    input_schema: InputSchema = InputSchema()


class Tools(Struct, frozen=True):
    """The answer to `tools/list`."""

    tools: list[Tool] = field(default_factory=list)


class Content(Struct, frozen=True):
    """A piece of an answer."""

    text: str = ""


class CallResult(Struct, frozen=True, rename="camel"):
    """The answer to `tools/call`."""

    content: list[Content] = field(default_factory=list)
    is_error: bool = False

    @property
    def text(self) -> str:
        """All that it says."""
        return "\n".join(piece.text for piece in self.content)


class EventMeta(Struct, frozen=True, rename="camel"):
    """To what an event belongs: the call that read it (which need not be the one that caused it), and the thread."""

    request_id: Id | None = None
    thread_id: str | None = None


class EventNote(Struct, frozen=True):
    """The parameters of `codex/event`."""

    msg: dict[str, object]
    """An `EventMsg`; it is also passed on as it came."""
    id: str = ""
    """Of the turn; "" outside of one."""
    meta: EventMeta = field(default_factory=EventMeta, name="_meta")


class TokenCounts(Struct, frozen=True):
    """What was used up."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class TokenInfo(Struct, frozen=True):
    """The `info` of a token_count."""

    total_token_usage: TokenCounts


class ErrorInfo(Struct, frozen=True):
    """Why a turn failed."""

    message: str = ""


class Invocation(Struct, frozen=True):
    """Which tool of which server."""

    server: str = ""
    tool: str = ""


class EventMsg(Struct, frozen=True):
    """The `msg` of an event: the fields of all types that decide something."""

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
    """The event exec_approval_request, which says more than the question that follows it."""

    reason: str | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    available_decisions: list[object] | None = None


class LegacyApproval(Struct, frozen=True):
    """A question, with what the event before it announced."""

    method: ClassVar[str] = "elicitation/create"
    elicitation: Elicitation
    announced: Announcement = Announcement()

    @property
    def thread_id(self) -> str:
        return self.elicitation.thread_id or ""
