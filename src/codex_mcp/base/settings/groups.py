"""Pure. Every setting of the server in one place: what it means, its default, and why the number is that number.

Where the values come from is config/load.py's business. Times are in seconds, sizes in bytes. These are msgspec Structs
and not dataclasses because a dataclass of this size costs 3 ms of the time to the first answer, and a Struct 0.2.
"""

from enum import StrEnum

from msgspec import Struct

MIB = 1024 * 1024


class Events(StrEnum):
    """Which `codex/event` notifications a client gets."""

    STANDARD = "standard"
    FULL = "full"
    NONE = "none"


class Backend(StrEnum):
    """As what Codex is run."""

    AUTO = "auto"
    APP_SERVER = "app-server"
    MCP_SERVER = "mcp-server"


class Protocol(StrEnum):
    """Which eras of MCP are spoken."""

    BOTH = "both"
    LEGACY = "legacy"


class SlowReader(StrEnum):
    """What happens to a listener on the bus that lags behind."""

    DROP_OLDEST = "drop-oldest"
    DISCONNECT = "disconnect"
    WAIT = "wait"


class LogLevel(StrEnum):
    """How much is logged, from nothing to everything."""

    OFF = "off"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"
    TRACE = "trace"


class Sandbox(StrEnum):
    """What an agent's commands may do."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"


class ApprovalPolicy(StrEnum):
    """When a person is asked before a command runs."""

    UNTRUSTED = "untrusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    NEVER = "never"


class Settings(Struct, frozen=True, kw_only=True):
    """What the server was told, with defaults for what it was not."""

    codex_home: str
    """Codex's own folder: config.toml, sign-in, threads; our log. `$CODEX_HOME`, else `~/.codex`."""

    codex_bin: str | None = None
    """The Codex to run, a path or a name on PATH. None: the `codex` on PATH if we know its version, else our own."""

    allow_untested_codex: bool = False
    """Run a `codex_bin` of a version that we were not tested with. Its behaviour changes between versions."""

    backend: Backend = Backend.AUTO
    """`mcp-server` runs an old Codex (0.103 to 0.153), which can do less; `auto` does so only if `codex_bin` is one."""

    overrides: tuple[str, ...] = ()
    """`key=value` for Codex's configuration, as its own `-c` takes them, in order; they win over config.toml."""

    profile: str | None = None
    """The profile of Codex's configuration for calls that name none."""

    scripted: str | None = None
    """A script file: the model is then the scripted one, on this machine, and needs no account."""

    trust_repo_settings: bool = False
    """Let a repository's `.atm.toml` say which program runs and with which rights; see config/trust.py."""

    events: Events = Events.STANDARD
    """`full` adds item_* and raw_* events, several times the traffic; `none` sends no `codex/event` at all."""

    protocol: Protocol = Protocol.BOTH
    """`legacy` speaks only the revisions with a handshake: a way out, should a client's newer one misbehave."""

    log_level: LogLevel | None = None
    """None: info in the file and warnings on stderr. A level: that level in both."""

    log_file_bytes: int = 10 * MIB
    """A log file that would grow beyond this is set aside. Some 80,000 lines; it still opens in any editor."""

    log_files_kept: int = 3
    """Older log files kept: with the current one 40 MiB at most, which nobody has to notice on a small disk."""

    otlp_endpoint: str | None = None
    """A collector of OpenTelemetry: a span of every request is sent there, if the extra `otel` is installed."""

    approval_timeout: float = 600
    """A question to a person is a denial after this. Ten minutes: time to come back from coffee, while a forgotten
    question does not hold a turn for a day. 0 refuses at once."""

    soft_deadline: float | None = None
    """A call that runs longer returns `status: running`, to be collected by `codex_wait`. None: by client, see
    `soft_deadline_for`; 0: never."""

    progress_interval: float = 5
    """At least one progress notification in this time, for clients that asked for them. Often enough to be seen as
    alive by a person, and far below every client's idle limit (60 s is the shortest known)."""

    start_timeout: float = 30
    """The core must have answered its handshake by then. It takes 0.1 s; a cold disk or a busy machine, some more."""

    request_timeout: float = 120
    """A core that has not answered a request by then is ended, and the next call starts a new one. Requests take
    milliseconds, but resuming a thread of a hundred megabytes reads it first. A turn is not a request in this sense:
    it has no limit."""

    unreachable_timeout: float = 300
    """A turn fails when Codex has tried for this long to reach the model, without any progress in between. Codex itself
    tries for ever where nothing listens. Five minutes: a provider that restarts is back by then. 0: no limit."""

    max_requests_in_flight: int = 64
    """Requests to the core at once; more wait for their turn. The core queues 128, and beyond some 200 it has been
    measured to leave requests without any answer; half of its queue keeps well away from that."""

    max_turns_waiting: int = 32
    """Prompts that wait behind a running turn of one thread; the next one is refused. Nobody means to queue more, and
    a client in a loop is stopped before it fills the memory."""

    max_message_bytes: int = 64 * MIB
    """The longest message that is read, from client or core. Holds several images in base64. Of a longer one only the
    outline is read (transports/outline.py): a client's request is refused, a turn that needs all of it fails."""

    outbox_bytes: int = 8 * MIB
    """Unsent bytes for one client beyond which its events are held back. Tens of thousands of deltas: a client that is
    so far behind does not read. Answers are never dropped."""

    finished_turns_kept: int = 256
    """Results that were returned as `running` and not yet collected by `codex_wait`; beyond it the oldest is dropped,
    and remains in the thread's history on disk."""

    thread_idle: float = 900
    """A thread that nobody used for this long is put away by the core, which frees its memory; it is loaded again when
    somebody asks. A quarter of an hour: a person who reads an answer and thinks is not made to wait."""

    exec_server: str | None = None
    """A `ws://` address of an exec-server: agents' commands, patches and file reads happen there, confined there."""

    exec_server_token: str | None = None
    """A file that holds the bearer token for it."""

    host: str = "127.0.0.1"
    """Where to listen, with `port`. Anything but loopback needs tokens: whoever reaches an agent runs commands."""

    port: int | None = None
    """Listen for HTTP and WebSocket here, in place of stdin and stdout; 0 takes a free port."""

    tokens: str | None = None
    """A file of bearer tokens, a principal and its token in each line. Whoever has none stays out, and what one
    principal started is not there for another."""

    generate_token: bool = False
    """Admit only clients that show the token in `codex-mcp/token` of Codex's home, which the first start makes."""

    jwks: str | None = None
    """A file of public keys (JWKS): bearer tokens signed by one of them are taken, and `sub` is the principal."""

    jwt_issuer: str | None = None
    """Who must have signed (`iss`)."""

    jwt_audience: str | None = None
    """For whom it must have been signed (`aud`)."""

    allowed_hosts: tuple[str, ...] = ()
    """Names by which we may be called besides our address: a proxy in front of us has one."""

    allowed_origins: tuple[str, ...] = ()
    """Origins of web pages that may call us, as https://host:port; by default only our own pages may."""

    tls_cert: str | None = None
    """A certificate chain (PEM): speak HTTPS."""

    tls_key: str | None = None
    """Its private key."""

    max_sessions: int = 10_000
    """HTTP sessions at once, some 20 KiB each, and as many requests without a session. When it is reached, sessions
    that nobody uses give way; if there are none, the next client is told to come later."""

    sessions_per_principal: int = 2000
    """The same for each principal that shows a token, so that one of them cannot take all. Where no tokens are needed
    there is one principal, and no such limit."""

    sessions_per_address: int = 5000
    """The same for each address that is not this machine's. More than for a principal: a proxy brings several."""

    threads_per_principal: int = 1000
    """Threads of one principal that the core has open; then the one unused for longest is put away, to be loaded again
    when somebody asks."""

    turns_per_principal: int = 64
    """Turns of one principal that run at once; more wait. Only for principals that show a token: without tokens there
    is one principal, and it need not leave room for others."""

    queued_turns_per_principal: int = 1000
    """Turns of one principal that wait, in all its threads; the next one is refused."""

    queued_bytes_per_principal: int = 128 * MIB
    """What the prompts and images of those may hold."""

    session_idle: float = 3600
    """An HTTP session that nobody used for this long, and that has nothing running and no stream open, is put away. Its
    id can be used again, and its threads go on."""

    strict_sessions: bool = False
    """Refuse session ids that we did not make, on every door; without it the bus makes a session for any id."""

    quiet_time: float = 10
    """A call that ends without a word within this time is answered as plain JSON, a longer one as a stream. Claude Code
    gives up on a POST that has no headers after 60 s, others after 300; a stream that has begun they wait for."""

    ping_interval: float = 15
    """A stream on which nothing happens shows this often that it is alive; proxies cut a silent one after 60 s."""

    max_body_bytes: int = 16 * MIB
    """The longest body of a POST, and the longest message on a WebSocket. Holds a prompt with a few images; who needs
    more uses stdio."""

    session_inbox: int = 128
    """Messages of one HTTP session that wait to be looked at; beyond it the client is told to come later (503)."""

    subscriber_queue: int = 128
    """Unread messages of a listener on the bus that has taken nothing for a second, before `slow_reader` applies. Some
    seconds of a talkative turn. A listener that reads has `outbox_bytes`, whatever their number."""

    slow_reader: SlowReader = SlowReader.DROP_OLDEST
    """What happens then: `drop-oldest` leaves out events, and says how many; `disconnect` ends the listener's stream;
    `wait` keeps up to `outbox_bytes` for it and then ends it. A stalled listener delays others by a second at most."""

    stall_timeout: float = 60
    """A connection that takes nothing for this long, while something waits to be sent on it, is cut. A minute: as long
    as most proxies allow."""

    requests_per_second: float = 500
    """HTTP requests and WebSocket messages of one principal, on average; twice as many at once. Far more than an
    orchestrator needs, and a client in a loop does not starve the others. 0: no limit. Where nobody has to show a
    token there is one principal, and no limit."""

    interrupt_grace: float = 10
    """A turn that was told to stop must have ended by then, else its call is answered without it. Commands get killed
    at once by the core; what takes time is a tool of somebody else's MCP server."""

    shutdown_grace: float = 30
    """What running turns get after the client closed our stdin or sent SIGTERM, before they are interrupted. A turn
    that is about to end does so; longer would look like a process that cannot be stopped. With a team it is 5 at most:
    agents must be asked for their summaries within ten seconds."""

    team: str = "default"
    """The team to which agents belong. `$ATM_TEAM`, or `default_team` in the table `[core]` of a file."""

    default_identity: str = "codex"
    """The name of an agent that is given none; the second one is then called codex-2."""

    role: str | None = None
    """The role, a table `[plugins.codex-mcp.roles.NAME]`, of agents whose call names none."""

    state_dir: str = ""
    """Where agents are remembered: the registry, summaries, the audit log. config fills it in if nothing is said:
    `$ATM_HOME`, else the home, and there `.config/atm/codex-sessions`."""

    turn_timeout: float = 1800.0
    """A turn of an agent is interrupted after this. 0: no limit. Half an hour: longer than honest work on a prompt
    mostly takes, and a team must not wait for ever for one of its agents. `mcp-server`, without a team, has none."""

    max_concurrent_threads: int = 10
    """Agents that a server may run for one principal, idle ones as well; the next one is refused. Each has a
    conversation in memory."""

    model: str | None = None
    """The model of agents whose call and role name none. None: what Codex's configuration says."""

    reasoning_effort: str | None = None
    """How hard it thinks. Not a choice of ours: what there is depends on the model."""

    sandbox: Sandbox | None = None
    """What commands of agents may do whose call and role do not say. None: what Codex's configuration says."""

    approval_policy: ApprovalPolicy | None = None
    """When a person is asked, likewise."""

    base_prompt_file: str | None = None
    """A file that takes the place of Codex's own system prompt."""

    extra_instructions_file: str | None = None
    """A file of instructions that every agent of the team gets in addition."""

    auto_mail: bool = True
    """Hand new mail to an idle agent as its next prompt."""

    turns_per_hour: int = 0
    """Turns that one agent may begin in an hour, whoever asks; then it rests. 0: no limit, since who asks also pays."""

    tokens_per_thread: int = 0
    """Tokens that one agent may use in its life. 0: no limit."""

    tokens_per_team: int = 0
    """Tokens that all agents of the team may use together. 0: no limit."""

    max_hops: int = 8
    """How often mail may cause mail, without a person in between, before it waits for one. Eight: a question, an answer
    and some talk about it; two agents who thank each other stop soon."""

    summary_timeout: float = 10
    """An agent that is closed must have summed up its work by then, else it is closed without a summary."""


class Budget(Struct, frozen=True):
    """How long a client lets a call run; None is for ever."""

    with_progress: float | None
    without_progress: float | None


# What the clients do was measured; their limits are those of the last version looked at, and a margin is left for
# the answer to arrive.
UNKNOWN_CLIENT = Budget(with_progress=240, without_progress=45)
"""Cursor and others give up at 300 s whatever progress they see. Without a progress token it is most likely a client
on the TypeScript SDK's default of 60 s."""

CLIENT_BUDGETS: dict[str, Budget] = {
    # No limit while there is progress; silent calls over stdio end after 30 minutes.
    "claude-code": Budget(with_progress=None, without_progress=1500),
    # Claude Desktop has been seen to end calls at 60 s and at 240 s.
    "claude-ai": Budget(with_progress=45, without_progress=45),
    # Codex as a client: 300 s (`tool_timeout_sec`), progress or not.
    "codex-mcp-client": Budget(with_progress=240, without_progress=240),
}


def soft_deadline_for(client_name: str, settings: Settings, *, has_progress_token: bool) -> float | None:
    """After how many seconds a call of this client returns `status: running`; None is never."""
    if settings.soft_deadline is not None:
        return settings.soft_deadline or None
    budget = CLIENT_BUDGETS.get(client_name.lower(), UNKNOWN_CLIENT)
    return budget.with_progress if has_progress_token else budget.without_progress


OUR_LOG_TARGETS = ("codex_mcp", "codex_mcp_server")
"""How a log filter may name us: our package, and the program that we replace."""

_LEVEL_NAMES: dict[str, LogLevel] = {**{level.value: level for level in LogLevel}, "warn": LogLevel.WARNING}


def level_from_filter(text: str) -> LogLevel | None:
    """The level that a filter such as `debug` or `codex_mcp_server=debug,axum=info` gives us; None if it gives none.

    Our own target wins over the default, wherever it stands; the last one of a kind wins. Parts that cannot be read
    are skipped, since RUST_LOG belongs to other programs too.
    """
    default: LogLevel | None = None
    ours: LogLevel | None = None
    for part in text.lower().split(","):
        target, is_targeted, level = part.strip().rpartition("=")
        if not is_targeted:
            default = _LEVEL_NAMES.get(level.strip(), default)
        elif target.strip().replace("-", "_") in OUR_LOG_TARGETS:
            ours = _LEVEL_NAMES.get(level.strip(), ours)
    return ours or default
