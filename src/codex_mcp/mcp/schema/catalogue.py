"""Pure. The tools without a team: arguments, results, and descriptions for a model."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import EXEC_ENVIRONMENT, LOCAL_ENVIRONMENT
from codex_mcp.mcp.schema.fields import Field, FieldKind, input_schema
from codex_mcp.threads.news import WaitMode
from codex_mcp.threads.record import Status

COMMON_FIELDS: Final = (
    Field("images", "Images for the prompt: file paths, or http, https or data URLs.", FieldKind.STRINGS),
    Field("output-schema", "A JSON Schema; the answer will be JSON that matches it.", FieldKind.OBJECT, free_form=True),
    Field(
        "background",
        "Return at once with status `running` and let the agent work; `codex_wait` collects the answer.",
        FieldKind.BOOLEAN,
    ),
    Field(
        "wait-seconds",
        "Return with status `running` if the agent has not finished after this many seconds; 0 waits without limit. "
        "By default the server returns before this client times out.",
        FieldKind.NUMBER,
    ),
    Field("events", "Which `codex/event` notifications this call sends.", choices=tuple(Events)),
)

CODEX_FIELDS: Final = (
    Field("prompt", "The task for the agent.", required=True),
    Field("model", "The model, if not the configured one, for example `gpt-5.5`."),
    Field("cwd", "The working folder. A relative path is resolved against the server's own working folder."),
    Field(
        "approval-policy",
        "When a person is asked before a command runs: `untrusted` asks for all but known safe commands, `on-request` "
        "when the model wants to leave the sandbox, `never` does not ask; `on-failure` is treated as `on-request`.",
        choices=("untrusted", "on-failure", "on-request", "never"),
    ),
    Field(
        "sandbox",
        "What commands may do: `read-only`, `workspace-write` (write below the working folder), `danger-full-access`.",
        choices=("read-only", "workspace-write", "danger-full-access"),
    ),
    Field(
        "config",
        "Settings that override CODEX_HOME/config.toml; keys may be dotted.",
        FieldKind.OBJECT,
        free_form=True,
    ),
    Field("base-instructions", "Instructions that replace Codex's own system prompt."),
    Field("developer-instructions", "Additional instructions, as a developer message."),
    Field("compact-prompt", "The prompt for compacting a long conversation."),
    Field("profile", "A profile of Codex: CODEX_HOME/NAME.config.toml or [profiles.NAME]."),
    Field(
        "environment",
        "Where commands run, if the server uses an exec-server: there (the default), or on the server's own machine.",
        choices=(EXEC_ENVIRONMENT, LOCAL_ENVIRONMENT),
    ),
    Field("include-plan-tool", "Give the agent its planning tool.", FieldKind.BOOLEAN),
    *COMMON_FIELDS,
)

REPLY_FIELDS: Final = (
    Field("threadId", "The thread to continue, as returned by `codex`."),
    Field("conversationId", "An older name of threadId."),
    Field("prompt", "What to say next.", required=True),
    *COMMON_FIELDS,
)

WAIT_FIELDS: Final = (
    Field(
        "threadIds",
        "The threads to wait for. By default, those that you gave a prompt in this session.",
        FieldKind.STRINGS,
    ),
    Field(
        "mode",
        "`first` (the default) returns with the first news, `all` when nothing runs any more or a question is open.",
        choices=tuple(WaitMode),
    ),
    Field("again", "Return the latest answers and open questions even if returned before.", FieldKind.BOOLEAN),
    Field(
        "timeout-seconds",
        "Return after this many seconds at the latest, with what is still running; 0 does not wait. "
        "By default, before this client times out.",
        FieldKind.NUMBER,
    ),
)


class Tool(Struct, frozen=True):
    name: str
    title: str
    description: str
    fields: tuple[Field, ...]
    output: dict[str, object]
    read_only: bool

    def listed(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.fields),
            "outputSchema": self.output,
            "annotations": {"title": self.title, "readOnlyHint": self.read_only, "openWorldHint": not self.read_only},
        }


_TOKENS: Final = {
    "type": "object",
    "description": "Tokens used by this turn.",
    "properties": {
        name: {"type": "integer"}
        for name in ("inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens", "totalTokens")
    },
}

_FILES: Final = {
    "type": "array",
    "description": "Files changed by the agent's patches in this turn.",
    "items": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "kind": {"type": "string", "enum": ["add", "update", "delete"]}},
        "required": ["path", "kind"],
    },
}

TURN_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "threadId": {"type": "string", "description": "Pass it to codex-reply to continue."},
        "content": {"type": "string", "description": "The agent's last message."},
        "status": {"type": "string", "enum": list(Status)},
        "usage": _TOKENS,
        "filesChanged": _FILES,
        "durationSeconds": {"type": "number"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["threadId", "content", "status"],
}

UNCHANGED_OUTPUT: Final = {
    "type": "array",
    "description": "Turns that ended and were returned before.",
    "items": {"type": "object"},
}

WAIT_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "finished": {"type": "array", "description": "Turns that have ended.", "items": TURN_OUTPUT},
        "running": {"type": "array", "description": "Turns that still run; wait again for them.", "items": TURN_OUTPUT},
        "unchanged": UNCHANGED_OUTPUT,
    },
    "required": ["finished", "running"],
}

CODEX: Final = Tool(
    "codex",
    "Codex",
    "Start a Codex coding agent on a task in a folder and wait for its answer. Returns the answer and a threadId; "
    "`codex-reply` continues the conversation. A long task may return with status `running`; then call `codex_wait`.",
    CODEX_FIELDS,
    TURN_OUTPUT,
    read_only=False,
)
CODEX_REPLY: Final = Tool(
    "codex-reply",
    "Codex Reply",
    "Continue a Codex conversation by thread id, including one from an earlier server process. Replies to a busy "
    "thread wait for their turn.",
    REPLY_FIELDS,
    TURN_OUTPUT,
    read_only=False,
)
CODEX_WAIT: Final = Tool(
    "codex_wait",
    "Codex Wait",
    "Wait for news of Codex agents that returned with status `running`: an answer, a question, a pause or a close. "
    "Each is returned once.",
    WAIT_FIELDS,
    WAIT_OUTPUT,
    read_only=True,
)

TOOLS: Final = (CODEX, CODEX_REPLY, CODEX_WAIT)
