"""Pure. The tools of a team: arguments, results, and descriptions for a model."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from codex_mcp.base.settings.kinds import Surface
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.catalogue import (
    CODEX_FIELDS,
    COMMON_FIELDS,
    ROLLBACK,
    TURN_OUTPUT,
    UNCHANGED_OUTPUT,
    WAIT_FIELDS,
    WHEN,
    Tool,
)
from codex_mcp.mcp.schema.fields import Field, FieldKind
from codex_mcp.mcp.schema.mail_catalogue import MAIL_TOOLS
from codex_mcp.mcp.schema.review import TARGETS
from codex_mcp.mcp.schema.session_catalogue import HOW_TO_WAIT, OWN_TOOLS
from codex_mcp.team.agent import AgentState, AgentStatus

REQUEST_ID: Final = Field("request_id", "Your id: a repeated call does not run again, and returns the same answer.")

START_FIELDS: Final = (
    Field("prompt", "The task for the agent. Not together with agent_file."),
    Field("identity", "The new agent's name: small letters, digits, hyphens. Unique in the team."),
    Field("agent_file", "A file with the agent's prompt, such as .claude/agents/NAME.md, instead of `prompt`."),
    Field("codex_id", "Resume this agent, even if it is closed, instead of starting a new one."),
    Field(
        "fork_from",
        "Start as a copy of this agent, with its conversation and settings: codex_id, identity or threadId.",
    ),
    Field("role", "A configured role: model, sandbox, approval policy, instructions."),
    Field("tag", "A note of yours, shown in lists."),
    Field("auto_mail", "false: the agent gets mail only with atm_read.", FieldKind.BOOLEAN),
    Field("worktree", "Work in a git worktree and branch of its own.", FieldKind.BOOLEAN),
    REQUEST_ID,
    *(field for field in CODEX_FIELDS if field.name != "prompt"),
)

TEAM_REPLY_FIELDS: Final = (
    Field("codex_id", "The agent, as returned by `codex`."),
    Field("identity", "Its name, instead of codex_id."),
    Field("threadId", "Its thread, instead of codex_id."),
    Field("conversationId", "An older name of threadId."),
    Field("prompt", "What to say next.", required=True),
    WHEN,
    ROLLBACK,
    REQUEST_ID,
    *COMMON_FIELDS,
)

TEAM_WAIT_FIELDS: Final = (
    Field(
        "ids",
        "The agents to wait for, each by its codex_id, identity or threadId. By default, those that you gave a prompt "
        "in this session.",
        FieldKind.STRINGS,
    ),
    *WAIT_FIELDS,
)

THREADS_FIELDS: Final = (
    Field("identity", "Only agents with this name."),
    Field("include_closed", "Include closed agents; true by default.", FieldKind.BOOLEAN),
    Field("limit", "At most this many, the most recently used first; 50 by default.", FieldKind.NUMBER),
)

CLOSE_FIELDS: Final = (
    Field("codex_id", "The agent to close."),
    Field("identity", "Its name, instead of codex_id."),
    Field("threadId", "Its thread, instead of codex_id."),
)

REVIEW_FIELDS: Final = (
    Field("id", "An agent, whose folder is reviewed."),
    Field("cwd", "The folder, instead of id."),
    Field("target", "Default: uncommitted.", choices=TARGETS),
    Field("of", "The base branch, the commit, or what to look at in words."),
    Field("model", "For example `gpt-5.5`."),
    *HOW_TO_WAIT,
)

DIFF_FIELDS: Final = (
    Field("id", "codex_id, identity or threadId.", required=True),
    Field("of", "Default: turn, the last one.", choices=("turn", "thread", "uncommitted")),
    Field("stat", "Only files and numbers of lines.", FieldKind.BOOLEAN),
)

APPROVALS_FIELDS: Final = (
    Field("id", "The question to answer, as listed. Without it, all open questions are listed."),
    Field(
        "decision",
        "The answer, one of those listed with the question.",
        choices=(
            "approved",
            "approved_for_session",
            "approved_execpolicy_amendment",
            "approved_mcp_policy_amendment",
            "network_policy_allow",
            "network_policy_deny",
            "denied",
            "abort",
        ),
    ),
    Field("reason", "For `denied`: why. The agent is told."),
)

_NAMES: Final = {
    "codex_id": {"type": "string", "description": "Pass it to codex-reply, codex_close or codex."},
    "identity": {"type": "string", "description": "The agent's name in the team."},
    "team": {"type": "string"},
}

_APPROVAL: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Pass it to codex_approvals."},
        "codex_id": {"type": "string"},
        "identity": {"type": "string"},
        "question": {"type": "string"},
        "decisions": {"type": "array", "items": {"type": "string"}},
        "owner": {
            "type": "object",
            "description": "The other server (pid, host), where alone it can be answered.",
        },
    },
    "required": ["id", "question"],
}


def _with_names(output: dict[str, object]) -> dict[str, object]:
    properties = output["properties"]
    assert isinstance(properties, dict)
    approvals = {"type": "array", "description": "Questions to be answered with codex_approvals.", "items": _APPROVAL}
    return {**output, "properties": {**_NAMES, **properties, "approvals": approvals}}


TEAM_TURN_OUTPUT: Final = _with_names(TURN_OUTPUT)

TEAM_WAIT_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "finished": {"type": "array", "description": "Turns that have ended.", "items": TEAM_TURN_OUTPUT},
        "running": {"type": "array", "description": "Turns that still run; wait again.", "items": TEAM_TURN_OUTPUT},
        "paused": {"type": "array", "description": "Agents that reached a limit.", "items": {"type": "object"}},
        "closed": {"type": "array", "description": "Agents that were closed.", "items": {"type": "object"}},
        "unchanged": UNCHANGED_OUTPUT,
    },
    "required": ["finished", "running"],
}

_AGENT: Final = {
    "type": "object",
    "properties": {
        **_NAMES,
        "threadId": {"type": ["string", "null"]},
        "status": {"type": "string", "enum": list(AgentStatus)},
        "state": {"type": "string", "enum": list(AgentState)},
        "last_active": {"type": "string"},
        "tag": {"type": ["string", "null"]},
    },
    "required": ["codex_id", "identity", "status", "state"],
}

THREADS_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"threads": {"type": "array", "items": _AGENT}, "total": {"type": "integer"}},
    "required": ["threads"],
}

STATUS_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "core": {"type": "object", "description": "The Codex process that runs the agents."},
        "team": {"type": "string"},
        "uptime_seconds": {"type": "number"},
        "threads": {"type": "object", "description": "How many are active, busy, idle."},
        "identities": {"type": "object", "description": "Agents by name."},
        "queues": {"type": "object", "description": "Waiting turns by name."},
        "pending_mail": {
            "type": ["integer", "null"],
            "description": "Unread messages of these agents; null if the files cannot be read.",
        },
        "pending_approvals": {"type": "integer"},
    },
    "required": ["core", "team", "uptime_seconds", "threads", "identities"],
}

CLOSE_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        **_NAMES,
        "closed": {"type": "boolean"},
        "status": {"type": "string", "enum": ["closed", "interrupted", "already_closed"]},
    },
    "required": ["closed", "codex_id", "status"],
}

APPROVALS_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "approvals": {"type": "array", "items": _APPROVAL},
        "answered": {"type": "string", "description": "The question that was answered."},
    },
    "required": ["approvals"],
}

CODEX: Final = replace(
    catalogue.CODEX,
    description="Start a named Codex coding agent on a task in a folder and wait for its answer, or resume one by "
    "codex_id. Returns the answer and a codex_id; `codex-reply` continues. A long task may return with status "
    "`running`; then call `codex_wait`.",
    fields=START_FIELDS,
    output=TEAM_TURN_OUTPUT,
    unlisted=(*catalogue.SESSION_FIELDS, *catalogue.WRAPPER_FIELDS),
)
CODEX_REPLY: Final = replace(
    catalogue.CODEX_REPLY,
    description="Continue a conversation with an agent by codex_id, identity or threadId, even after a restart.",
    fields=TEAM_REPLY_FIELDS,
    output=TEAM_TURN_OUTPUT,
    unlisted=(),
)
CODEX_WAIT: Final = replace(catalogue.CODEX_WAIT, fields=TEAM_WAIT_FIELDS, output=TEAM_WAIT_OUTPUT)
CODEX_THREADS: Final = Tool(
    "codex_threads",
    "Codex Threads",
    "List the agents of the team with name, state, folder, branch and last activity.",
    THREADS_FIELDS,
    THREADS_OUTPUT,
    read_only=True,
)
CODEX_STATUS: Final = Tool(
    "codex_status",
    "Codex Status",
    "Show whether Codex runs, which agents there are and how many are busy, and what is waiting.",
    (),
    STATUS_OUTPUT,
    read_only=True,
)
CODEX_CLOSE: Final = Tool(
    "codex_close",
    "Codex Close",
    "Close an agent: its turn is stopped, it sums up its work if it was busy, and its name becomes free. "
    "`codex` with its codex_id resumes it.",
    CLOSE_FIELDS,
    CLOSE_OUTPUT,
    read_only=False,
)
CODEX_INTERRUPT: Final = Tool(
    "codex_interrupt",
    "Codex Interrupt",
    "Stop what an agent does now. It stays, and so do the prompts that wait for it.",
    (Field("id", "The agent: codex_id, identity or threadId.", required=True),),
    {"type": "object"},
    read_only=False,
)
CODEX_REVIEW: Final = Tool(
    "codex_review",
    "Codex Review",
    "Let Codex review changes in a folder, read-only. Returns findings: file, lines, priority, text.",
    REVIEW_FIELDS,
    {"type": "object"},
    read_only=True,
)
CODEX_DIFF: Final = Tool(
    "codex_diff",
    "Codex Diff",
    "Show what an agent changed, as a unified diff.",
    DIFF_FIELDS,
    None,
    read_only=True,
)
CODEX_APPROVALS: Final = Tool(
    "codex_approvals",
    "Codex Approvals",
    "List questions of agents that no person could be asked, or answer one of them.",
    APPROVALS_FIELDS,
    APPROVALS_OUTPUT,
    read_only=False,
)

TEAM_TOOLS: Final = (
    CODEX,
    CODEX_REPLY,
    CODEX_WAIT,
    CODEX_THREADS,
    CODEX_STATUS,
    CODEX_CLOSE,
    CODEX_INTERRUPT,
    CODEX_REVIEW,
    CODEX_APPROVALS,
    CODEX_DIFF,
    *MAIL_TOOLS,
)

HAVE_SESSIONS: Final = (Surface.SESSIONS, Surface.ALL)


def team_tools(surface: Surface | None) -> tuple[Tool, ...]:
    """The tools that are offered with a team."""
    codex = replace(CODEX, fields=CODEX.accepted, unlisted=()) if surface in HAVE_SESSIONS else CODEX
    own = OWN_TOOLS if surface in HAVE_SESSIONS else ()
    team = TEAM_TOOLS[3:] if surface in (None, Surface.TEAM, Surface.ALL) else ()
    return (codex, CODEX_REPLY, CODEX_WAIT, *team, *own)


ALIASES: Final = {"agent_sessions": CODEX_THREADS, "agent_status": CODEX_STATUS, "agent_close": CODEX_CLOSE}
"""Names from an earlier implementation, accepted but not listed."""

TEAM_INSTRUCTIONS: Final = (
    "A team of Codex coding agents with names. `codex` starts an agent on a task (give it an `identity`) and returns "
    "its answer and a codex_id; `codex-reply` continues with it. Several can work at once: give each call "
    "`background: true`, then collect the answers with `codex_wait`, which is also what to call when a result says "
    "status `running`. "
    "`codex_threads` lists the agents, `codex_close` ends one, `codex_approvals` answers what they ask. `atm_send` and "
    "`atm_read` are the mail of the team."
)
