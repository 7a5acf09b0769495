"""Pure. The tools of a team: arguments, results, and descriptions for a model.

A model that leads agents pays for every byte of this list, so it names each argument once and lists what a leader
needs. What is left out (`unlisted`) is accepted and documented in docs/team.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.identity import is_identity
from codex_mcp.base.settings.kinds import Surface
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.catalogue import (
    CODEX_FIELDS,
    COMMON_FIELDS,
    ROLLBACK,
    SESSION_FIELDS,
    WAIT_FIELDS,
    WHEN,
    Tool,
    output,
)
from codex_mcp.mcp.schema.fields import Field, FieldKind
from codex_mcp.mcp.schema.mail_catalogue import MAIL_TOOLS
from codex_mcp.mcp.schema.review import TARGETS
from codex_mcp.mcp.schema.session_catalogue import HOW_TO_WAIT, OWN_TOOLS

AGENT: Final = Field("id", "codex_id or identity.", required=True)

OTHER_NAMES: Final = (
    Field("codex_id", "Another name of id."),
    Field("identity", "Another name of id."),
    Field("threadId", "Another name of id."),
)
"""Arguments that name an agent, besides `id`. They are always accepted."""

ROLE: Final = Field("role", "A configured role.")

REQUEST_ID: Final = Field("request_id", "Your id; a repeated call runs once.")

START_FIELDS: Final = (
    Field("prompt", "The task."),
    Field("identity", "Name of the new agent: a-z, 0-9, hyphens."),
    ROLE,
    Field("agent_file", ".claude/agents/NAME.md: the task, or with a prompt the instructions."),
    Field("codex_id", "Resume this agent instead."),
    Field("fork_from", "Begin as a copy of this agent."),
    Field("cwd", "Working folder."),
    Field("worktree", "Work in a git worktree of its own.", FieldKind.BOOLEAN),
    Field("background", "Return at once.", FieldKind.BOOLEAN),
    Field("model", "For example gpt-5.5."),
    Field("sandbox", "What commands may do.", choices=("read-only", "workspace-write", "danger-full-access")),
    Field("approval-policy", "When to ask.", choices=("untrusted", "on-failure", "on-request", "never")),
    Field("developer-instructions", "Further instructions."),
    REQUEST_ID,
)

AUTO_MAIL: Final = Field("auto_mail", "false: the agent gets mail only with atm_read.", FieldKind.BOOLEAN)

UNLISTED_START_FIELDS: Final = (
    Field("tag", "A note of yours, shown in lists."),
    AUTO_MAIL,
    *(field for field in CODEX_FIELDS if field.name not in {listed.name for listed in START_FIELDS}),
    *SESSION_FIELDS,
    *catalogue.WRAPPER_FIELDS,
    *catalogue.GOAL_FIELDS,
)

_COMMON: Final = {field.name: field for field in COMMON_FIELDS}

TEAM_REPLY_FIELDS: Final = (
    replace(AGENT, required=False),
    Field("prompt", "What to say next.", required=True),
    replace(WHEN, description="For a busy agent: wait (default), join its turn, or stop it."),
    replace(ROLLBACK, description="First drop this many turns; files stay."),
    Field("background", "Return at once.", FieldKind.BOOLEAN),
)

UNLISTED_REPLY_FIELDS: Final = (
    *OTHER_NAMES,
    Field("conversationId", "Another name of id."),
    AUTO_MAIL,
    REQUEST_ID,
    *catalogue.GOAL_FIELDS,
    *(field for name, field in _COMMON.items() if name != "background"),
)

_WAIT: Final = {field.name: field for field in WAIT_FIELDS}

TEAM_WAIT_FIELDS: Final = (
    Field("ids", "Default: the agents that you gave work.", FieldKind.STRINGS),
    Field("mode", "Return with the first news, or the last.", choices=_WAIT["mode"].choices),
    Field("timeout-seconds", "0: do not wait.", FieldKind.NUMBER),
    Field("again", "Repeat the latest answers.", FieldKind.BOOLEAN),
    Field("offset", "Continue a long answer from this character.", FieldKind.INTEGER),
)

THREADS_FIELDS: Final = (
    Field("id", "Only this one."),
    Field("include_closed", "Default: true.", FieldKind.BOOLEAN),
)

REVIEW_FIELDS: Final = (
    Field("id", "The agent whose folder is reviewed."),
    Field("cwd", "A folder instead."),
    Field("target", "Default: uncommitted.", choices=TARGETS),
    Field("of", "Branch, commit, or instructions."),
    *(field for field in HOW_TO_WAIT if field.name == "background"),
)

DIFF_FIELDS: Final = (
    replace(AGENT, required=False),
    Field("of", "Default: turn, the last one.", choices=("turn", "thread", "uncommitted")),
    Field("stat", "Only files and numbers of lines.", FieldKind.BOOLEAN),
)

APPROVALS_FIELDS: Final = (
    Field("id", "The question to answer; without it, all are listed."),
    Field("decision", "As listed with the question: approved, denied, …"),
    Field("reason", "Why denied. The agent is told."),
)

DECISIONS: Final = (
    "approved",
    "approved_for_session",
    "approved_execpolicy_amendment",
    "approved_mcp_policy_amendment",
    "network_policy_allow",
    "network_policy_deny",
    "denied",
    "abort",
)


TEAM_TURN_OUTPUT: Final = output(codex_id="string", threadId="string", status="string", content="string")
TEAM_WAIT_OUTPUT: Final = catalogue.WAIT_OUTPUT
THREADS_OUTPUT: Final = output(threads="array")
STATUS_OUTPUT: Final = output(core="object", threads="object", identities="object")
CLOSE_OUTPUT: Final = output(codex_id="string", status="string")
APPROVALS_OUTPUT: Final = output(approvals="array")

CODEX: Final = replace(
    catalogue.CODEX,
    description="Start a named Codex coding agent on a task and return its answer. Some clients run calls one after "
    "another: for agents that work in parallel, set `background` and call codex_wait, as after status `running`.",
    fields=START_FIELDS,
    output=TEAM_TURN_OUTPUT,
    unlisted=UNLISTED_START_FIELDS,
)
CODEX_REPLY: Final = replace(
    catalogue.CODEX_REPLY,
    description="Give an agent its next prompt.",
    fields=TEAM_REPLY_FIELDS,
    output=TEAM_TURN_OUTPUT,
    unlisted=UNLISTED_REPLY_FIELDS,
)
CODEX_WAIT: Final = replace(
    catalogue.CODEX_WAIT,
    description="Wait for news of agents: answers, questions, pauses, closes.",
    fields=TEAM_WAIT_FIELDS,
    output=TEAM_WAIT_OUTPUT,
    unlisted=(_WAIT["threadIds"], replace(AGENT, required=False), *OTHER_NAMES),
)
CODEX_THREADS: Final = Tool(
    "codex_threads",
    "",
    "List agents: name, state, folder, branch, tokens.",
    THREADS_FIELDS,
    THREADS_OUTPUT,
    read_only=True,
    unlisted=(
        Field("limit", "At most this many, the most recently used first; 50 by default.", FieldKind.NUMBER),
        *OTHER_NAMES,
    ),
)
CODEX_STATUS: Final = Tool(
    "codex_status",
    "",
    "Show busy and paused agents, unread mail, open questions, cost, rate limits.",
    (),
    STATUS_OUTPUT,
    read_only=True,
)
CODEX_CLOSE: Final = Tool(
    "codex_close",
    "",
    "Stop an agent and free its name. `codex` with its codex_id resumes it.",
    (replace(AGENT, required=False),),
    CLOSE_OUTPUT,
    read_only=False,
    unlisted=OTHER_NAMES,
)
CODEX_INTERRUPT: Final = Tool(
    "codex_interrupt",
    "",
    "Stop what an agent does now. It stays, and so do the prompts that wait for it.",
    (replace(AGENT, required=False),),
    output(codex_id="string", status="string"),
    read_only=False,
    unlisted=OTHER_NAMES,
)
CODEX_REVIEW: Final = Tool(
    "codex_review",
    "",
    "Let Codex review changes. Returns findings: file, lines, priority, text.",
    REVIEW_FIELDS,
    output(findings="array", content="string"),
    read_only=True,
    unlisted=(
        *OTHER_NAMES,
        Field("base", "Target base, of this branch."),
        Field("commit", "Target commit, of this one."),
        Field("prompt", "Target custom, of these instructions."),
        Field("model", "For example gpt-5.5."),
        *(field for field in HOW_TO_WAIT if field.name != "background"),
    ),
)
CODEX_DIFF: Final = Tool(
    "codex_diff",
    "",
    "Show what an agent changed, as a unified diff.",
    DIFF_FIELDS,
    None,
    read_only=True,
    unlisted=OTHER_NAMES,
)
CODEX_APPROVALS: Final = Tool(
    "codex_approvals",
    "",
    "List or answer questions of agents, such as whether a command may run.",
    APPROVALS_FIELDS,
    APPROVALS_OUTPUT,
    read_only=False,
)

TEAM_TOOLS: Final = tuple(
    replace(tool, is_open=True)
    for tool in (
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
)

HAVE_SESSIONS: Final = (Surface.SESSIONS, Surface.ALL)
HAVE_TEAM: Final = (None, Surface.TEAM, Surface.ALL)

ROLES_LISTED: Final = 20
PURPOSE_CHARS: Final = 80


def team_tools(surface: Surface | None, roles: Mapping[str, str | None] | None = None) -> tuple[Tool, ...]:
    """The tools that are offered with a team; `roles` are the purposes of the configured roles by name."""
    codex, reply, wait, *others = TEAM_TOOLS
    fields = tuple(_role_field(roles or {}) if field is ROLE else field for field in codex.fields)
    codex = replace(codex, fields=fields)
    if surface in HAVE_SESSIONS:
        codex = replace(codex, fields=(*fields, *SESSION_FIELDS, *catalogue.WRAPPER_FIELDS))
    own = OWN_TOOLS if surface in HAVE_SESSIONS else ()
    team = others if surface in HAVE_TEAM else ()
    return (codex, reply, wait, *team, *own)


def _role_field(roles: Mapping[str, str | None]) -> Field:
    """The argument with the roles, as far as their names are names: a repository could call one anything."""
    named = [(name, purpose) for name, purpose in roles.items() if is_identity(name)][:ROLES_LISTED]
    listed = [name if not purpose else f"{name} ({_short(purpose)})" for name, purpose in named]
    return replace(ROLE, description=f"One of {', '.join(listed)}.") if listed else ROLE


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= PURPOSE_CHARS else line[: PURPOSE_CHARS - 1] + "…"


ALIASES: Final = {"agent_sessions": CODEX_THREADS, "agent_status": CODEX_STATUS, "agent_close": CODEX_CLOSE}
"""Names from an earlier implementation, accepted but not listed."""

INSTRUCTIONS: Final = (
    "A team of Codex coding agents with names. `codex` starts an agent on a task (give it an `identity`) and returns "
    "its answer and a codex_id; `codex-reply` continues with it. Several can work at once: give each call "
    "`background: true`, then collect the answers with `codex_wait`, which is also what to call when a result says "
    "status `running`."
)
TEAM_INSTRUCTIONS: Final = (
    f"{INSTRUCTIONS} `codex_threads` lists the agents, `codex_interrupt` stops what one does, `codex_diff` shows what "
    "it changed, `codex_close` ends one, `codex_approvals` answers what they ask. `atm_send` and `atm_read` are the "
    "mail of the team."
)


def team_instructions(surface: Surface | None) -> str:
    """What a client is told of the tools that it is offered."""
    return TEAM_INSTRUCTIONS if surface in HAVE_TEAM else INSTRUCTIONS
