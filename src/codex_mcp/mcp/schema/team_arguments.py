"""Pure. The arguments of each tool of a team as values, and the three ways to give an agent a task."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct, structs

from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.arguments import (
    Arguments,
    CodexArguments,
    ReplyArguments,
    WaitArguments,
    tool_arguments,
    translated,
)
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.seal import digest
from codex_mcp.team.agent import Agent, RequestKey

ROWS: Final = 50

LONGEST_REQUEST_ID: Final = 1000
"""Characters. The store remembers ten thousand of them."""

NOT_COMPARED: Final = ("request_id", "background", "wait_seconds", "events")
"""Arguments that may differ between a call and its repeat: how the caller waits, and what it sees meanwhile."""

GO_ON: Final = "Go on with your task."
"""The prompt of a resumed agent whose caller gives none."""


class Way(StrEnum):
    PROMPT = "prompt"
    FILE = "agent_file"
    RESUME = "codex_id"
    FORK = "fork_from"


class StartArguments(CodexArguments, frozen=True, kw_only=True, rename="kebab"):
    prompt: str = ""
    identity: str | None = None
    agent_file: str | None = msgspec.field(default=None, name="agent_file")
    codex_id: str | None = msgspec.field(default=None, name="codex_id")
    fork_from: str | None = msgspec.field(default=None, name="fork_from")
    role: str | None = None
    tag: str | None = None
    auto_mail: bool | None = msgspec.field(default=None, name="auto_mail")
    worktree: bool | None = None
    request_id: str | None = msgspec.field(default=None, name="request_id")

    @property
    def has_agent(self) -> bool:
        names = (self.identity, self.agent_file, self.codex_id, self.fork_from, self.role, self.tag, self.request_id)
        return any(names)


class TeamReplyArguments(ReplyArguments, frozen=True, kw_only=True, rename="kebab"):
    id: str | None = None
    codex_id: str | None = msgspec.field(default=None, name="codex_id")
    identity: str | None = None
    auto_mail: bool | None = msgspec.field(default=None, name="auto_mail")
    request_id: str | None = msgspec.field(default=None, name="request_id")

    @property
    def references(self) -> list[str]:
        """What the caller calls the agent. Raises BadArguments if that is missing."""
        return _given(self.id, self.codex_id, self.identity, self.given_thread_id, self.conversation_id)


class TeamWaitArguments(WaitArguments, frozen=True, kw_only=True, rename="kebab"):
    ids: tuple[str, ...] | None = None
    id: str | None = None
    codex_id: str | None = msgspec.field(default=None, name="codex_id")
    identity: str | None = None
    thread_id: str | None = msgspec.field(default=None, name="threadId")

    @property
    def references(self) -> tuple[str, ...] | None:
        """The agents to wait for; None means the caller's own work."""
        single = tuple(name for name in (self.id, self.codex_id, self.identity, self.thread_id) if name)
        if self.ids is None and self.thread_ids is None and not single:
            return None
        return (*(self.ids or ()), *(self.thread_ids or ()), *single)


class ThreadsArguments(Struct, frozen=True, kw_only=True):
    id: str | None = None
    codex_id: str | None = None
    identity: str | None = None
    thread_id: str | None = msgspec.field(default=None, name="threadId")
    include_closed: bool = True
    limit: float = ROWS

    def shows(self, agent: Agent) -> bool:
        """Whether an agent has all the names that were given."""
        names = (agent.codex_id, agent.identity, agent.thread_id)
        return (
            all(
                given in (None, name)
                for given, name in zip((self.codex_id, self.identity, self.thread_id), names, strict=True)
            )
            and self.id in (None, *names)
            and (self.include_closed or agent.is_active)
        )


class AgentArguments(Struct, frozen=True, kw_only=True):
    """Those that name an agent."""

    id: str | None = None
    codex_id: str | None = None
    identity: str | None = None
    thread_id: str | None = msgspec.field(default=None, name="threadId")

    @property
    def references(self) -> list[str]:
        """What the caller calls the agent. Raises BadArguments if that is missing."""
        return _given(self.id, self.codex_id, self.identity, self.thread_id)


class DiffArguments(AgentArguments, frozen=True, kw_only=True):
    of: str = "turn"
    stat: bool = False


class ApprovalsArguments(Struct, frozen=True, kw_only=True):
    id: str | None = None
    decision: str | None = None
    reason: str | None = None


def _given(*names: str | None) -> list[str]:
    found = [name for name in names if name]
    if not found:
        raise _refused("missing field `id`; give the codex_id, the identity or the threadId of the agent")
    return found


def team_arguments(tool: Tool, given: Mapping[str, object], kind: type[Arguments]) -> Arguments:
    """The arguments of a team tool. `agent_id` is an older name of codex_id. Raises BadArguments."""
    renamed = {"codex_id" if name == "agent_id" else name: value for name, value in given.items()}
    return tool_arguments(tool, renamed, kind)


def approval_answer(decision: str, reason: str | None) -> dict[str, object]:
    """A decision in the spelling of 0.153.4, where only a denial has a reason. Raises BadArguments."""
    if decision not in catalogue.DECISIONS:
        known = ", ".join(f"`{word}`" for word in catalogue.DECISIONS)
        raise _refused(f"unknown variant `{decision[:100]}`, expected one of {known}")
    if decision == "denied" and reason is not None:
        return {"decision": {"denied": {"rejection": reason}}}
    return {"decision": decision}


NEW_ONLY: Final = (
    "model",
    "cwd",
    "approval_policy",
    "sandbox",
    "config",
    "base_instructions",
    "developer_instructions",
    "compact_prompt",
    "profile",
    "include_plan_tool",
    "environment",
    "role",
    "identity",
    "worktree",
)
"""Arguments for starting an agent that cannot be changed when it is resumed."""


FIXED_IN_FORK: Final = (
    "agent_file",
    "base_instructions",
    "developer_instructions",
    "compact_prompt",
    "profile",
    "include_plan_tool",
    "environment",
    "role",
)
"""Arguments that a copy of an agent cannot change: they belong to the conversation, or to how the agent was set up."""


def way_of(arguments: StartArguments) -> Way:
    """The way that a call asks for. Raises BadArguments unless it is exactly one."""
    if arguments.codex_id is not None:
        if arguments.agent_file is not None:
            raise _refused("`codex_id` and `agent_file` exclude each other: resume an agent, or start one from a file")
        _refuse(arguments, (*NEW_ONLY, "fork_from"), "a resumed agent keeps the settings that it was started with")
        return Way.RESUME
    if arguments.fork_from is not None:
        _refuse(arguments, FIXED_IN_FORK, "a copy of an agent keeps its instructions and its place")
        if not arguments.prompt:
            raise _refused("missing field `prompt`: what the copy is to do")
        return Way.FORK
    if arguments.agent_file is not None:
        return Way.FILE
    if not arguments.prompt:
        raise _refused("missing field `prompt`; give a `prompt`, an `agent_file`, or the `codex_id` of an agent")
    return Way.PROMPT


def start_arguments(given: Mapping[str, object]) -> StartArguments:
    arguments = team_arguments(catalogue.CODEX, given, StartArguments)
    _check_request_id(arguments.request_id)
    # A session also takes the values of its own thread as they are.
    return arguments if arguments.session_id is not None else translated(arguments)[0]


def request_of(arguments: StartArguments | TeamReplyArguments) -> RequestKey | None:
    """The request that a repeat is compared with. Raises BadArguments."""
    if arguments.request_id is None:
        return None
    _check_request_id(arguments.request_id)
    asked = {name: value for name, value in structs.asdict(arguments).items() if name not in NOT_COMPARED}
    return RequestKey(arguments.request_id, digest(asked))


def _check_request_id(request_id: str | None) -> None:
    if len(request_id or "") > LONGEST_REQUEST_ID:
        raise _refused(f"`request_id` is longer than {LONGEST_REQUEST_ID} characters; choose a shorter one")


def _refuse(arguments: StartArguments, names: tuple[str, ...], why: str) -> None:
    """Raise BadArguments if one of these arguments is given."""
    given = ", ".join(f"`{name}`" for name in names if getattr(arguments, name) not in (None, {}))
    if given:
        raise _refused(f"{why}; leave out {given}")


def _refused(text: str) -> BadArguments:
    return BadArguments(f"{BAD_ARGUMENTS}{text}")
