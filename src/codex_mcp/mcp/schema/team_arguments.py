"""Pure. What the arguments of a team's tools ask for: the ways to give an agent a task, repeats."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import structs

from codex_mcp.access.seal import digest
from codex_mcp.mcp.schema.arguments import translated
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.schema.team_catalogue import StartArguments, TeamReplyArguments
from codex_mcp.team.agent import RequestKey

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


def checked_start(arguments: StartArguments) -> StartArguments:
    """The arguments of `codex`, with those of an older wrapper expressed by ours. Raises BadArguments."""
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
