"""Pure. The items of a thread, and the parts that several messages of `codex app-server` share.

Only fields that are read or passed on are named; msgspec skips the rest. States and kinds are plain `str`, so that new
values of a newer Codex are accepted; fields that are only passed on are `object`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

UNREADABLE: Final = (ValueError, RecursionError)
"""The errors of decoding: msgspec's and those of bad UTF-8 are ValueErrors; deep nesting is a RecursionError."""


class Wire(Struct, frozen=True, rename="camel"):
    """camelCase in messages, snake_case here."""


class ChangeKind(Struct, frozen=True):
    """`type` is add, delete or update. `move_path` is snake_case in messages, too."""

    type: str = "update"
    move_path: str | None = None


class FileUpdate(Wire, frozen=True):
    """One file of a patch. `diff` is the whole content of a file that is added or deleted."""

    path: str
    kind: ChangeKind
    diff: str = ""


class CommandAction(Struct, frozen=True):
    """Codex's reading of a part of the command. `type` is read, listFiles, search or unknown."""

    type: str
    command: str
    name: str | None = None
    path: str | None = None
    query: str | None = None


class Input(Struct, frozen=True):
    """One part of a prompt: text, image, localImage, audio, localAudio, skill or mention."""

    type: str
    text: str = ""
    url: str | None = None
    path: str | None = None
    text_elements: list[object] = []


class Failure(Wire, frozen=True):
    """Why a turn failed, or why Codex asks the model again."""

    message: str = ""
    codex_error_info: object = None
    additional_details: str | None = None


class Turn(Wire, frozen=True):
    """Times are in seconds since 1970."""

    id: str
    status: str = "inProgress"
    error: Failure | None = None
    root_turn_id: str | None = None
    """The turn that led to it: itself, or one of another thread, or that of a review."""
    started_at: object = None
    completed_at: object = None
    duration_ms: object = None


class TokenCounts(Wire, frozen=True):
    """Tokens of one request to the model, or of a whole thread."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0
    cache_write_input_tokens: int = 0


class TokenUsage(Wire, frozen=True):
    """The tokens of the thread, and those of its newest request to the model."""

    total: TokenCounts
    last: TokenCounts
    model_context_window: object = None


class AnyItem(Wire, frozen=True, tag_field="type"):
    """The fields that all items share. Codex sends `started_at_ms` since 0.166."""

    id: str
    started_at_ms: int | None = None


class UserMessage(AnyItem, frozen=True, tag="userMessage"):
    content: list[Input] = []
    client_id: str | None = None


class AgentMessage(AnyItem, frozen=True, tag="agentMessage"):
    """`text` is empty until the message is complete."""

    text: str = ""
    phase: str | None = None
    memory_citation: object = None


class Reasoning(AnyItem, frozen=True, tag="reasoning"):
    summary: list[str] = []
    content: list[str] = []


class CommandExecution(AnyItem, frozen=True, tag="commandExecution"):
    """A command that waits for its approval, runs, or has ended."""

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
    changes: list[FileUpdate] = []
    status: str = "inProgress"


class ToolError(Struct, frozen=True):
    message: str


class McpToolCall(AnyItem, frozen=True, tag="mcpToolCall"):
    """A call of a tool of an MCP server that Codex runs."""

    server: str = ""
    tool: str = ""
    arguments: object = None
    status: str = "inProgress"
    read_only_hint: bool | None = None
    result: dict[str, object] | None = None
    error: ToolError | None = None
    duration_ms: int | None = None


class DynamicToolCall(AnyItem, frozen=True, tag="dynamicToolCall"):
    """A call of a tool that the app-server's client provides."""

    tool: str = ""
    namespace: str | None = None
    arguments: object = None
    content_items: list[object] | None = None
    success: bool | None = None
    duration_ms: int | None = None


class AgentState(Struct, frozen=True):
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
    query: str = ""
    action: dict[str, object] | None = None


class ImageView(AnyItem, frozen=True, tag="imageView"):
    path: str = ""


class ImageGeneration(AnyItem, frozen=True, tag="imageGeneration"):
    status: str = ""
    result: str | None = None
    """The image in base64, up to 0.165."""
    revised_prompt: str | None = None
    saved_path: str | None = None


class EnteredReview(AnyItem, frozen=True, tag="enteredReviewMode"):
    """A review began; `review` describes its subject."""

    review: str = ""


class ExitedReview(AnyItem, frozen=True, tag="exitedReviewMode"):
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


class OtherItem(Wire, frozen=True):
    """An item whose type is not in `Item`, or whose form cannot be read in full: the fields that a turn needs."""

    type: str
    id: str = ""
    text: str = ""
    command: str = ""
    process_id: str | None = None
