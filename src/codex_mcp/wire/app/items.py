"""Pure. The items of a thread, and the parts that several messages of `codex app-server` share.

Only what is read or passed on is named here; msgspec skips the rest. States and kinds stay plain `str`, so that a
newer Codex with one more of them is still understood; what is only passed on is `object`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

UNREADABLE: Final = (ValueError, RecursionError)
"""What decoding can raise: msgspec's errors and bad UTF-8 are ValueErrors; deep nesting is the other."""


class Wire(Struct, frozen=True, rename="camel"):
    """camelCase in messages, snake_case here."""


class ChangeKind(Struct, frozen=True):
    """add, delete or update. (`move_path` is snake_case in messages, too.)"""

    type: str = "update"
    move_path: str | None = None


class FileUpdate(Wire, frozen=True):
    """One file of a patch. `diff` holds the whole content if the file is added or deleted."""

    path: str
    kind: ChangeKind
    diff: str = ""


class CommandAction(Struct, frozen=True):
    """What Codex believes a piece of the command does. `type` is read, listFiles, search or unknown."""

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
    """One turn. Times are in seconds since 1970."""

    id: str
    status: str = "inProgress"
    error: Failure | None = None
    started_at: object = None
    completed_at: object = None
    duration_ms: object = None


class TokenCounts(Wire, frozen=True):
    """What one request to the model, or all requests of a thread, used."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0
    cache_write_input_tokens: int = 0


class TokenUsage(Wire, frozen=True):
    """What the thread has used, and what the newest request to the model used."""

    total: TokenCounts
    last: TokenCounts
    model_context_window: object = None


class AnyItem(Wire, frozen=True, tag_field="type"):
    """What every item has. Codex sends `started_at_ms` since 0.166."""

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


class OtherItem(Wire, frozen=True):
    """An item of a type that is not in `Item`, or in a form that cannot be read in full: what a turn needs of it."""

    type: str
    id: str = ""
    text: str = ""
    command: str = ""
    process_id: str | None = None
