"""Pure. The tools of a team: arguments, results, and descriptions for a model.

A model that leads agents pays for every byte of this list, so it names each argument once and lists what a leader
needs. What is left out (`unlisted`) is accepted and documented in docs/team.md.
"""

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.identity import is_identity
from codex_mcp.base.settings.kinds import Surface
from codex_mcp.codex.core import When
from codex_mcp.mcp.news import WaitMode
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.arguments import POLICIES, CodexArguments, ReplyArguments, WaitArguments
from codex_mcp.mcp.schema.catalogue import ON_ITS_OWN, SESSIONS, WRAPPERS, Tool, arguments, output
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, Field, about, fields_of, spelled
from codex_mcp.mcp.schema.mail_catalogue import MAIL_TOOLS
from codex_mcp.mcp.schema.review import OtherName, TeamReviewArguments
from codex_mcp.mcp.schema.session_catalogue import OWN_TOOLS
from codex_mcp.team.agent import Agent

ROWS: Final = 50

AGENT: Final = "id codex_id identity threadId conversationId"
"""The arguments that name an agent."""

AgentName: TypeAlias = Annotated[str | None, about("codex_id or identity.")]
Background: TypeAlias = Annotated[bool, about("Return at once.")]
AutoMail: TypeAlias = Annotated[bool | None, about("false: the agent gets mail only with atm_read.")]
RequestId: TypeAlias = Annotated[str | None, about("Your id; a repeated call runs once.")]


class StartArguments(CodexArguments, frozen=True, kw_only=True):
    prompt: Annotated[str, about("The task.")] = ""
    identity: Annotated[str | None, about("Name of the new agent: a-z, 0-9, hyphens.")] = None
    role: Annotated[str | None, about("A configured role.")] = None
    agent_file: Annotated[str | None, about(".claude/agents/NAME.md: the task, or with a prompt the instructions.")] = (
        None
    )
    codex_id: Annotated[str | None, about("Resume this agent instead.")] = None
    fork_from: Annotated[str | None, about("Begin as a copy of this agent.")] = None
    worktree: Annotated[bool | None, about("Work in a git worktree of its own.")] = None
    background: Background = False
    model: Annotated[str | None, about("For example gpt-5.5.")] = None
    approval_policy: Annotated[str | None, about("When to ask.", *POLICIES)] = None
    request_id: RequestId = None
    tag: Annotated[str | None, about("A note of yours, shown in lists.")] = None
    auto_mail: AutoMail = None

    @property
    def has_agent(self) -> bool:
        names = (self.identity, self.agent_file, self.codex_id, self.fork_from, self.role, self.tag, self.request_id)
        return any(names)


class TeamReplyArguments(ReplyArguments, frozen=True, kw_only=True):
    id: AgentName = None
    codex_id: OtherName = None
    identity: OtherName = None
    thread_id: OtherName = None
    conversation_id: OtherName = None
    when: Annotated[When, about("For a busy agent: wait (default), join its turn, or stop it.")] = When.QUEUE
    background: Background = False
    auto_mail: AutoMail = None
    request_id: RequestId = None

    @property
    def references(self) -> list[str]:
        """What the caller calls the agent. Raises BadArguments if that is missing."""
        return _given(self.id, self.codex_id, self.identity, self.thread_id, self.conversation_id)


class TeamWaitArguments(WaitArguments, frozen=True, kw_only=True):
    ids: Annotated[tuple[str, ...] | None, about("Default: the agents that you gave work.")] = None
    id: AgentName = None
    codex_id: OtherName = None
    identity: OtherName = None
    thread_id: OtherName = None
    mode: Annotated[WaitMode, about("Return with the first news, or the last.")] = WaitMode.FIRST
    timeout_seconds: Annotated[float | None, about("0: do not wait.")] = None
    again: Annotated[bool, about("Repeat the latest answers.")] = False
    offset: Annotated[int, about("Continue a long answer from this character.")] = 0

    @property
    def references(self) -> tuple[str, ...] | None:
        """The agents to wait for; None means the caller's own work."""
        single = tuple(name for name in (self.id, self.codex_id, self.identity, self.thread_id) if name)
        if self.ids is None and self.thread_ids is None and not single:
            return None
        return (*(self.ids or ()), *(self.thread_ids or ()), *single)


class HookArguments(Struct, frozen=True):
    event: Annotated[str, about("Which hook asks.")] = ""


class AgentArguments(Struct, frozen=True, kw_only=True, rename=spelled):
    """Those that name an agent."""

    id: AgentName = None
    codex_id: OtherName = None
    identity: OtherName = None
    thread_id: OtherName = None

    @property
    def references(self) -> list[str]:
        """What the caller calls the agent. Raises BadArguments if that is missing."""
        return _given(self.id, self.codex_id, self.identity, self.thread_id)


class DiffArguments(AgentArguments, frozen=True, kw_only=True):
    of: Annotated[str, about("Default: turn, the last one.", "turn", "thread", "uncommitted")] = "turn"
    stat: Annotated[bool, about("Only files and numbers of lines.")] = False


class ThreadsArguments(AgentArguments, frozen=True, kw_only=True):
    id: Annotated[str | None, about("Only this one.")] = None
    include_closed: Annotated[bool, about("Default: true.")] = True
    limit: Annotated[float, about(f"At most this many, the most recently used first; {ROWS} by default.")] = ROWS

    def shows(self, agent: Agent) -> bool:
        """Whether an agent has all the names that were given."""
        names = (agent.codex_id, agent.identity, agent.thread_id)
        given = (self.codex_id, self.identity, self.thread_id)
        return (
            all(each in (None, name) for each, name in zip(given, names, strict=True))
            and self.id in (None, *names)
            and (self.include_closed or agent.is_active)
        )


class ApprovalsArguments(Struct, frozen=True, kw_only=True):
    id: Annotated[str | None, about("Without it, all are listed.")] = None
    decision: Annotated[str | None, about("As listed: approved, denied, …")] = None
    reason: Annotated[str | None, about("Why denied, for the agent.")] = None
    content: Annotated[dict[str, object] | None, about("For its `form`, by field.")] = None


def _given(*names: str | None) -> list[str]:
    found = [name for name in names if name]
    if not found:
        text = "missing field `id`; give the codex_id, the identity or the threadId of the agent"
        raise BadArguments(f"{BAD_ARGUMENTS}{text}")
    return found


TEAM_TURN_OUTPUT: Final = output(codex_id="string", threadId="string", status="string", content="string")

CODEX: Final = replace(
    catalogue.CODEX,
    description="Start a named Codex coding agent on a task and return its answer. Some clients run calls one after "
    "another: for agents that work in parallel, set `background` and call codex_wait, as after status `running`.",
    **arguments(
        StartArguments,
        "prompt identity role agent_file codex_id fork_from cwd worktree background model sandbox approval-policy "
        "developer-instructions request_id",
        "tag auto_mail config base-instructions compact-prompt profile environment include-plan-tool images "
        f"output-schema wait-seconds events {SESSIONS} {WRAPPERS} {ON_ITS_OWN}",
    ),
    output=TEAM_TURN_OUTPUT,
    agent="codex_id fork_from",
)
CODEX_REPLY: Final = replace(
    catalogue.CODEX_REPLY,
    description="Give an agent its next prompt.",
    **arguments(
        TeamReplyArguments,
        "id prompt when rollback background",
        f"codex_id identity threadId conversationId auto_mail request_id {ON_ITS_OWN} images output-schema "
        "wait-seconds events",
    ),
    output=TEAM_TURN_OUTPUT,
    agent=AGENT,
)
CODEX_WAIT: Final = replace(
    catalogue.CODEX_WAIT,
    description="Wait for news of agents: answers, questions, pauses, closes.",
    **arguments(TeamWaitArguments, "ids mode timeout-seconds again offset", "threadIds id codex_id identity threadId"),
    agent=f"ids threadIds {AGENT}",
)
CODEX_THREADS: Final = Tool(
    name="codex_threads",
    description="List agents: name, state, folder, branch, tokens.",
    **arguments(ThreadsArguments, "id include_closed", "limit codex_id identity threadId"),
    output=output(threads="array"),
    read_only=True,
)
CODEX_STATUS: Final = Tool(
    name="codex_status",
    description="Show busy and paused agents, unread mail, open questions, cost, rate limits.",
    output=output(core="object", threads="object", identities="object"),
    read_only=True,
)
CODEX_CLOSE: Final = Tool(
    name="codex_close",
    description="Stop an agent and free its name. `codex` with its codex_id resumes it.",
    **arguments(AgentArguments, "id"),
    agent=AGENT,
    output=output(codex_id="string", status="string"),
    audits=True,
    read_only=False,
)
CODEX_UNFINISHED: Final = Tool(
    name="codex_unfinished",  # for hooks, and in no list
    description="What the caller's agents have left to be collected or decided.",
    **arguments(HookArguments),
    audits=True,  # nothing: it changes nothing, and each stop of a lead asks
    read_only=True,
)
CODEX_INTERRUPT: Final = Tool(
    name="codex_interrupt",
    description="Stop what an agent does now. It stays, and so do the prompts that wait for it.",
    **arguments(AgentArguments, "id"),
    agent=AGENT,
    output=output(codex_id="string", status="string"),
    audits=True,
    read_only=False,
)
CODEX_REVIEW: Final = Tool(
    name="codex_review",
    description="Let Codex review changes. Returns findings: file, lines, priority, text.",
    **arguments(
        TeamReviewArguments,
        "id cwd target of background",
        "codex_id identity threadId base commit prompt model wait-seconds",
    ),
    agent=AGENT,
    output=output(findings="array", content="string"),
    read_only=True,
)
CODEX_DIFF: Final = Tool(
    name="codex_diff",
    description="Show what an agent changed, as a unified diff.",
    **arguments(DiffArguments, "id of stat"),
    agent=AGENT,
    read_only=True,
)
CODEX_APPROVALS: Final = Tool(
    name="codex_approvals",
    description="List or answer questions of agents.",
    **arguments(ApprovalsArguments, "id decision reason content"),
    output=output(approvals="array"),
    audits=True,
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
    fields = tuple(_with_roles(field, roles or {}) if field.name == "role" else field for field in codex.fields)
    if surface in HAVE_SESSIONS:
        known = fields_of(StartArguments)
        fields = (*fields, *(known[name] for name in f"{SESSIONS} {WRAPPERS}".split()))
    codex = replace(codex, fields=fields)
    own = OWN_TOOLS if surface in HAVE_SESSIONS else ()
    team = others if surface in HAVE_TEAM else ()
    return (codex, reply, wait, *team, *own)


def _with_roles(role: Field, roles: Mapping[str, str | None]) -> Field:
    """The argument with the roles, as far as their names are names: a repository could call one anything."""
    named = [(name, purpose) for name, purpose in roles.items() if is_identity(name)][:ROLES_LISTED]
    listed = [name if not purpose else f"{name} ({_short(purpose)})" for name, purpose in named]
    return replace(role, description=f"One of {', '.join(listed)}.") if listed else role


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
