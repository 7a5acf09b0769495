"""Pure. What `codex app-server` says while a thread works: its notifications, its items and its questions.

Only what the event stream reads is named here; msgspec skips the rest. States and kinds stay plain `str`, so that a
newer Codex with one more of them is still understood; an item type that is not in `Item` fails to decode.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from codex_mcp.wire.app.questions import CommandAction


class Wire(Struct, frozen=True, rename="camel"):
    """camelCase on the wire, snake_case here."""


# ------------------------------------------------------------------------------------------------------------- parts


class ChangeKind(Struct, frozen=True):
    """add, delete or update. (`move_path` is snake_case on this wire, too.)"""

    type: str
    move_path: str | None = None


class FileUpdate(Wire, frozen=True):
    """One file of a patch. `diff` holds the whole content if the file is added or deleted."""

    path: str
    kind: ChangeKind
    diff: str


class Input(Struct, frozen=True):
    """One part of a prompt: text, image, localImage, audio, localAudio, skill or mention."""

    type: str
    text: str = ""
    url: str | None = None
    path: str | None = None
    text_elements: list[object] = []


class Failure(Wire, frozen=True):
    """Why a turn failed, or why the model is asked again."""

    message: str
    codex_error_info: object = None
    additional_details: str | None = None


class Tokens(Wire, frozen=True):
    """What one answer of the model, or all of them together, cost."""

    total_tokens: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    reasoning_output_tokens: int
    cache_write_input_tokens: int = 0


class TokenUsage(Wire, frozen=True):
    """The thread's bill so far, and its last entry."""

    total: Tokens
    last: Tokens
    model_context_window: int | None = None


# ------------------------------------------------------------------------------------------------------------- items


class AnyItem(Wire, frozen=True, tag_field="type"):
    """What every item has. The times are there since 0.166."""

    id: str
    started_at_ms: int | None = None


class UserMessage(AnyItem, frozen=True, tag="userMessage"):
    """A prompt, or what was added to it during the turn."""

    content: list[Input] = []


class AgentMessage(AnyItem, frozen=True, tag="agentMessage"):
    """Something the model said; `text` is empty until it is complete."""

    text: str = ""
    phase: str | None = None
    memory_citation: object = None


class Reasoning(AnyItem, frozen=True, tag="reasoning"):
    """Something the model thought."""

    summary: list[str] = []
    content: list[str] = []


class CommandExecution(AnyItem, frozen=True, tag="commandExecution"):
    """A command: about to be asked for, running, or done."""

    command: str = ""
    cwd: str = ""
    command_actions: list[CommandAction] = []
    process_id: str | None = None
    source: str = "agent"
    status: str = "inProgress"
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class FileChange(AnyItem, frozen=True, tag="fileChange"):
    """A patch."""

    changes: list[FileUpdate] = []
    status: str = "inProgress"


class ToolError(Struct, frozen=True):
    """Why an MCP tool did not answer."""

    message: str


class McpToolCall(AnyItem, frozen=True, tag="mcpToolCall"):
    """A call of a tool of one of Codex's own MCP servers."""

    server: str = ""
    tool: str = ""
    arguments: object = None
    status: str = "inProgress"
    read_only_hint: bool | None = None
    result: dict[str, object] | None = None
    error: ToolError | None = None
    duration_ms: int | None = None


class DynamicToolCall(AnyItem, frozen=True, tag="dynamicToolCall"):
    """A call of a tool that the client of the app-server brought along."""

    tool: str = ""
    namespace: str | None = None
    arguments: object = None
    content_items: list[object] | None = None
    success: bool | None = None
    duration_ms: int | None = None


class AgentState(Struct, frozen=True):
    """How another agent is doing."""

    status: str
    message: str | None = None


class CollabToolCall(AnyItem, frozen=True, tag="collabAgentToolCall"):
    """The model starts, asks, awaits or stops another agent."""

    tool: str = ""
    sender_thread_id: str = ""
    receiver_thread_ids: list[str] = []
    prompt: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    agents_states: dict[str, AgentState] = {}


class WebSearch(AnyItem, frozen=True, tag="webSearch"):
    """A search on the web, done on the model's side."""

    query: str = ""
    action: dict[str, object] | None = None


class ImageView(AnyItem, frozen=True, tag="imageView"):
    """The model looks at a picture on disk."""

    path: str = ""


class ImageGeneration(AnyItem, frozen=True, tag="imageGeneration"):
    """The model made a picture."""

    status: str = ""
    result: str = ""
    revised_prompt: str | None = None
    saved_path: str | None = None


class EnteredReview(AnyItem, frozen=True, tag="enteredReviewMode"):
    """A review began; `review` says of what."""

    review: str = ""


class ExitedReview(AnyItem, frozen=True, tag="exitedReviewMode"):
    """A review ended; `review` is its text."""

    review: str = ""


class ContextCompaction(AnyItem, frozen=True, tag="contextCompaction"):
    """The thread's history was shortened."""


Item: TypeAlias = (
    UserMessage
    | AgentMessage
    | Reasoning
    | CommandExecution
    | FileChange
    | McpToolCall
    | DynamicToolCall
    | CollabToolCall
    | WebSearch
    | ImageView
    | ImageGeneration
    | EnteredReview
    | ExitedReview
    | ContextCompaction
)
