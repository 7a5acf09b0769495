"""Pure. The tools without a team: arguments, results, and descriptions for a model.

Clients put this list into the context of their model, so every text is as short as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import When
from codex_mcp.mcp.schema.fields import Field, FieldKind, input_schema
from codex_mcp.threads.news import WaitMode
from codex_mcp.threads.record import Status

COMMON_FIELDS: Final = (
    Field("images", "File paths, or http, https or data URLs.", FieldKind.STRINGS),
    Field("output-schema", "JSON Schema of the answer.", FieldKind.OBJECT, free_form=True),
    Field("background", "Return at once; codex_wait collects the answer.", FieldKind.BOOLEAN),
    Field(
        "wait-seconds",
        "Return status `running` after this long; 0: never. Default: before this client times out.",
        FieldKind.NUMBER,
    ),
    Field("events", "codex/event notifications.", choices=tuple(Events)),
)

SESSION_FIELDS: Final = (
    Field("sessionId", "A name of your choice (letters, digits, - and _): the conversation continues under it."),
    Field("resetSession", "Begin that session anew.", FieldKind.BOOLEAN),
    Field(
        "reasoningEffort", "How much the model reasons.", choices=("none", "minimal", "low", "medium", "high", "xhigh")
    ),
)

WRAPPER_FIELDS: Final = (
    Field("workingDirectory", "Another name of cwd."),
    Field("fullAuto", "Means sandbox workspace-write and approval-policy on-request.", FieldKind.BOOLEAN),
    Field("callbackUri", "The variable CODEX_MCP_CALLBACK_URI of the agent's commands."),
)
"""Arguments of an older wrapper. They are always accepted, and listed with its tools."""

ENVIRONMENT: Final = "environment"

CODEX_FIELDS: Final = (
    Field("prompt", "The task.", required=True),
    Field("model", "For example `gpt-5.5`."),
    Field("cwd", "Working folder."),
    Field(
        "approval-policy",
        "When a person is asked: `untrusted` for all but safe commands, `on-request` to leave the sandbox.",
        choices=("untrusted", "on-failure", "on-request", "never"),
    ),
    Field("sandbox", "What commands may do.", choices=("read-only", "workspace-write", "danger-full-access")),
    Field("config", "Overrides of config.toml; keys may be dotted.", FieldKind.OBJECT, free_form=True),
    Field("base-instructions", "Replace Codex's own system prompt."),
    Field("developer-instructions", "Further instructions."),
    Field("compact-prompt", "Prompt for compacting a long conversation."),
    Field("profile", "A profile of Codex's configuration."),
    Field(ENVIRONMENT, "Where commands run, if not on this server's machine."),
    Field("include-plan-tool", "Add the planning tool.", FieldKind.BOOLEAN),
    *COMMON_FIELDS,
)

GOAL_FIELDS: Final = (
    Field("goal", "What the agent works towards by itself, turn after turn, once the prompt has been answered."),
    Field("goal-tokens", "The goal ends when it has used this many tokens.", FieldKind.INTEGER, bounds=(1, 10**12)),
    Field("goal-status", "What becomes of the goal that it has.", choices=("active", "paused", "cleared")),
)

WHEN: Final = Field("when", "If busy: wait (default), join the running turn, or stop it.", choices=tuple(When))
ROLLBACK: Final = Field("rollback", "First drop this many turns; files stay.", FieldKind.INTEGER, bounds=(1, 1000))

REPLY_FIELDS: Final = (
    Field("threadId", "As returned by `codex`."),
    Field("conversationId", "Older name of threadId."),
    Field("prompt", "What to say next.", required=True),
    WHEN,
    *COMMON_FIELDS,
)

WAIT_FIELDS: Final = (
    Field("threadIds", "Default: those that you gave a prompt in this session.", FieldKind.STRINGS),
    Field(
        "mode",
        "`first` (default): return with the first news; `all`: when nothing runs any more or a question is open.",
        choices=tuple(WaitMode),
    ),
    Field("again", "Also what was returned before.", FieldKind.BOOLEAN),
    Field("offset", "Return a long answer from this character on.", FieldKind.INTEGER),
    Field(
        "timeout-seconds",
        "Return by then, with what still runs; 0: at once. Default: before this client times out.",
        FieldKind.NUMBER,
    ),
)


RESULT_CHARS: Final = "anthropic/maxResultSizeChars"

LONG_RESULT: Final = 100_000
"""Characters of a result with an answer. Answers to Claude Code have up to 60,000, and more as JSON."""


class Tool(Struct, frozen=True):
    name: str
    title: str
    """For people. Those of a team's tools are not listed: they would only repeat the name."""
    description: str
    fields: tuple[Field, ...]
    output: dict[str, object] | None
    """None if its result is only text."""
    read_only: bool
    unlisted: tuple[Field, ...] = ()
    """Arguments that are accepted as well."""
    hints: Mapping[str, bool] = {}
    """More annotations."""
    is_open: bool = False
    """Its schema admits arguments that are not listed."""
    result_chars: int = 0
    """How long a result may be before Claude Code moves it into a file; 0: its own limit."""

    @property
    def accepted(self) -> tuple[Field, ...]:
        return (*self.fields, *self.unlisted) if self.unlisted else self.fields

    def listed(self) -> dict[str, object]:
        listed: dict[str, object] = {
            "name": self.name,
            "title": "" if self.is_open else self.title,
            "description": self.description,
            "inputSchema": input_schema(self.fields, closed=not self.is_open),
            "annotations": self._annotations(),
        }
        if self.result_chars:
            listed["_meta"] = {RESULT_CHARS: self.result_chars}
        listed = {key: value for key, value in listed.items() if value}
        return listed if self.output is None else {**listed, "outputSchema": self.output}

    def _annotations(self) -> dict[str, object]:
        """A team's tools leave out what MCP assumes anyway: that a tool changes something, here or elsewhere."""
        if self.is_open:
            return {"readOnlyHint": True} if self.read_only else {}
        hints = {"readOnlyHint": self.read_only, "openWorldHint": not self.read_only, **self.hints}
        return {"title": self.title, **hints}


def with_environments(tools: Sequence[Tool], names: Sequence[str]) -> list[Tool]:
    """The tools as they are listed on a server that has these places for commands."""
    return [_with_environments(tool, tuple(names)) for tool in tools]


def _with_environments(tool: Tool, names: tuple[str, ...]) -> Tool:
    """The tool with these places in its argument `environment`, which is then listed."""
    accepted = {field.name: field for field in tool.accepted}
    if ENVIRONMENT not in accepted:
        return tool
    field = replace(accepted[ENVIRONMENT], choices=names)
    fields = tuple(field if each.name == ENVIRONMENT else each for each in tool.fields)
    if field not in fields and names:
        fields = (*fields, field)
    unlisted = tuple(each for each in tool.unlisted if not names or each.name != ENVIRONMENT)
    return replace(tool, fields=fields, unlisted=unlisted)


TURN_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "threadId": {"type": "string"},
        "content": {"type": "string"},
        "status": {"type": "string", "enum": list(Status)},
    },
    "required": ["threadId", "content", "status"],
}
"""The fields that every result has. docs/clients.md describes the others."""


def output(**fields: str) -> dict[str, object]:
    """The schema of a result that has these fields, of these types; it may have more."""
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}


WAIT_OUTPUT: Final = output(finished="array", running="array")

CODEX: Final = Tool(
    "codex",
    "Codex",
    "Run a Codex coding agent on a task in a folder and return its answer and a threadId; `codex-reply` continues. "
    "A long task may return status `running`: then call `codex_wait`.",
    (*CODEX_FIELDS, *SESSION_FIELDS),
    TURN_OUTPUT,
    read_only=False,
    unlisted=(*WRAPPER_FIELDS, *GOAL_FIELDS),
    result_chars=LONG_RESULT,
)
CODEX_REPLY: Final = Tool(
    "codex-reply",
    "Codex Reply",
    "Continue a Codex thread, also one of an earlier server.",
    REPLY_FIELDS,
    TURN_OUTPUT,
    read_only=False,
    result_chars=LONG_RESULT,
    unlisted=(ROLLBACK, *GOAL_FIELDS),
)
CODEX_WAIT: Final = Tool(
    "codex_wait",
    "Codex Wait",
    "Wait for news of agents whose status is `running`: an answer, a question, a pause or a close. Each is returned "
    "once.",
    WAIT_FIELDS,
    WAIT_OUTPUT,
    read_only=True,
    result_chars=LONG_RESULT,
)

TOOLS: Final = (CODEX, CODEX_REPLY, CODEX_WAIT)
