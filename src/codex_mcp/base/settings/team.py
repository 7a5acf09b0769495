"""Pure. Settings of a team."""

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    AS_CODEX,
    HOUR,
    INSTANT,
    MONTH,
    MOST_TOKENS,
    ApprovalPolicy,
    Dashboard,
    Sandbox,
    count,
    group,
    identity,
    limit,
    one_of,
    path,
    seconds,
    setting,
    switch,
    team_name,
    text,
)


@group
class TeamSettings(Struct, frozen=True, kw_only=True):
    """Agents with names, for `codex-mcp serve`."""

    team: str = setting("default", team_name, "NAME", "the team of the agents", variables=("ATM_TEAM",))
    """Also `default_team` in the table `[core]` of a file."""

    default_identity: str = setting(
        "codex",
        identity,
        "NAME",
        "the name of agents that are started without one",
        flag="identity",
        variables=("CODEX_MCP_IDENTITY", "ATM_AGENT_MCP_IDENTITY"),
    )
    """The second such agent is called codex-2."""

    lead_identity: str = setting("team-lead", identity, "NAME", "the name by which agents write to the lead")
    """The client that leads the agents reads its mail with atm_read under this name, and its own agents may write to it
    from the start. Of several principals it belongs to the first that uses it."""

    role: str | None = setting(None, text, "NAME", "the role of agents that are started without one")
    """A role is a table `[plugins.codex-mcp.roles.NAME]` of a file."""

    state_dir: str = setting("", path, "DIR", "where agents are recorded", shown="`~/.config/atm/codex-sessions`")
    """It holds the registry, summaries and the audit log. `ATM_HOME`, if set, replaces `~`."""

    state: str | None = setting(None, text, "URL", "record agents in PostgreSQL, for servers on several machines")
    """`postgresql://USER@HOST/DATABASE`, with the extra `postgres` ([PostgreSQL](postgresql.md)). `state_dir` keeps
    what belongs to this machine: sockets, worktrees, mail, the audit log. Give a password in a file of your own or in
    `CODEX_MCP_STATE`: everybody on this machine can see flags."""

    cluster_secret: str | None = setting(
        None, path, "FILE", "the secret that all servers of a cluster share, and nobody else"
    )
    """At least 32 bytes, for you only: `openssl rand -hex 32`. With it, any server answers for any other
    ([Several machines](scale.md))."""

    advertise: str | None = setting(None, text, "URL", "where the other servers of the cluster reach this one")
    """`https://HOST:PORT`, or `http://127.0.0.1:PORT` for servers of one machine."""

    turn_timeout: float = setting(
        1800.0,
        seconds(INSTANT, MONTH, zero="no limit"),
        "SECONDS",
        "interrupt a turn that runs longer",
        flag="timeout",
        variables=("CODEX_MCP_TIMEOUT",),
    )
    """Half an hour is longer than most prompts take, and a team must not wait for one agent without end. `mcp-server`
    has no such limit. Files may also call it `request_timeout_secs`; 300 was the default of the server before us."""

    max_concurrent_threads: int = setting(
        10, count(1, 1000), "N", "active agents of one principal, idle ones included; more are refused"
    )
    """Each agent keeps a conversation in memory."""

    model: str | None = setting(
        None,
        text,
        "NAME",
        "the model of agents whose call and role name none",
        variables=("ATM_AGENT_MCP_MODEL",),
        shown=AS_CODEX,
    )

    reasoning_effort: str | None = setting(
        None,
        text,
        "EFFORT",
        "their reasoning effort, such as low or high",
        variables=("ATM_AGENT_MCP_REASONING_EFFORT",),
        shown=AS_CODEX,
    )
    """Which efforts exist depends on the model."""

    sandbox: Sandbox | None = setting(
        None,
        one_of(Sandbox),
        "|".join(Sandbox),
        "what their commands may do",
        variables=("ATM_AGENT_MCP_SANDBOX",),
        shown=AS_CODEX,
    )

    approval_policy: ApprovalPolicy | None = setting(
        None,
        one_of(ApprovalPolicy),
        "|".join(ApprovalPolicy),
        "when a person is asked",
        variables=("ATM_AGENT_MCP_APPROVAL_POLICY",),
        shown=AS_CODEX,
    )

    base_prompt_file: str | None = setting(None, path, "FILE", "instructions that replace Codex's own system prompt")

    extra_instructions_file: str | None = setting(None, path, "FILE", "further instructions for every agent")

    auto_mail: bool = setting(True, switch, "YES|NO", "give new mail to an idle agent as its next prompt")
    """Without it, agents read their mail only with atm_read. A role or a call can switch it off as well."""

    steer_urgent_mail: bool = setting(False, switch, "YES|NO", "add urgent mail to the running turn of a busy agent")
    """Without it, urgent mail waits for the end of the turn as all mail does: any sender can call its mail urgent, and
    it changes what the caller of that turn gets. An old Codex (0.103 to 0.153) always waits."""

    worktree: bool = setting(False, switch, "YES|NO", "give each new agent a git worktree and a branch of its own")
    """A role or a call can decide otherwise. Without it, agents work in the folder that the call names."""

    mail_poll_interval_ms: int = setting(
        5000, count(100, 3_600_000), "MILLISECONDS", "how often inboxes are looked at besides being watched"
    )
    """Where files can be watched, mail is noticed at once, and this only finds what the watch has missed."""

    max_messages: int = setting(10, count(1, 1000), "N", "messages that an agent gets with one prompt")
    """The rest follows with the next prompt. Ten can be read and answered at once."""

    max_message_length: int = setting(
        4096, count(16, 2**20), "CHARACTERS", "characters of a message that an agent gets with a prompt"
    )
    """A longer one is cut and says so; atm_read returns the whole. A page of text stays whole."""

    dashboard: Dashboard | None = setting(
        None,
        one_of(Dashboard),
        "|".join(Dashboard),
        "with a port: whether people see the agents at /ui, and may answer there",
        shown="on for a server that only this machine can reach, else off",
    )
    """Any other address needs HTTPS (`tls_cert`). People sign in with `codex-mcp dashboard`, or with their token."""

    turns_per_hour: int = setting(0, limit(1_000_000), "N", "turns that one agent may begin in an hour; 0 is no limit")

    tokens_per_thread: int = setting(0, limit(MOST_TOKENS), "N", "tokens that one agent may use; 0 is no limit")

    tokens_per_team: int = setting(0, limit(MOST_TOKENS), "N", "tokens that all agents together may use; 0 is no limit")

    max_hops: int = setting(8, count(1, 1000), "N", "how often mail may cause mail without a person in between")
    """Enough for a question, an answer and some discussion; two agents that thank each other soon stop. Then mail
    stays unread, and the lead is told."""

    summary_timeout: float = setting(
        10,
        seconds(INSTANT, HOUR, zero="no summaries"),
        "SECONDS",
        "how long a closing agent may take to sum up its work",
    )
    """Then it is closed without a summary."""
