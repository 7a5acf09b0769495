"""Pure. The tools without a team: arguments, results, and descriptions for a model.

Clients put this list into the context of their model, so every text is as short as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.mcp.schema.arguments import CodexArguments, ReplyArguments, WaitArguments
from codex_mcp.mcp.schema.fields import BadArguments, Field, fields_of, input_schema, read_arguments, read_some
from codex_mcp.threads.record import Status

ENVIRONMENT: Final = "environment"

RESULT_CHARS: Final = "anthropic/maxResultSizeChars"

LONG_RESULT: Final = 100_000
"""Characters of a result with an answer. Answers to Claude Code have up to 60,000, and more as JSON."""


class NoArguments(Struct, frozen=True):
    """Of a tool that takes none."""


class Tool(Struct, frozen=True, kw_only=True):
    name: str
    title: str = ""
    """For people. Those of a team's tools are not listed: they would only repeat the name."""
    description: str
    read_only: bool
    takes: type[Struct] = NoArguments
    """Its arguments as values."""
    fields: tuple[Field, ...] = ()
    """The arguments that are listed."""
    agent: str = ""
    """Names of the arguments that name the agent whose server answers the call, also if it is another one."""
    output: dict[str, object] | None = None
    """None if its result is only text."""
    unlisted: tuple[Field, ...] = ()
    """Arguments that are accepted as well."""
    hints: Mapping[str, bool] = {}
    """More annotations."""
    audits: bool = False
    """It writes the audit of what it did; otherwise only the call is audited."""
    is_open: bool = False
    """Its schema admits arguments that are not listed."""
    result_chars: int = 0
    """How long a result may be before Claude Code moves it into a file; 0: its own limit."""

    @property
    def accepted(self) -> tuple[Field, ...]:
        return (*self.fields, *self.unlisted) if self.unlisted else self.fields

    def agents_in(self, given: Mapping[str, object]) -> list[str]:
        """What these arguments call the agent; nothing if they cannot be read, which the tool says by itself."""
        wanted = self.agent.split()
        try:
            found = read_some([field for field in self.accepted if field.name in wanted], _renamed(given))
        except BadArguments:
            return []
        values = (each for value in found.values() for each in (value if isinstance(value, list) else (value,)))
        return [value for value in values if isinstance(value, str) and value]

    def read(self, given: Mapping[str, object]) -> Any:
        """The arguments as values (`takes`). `agent_id` is an older name of codex_id. Raises BadArguments."""
        if any(field.name == "codex_id" for field in self.accepted):
            given = _renamed(given)
        return msgspec.convert(read_arguments(self.accepted, given), self.takes)

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


def _renamed(given: Mapping[str, object]) -> Mapping[str, object]:
    if "agent_id" not in given:
        return given
    return {"codex_id" if name == "agent_id" else name: value for name, value in given.items()}


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

SESSIONS: Final = "sessionId resetSession reasoningEffort"
LISTED: Final = (
    "prompt model cwd approval-policy sandbox config base-instructions developer-instructions compact-prompt profile "
    f"environment include-plan-tool images output-schema background wait-seconds events {SESSIONS}"
)
WRAPPERS: Final = "workingDirectory fullAuto callbackUri"
"""Arguments of an older wrapper. They are always accepted, and listed with its tools."""
ON_ITS_OWN: Final = "goal goal-tokens goal-status when-limited"


def arguments(takes: type[Struct], listed: str = "", unlisted: str | None = None) -> dict[str, Any]:
    """What a tool takes: the names of the arguments that are listed, and of those that are accepted as well."""
    known = fields_of(takes)
    fields = tuple(known[name] for name in listed.split())
    others = [name for name in known if name not in listed.split()] if unlisted is None else unlisted.split()
    return {"takes": takes, "fields": fields, "unlisted": tuple(known[name] for name in others)}


CODEX: Final = Tool(
    name="codex",
    title="Codex",
    description="Run a Codex coding agent on a task in a folder and return its answer and a threadId; `codex-reply` "
    "continues. A long task may return status `running`: then call `codex_wait`.",
    **arguments(CodexArguments, LISTED, f"{WRAPPERS} {ON_ITS_OWN}"),
    output=TURN_OUTPUT,
    audits=True,
    read_only=False,
    result_chars=LONG_RESULT,
)
CODEX_REPLY: Final = Tool(
    name="codex-reply",
    title="Codex Reply",
    description="Continue a Codex thread, also one of an earlier server.",
    **arguments(
        ReplyArguments,
        "threadId conversationId prompt when images output-schema background wait-seconds events",
        f"rollback {ON_ITS_OWN}",
    ),
    output=TURN_OUTPUT,
    audits=True,
    read_only=False,
    result_chars=LONG_RESULT,
)
CODEX_WAIT: Final = Tool(
    name="codex_wait",
    title="Codex Wait",
    description="Wait for news of agents whose status is `running`: an answer, a question, a pause or a close. Each is "
    "returned once.",
    **arguments(WaitArguments, "threadIds mode again offset timeout-seconds"),
    output=WAIT_OUTPUT,
    read_only=True,
    result_chars=LONG_RESULT,
)

TOOLS: Final = (CODEX, CODEX_REPLY, CODEX_WAIT)
