"""Pure. The MCP messages that the client decodes: only what is shown or judged."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct


class Change(Struct, frozen=True):
    """What happens to one file: an `update` has a diff, an `add` or a `delete` the file's content."""

    type: str
    unified_diff: str = ""
    content: str = ""

    @property
    def lines(self) -> list[str]:
        if self.unified_diff:
            return self.unified_diff.splitlines()
        sign = "-" if self.type == "delete" else "+"
        return [sign + line for line in self.content.splitlines()]


class Duration(Struct, frozen=True):
    secs: int
    nanos: int


class AgentMessage(Struct, frozen=True):
    message: str


class AgentReasoning(Struct, frozen=True):
    text: str


class MessageDelta(Struct, frozen=True):
    item_id: str
    delta: str


class ReasoningDelta(Struct, frozen=True):
    item_id: str
    delta: str


class CommandEnded(Struct, frozen=True):
    command: list[str]
    aggregated_output: str
    exit_code: int
    duration: Duration

    @property
    def seconds(self) -> float:
        return self.duration.secs + self.duration.nanos / 1e9

    @property
    def line(self) -> str:
        """The command as typed, without the `bash -lc` that Codex adds."""
        match self.command:
            case [_, "-lc" | "-c", line]:
                return line
            case _:
                return " ".join(self.command)


class PatchEnded(Struct, frozen=True):
    success: bool
    changes: dict[str, Change]


class Warned(Struct, frozen=True):
    message: str


Event: TypeAlias = AgentMessage | AgentReasoning | MessageDelta | ReasoningDelta | CommandEnded | PatchEnded | Warned

EVENTS: Final[dict[str, type[Event]]] = {
    "agent_message": AgentMessage,
    "agent_reasoning": AgentReasoning,
    "agent_message_content_delta": MessageDelta,
    "reasoning_content_delta": ReasoningDelta,
    "exec_command_end": CommandEnded,
    "patch_apply_end": PatchEnded,
    "warning": Warned,
    "stream_error": Warned,
    "error": Warned,
}
"""The events that are shown, by their type."""


class _EventParams(Struct, frozen=True):
    msg: Raw


class _EventType(Struct, frozen=True):
    type: str


def event_from(params: Raw) -> Event | None:
    """The event of a `codex/event`; None if it is not shown."""
    try:
        return event_of(msgspec.json.decode(params, type=_EventParams).msg)
    except msgspec.DecodeError:
        return None


def event_of(msg: Raw) -> Event | None:
    """The same, of its `msg`."""
    try:
        kind = EVENTS.get(msgspec.json.decode(msg, type=_EventType).type)
        return None if kind is None else msgspec.json.decode(msg, type=kind)
    except msgspec.DecodeError:
        return None


class Question(Struct, frozen=True):
    """`elicitation/create`: Codex asks before it does something."""

    message: str
    codex_changes: dict[str, Change] = {}


class Usage(Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class FileChanged(Struct, frozen=True):
    path: str
    kind: str


class TurnResult(Struct, frozen=True, rename="camel"):
    """What the tool `codex` returns."""

    thread_id: str
    content: str
    usage: Usage = Usage()
    files_changed: list[FileChanged] = []
    duration_seconds: float = 0


class TextPart(Struct, frozen=True):
    text: str = ""


class ToolResult(Struct, frozen=True, rename="camel"):
    content: list[TextPart] = []
    structured_content: TurnResult | None = None
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content)


class ServerInfo(Struct, frozen=True):
    version: str


class Greeting(Struct, frozen=True, rename="camel"):
    """The result of `initialize`."""

    server_info: ServerInfo


class Decision(Struct, frozen=True):
    approved: bool
    reason: str = ""

    def wire(self) -> dict[str, object]:
        if self.approved:
            return {"action": "accept", "content": {"decision": "approved"}}
        if self.reason:
            return {"action": "accept", "content": {"decision": "denied", "reason": self.reason}}
        return {"action": "decline"}
