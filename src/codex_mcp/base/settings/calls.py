"""Pure. Settings of calls, turns and threads; and how long each client waits for a call."""

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    DAY,
    HOUR,
    INSTANT,
    MIB,
    MONTH,
    Events,
    OnClientTimeout,
    Protocol,
    count,
    group,
    one_of,
    prices,
    seconds,
    setting,
    size,
    switch,
)


@group
class CallSettings(Struct, frozen=True, kw_only=True):
    """Calls, their turns, and the threads that they use."""

    events: Events | None = setting(
        None, one_of(Events), "|".join(Events), "which codex/event notifications to send", shown="by client"
    )
    """`full` adds item_* and raw_* events, several times the traffic; `none` sends none. By default `standard`, but
    `none` for clients that are known to make nothing of them."""

    protocol: Protocol = setting(Protocol.BOTH, one_of(Protocol), "|".join(Protocol), "which eras of MCP to speak")
    """`legacy` speaks only the revisions with a handshake, in case a client misbehaves with a newer one."""

    approval_timeout: float = setting(
        600, seconds(INSTANT, MONTH, zero="refuse at once"), "SECONDS", "deny a question that is unanswered by then"
    )
    """Ten minutes are long enough for a short break, and a forgotten question does not block a turn for a day."""

    denial_ends_turn: bool = setting(
        False, switch, "", "end the turn, and its call with an error, when a command or a patch is denied"
    )
    """By default the model is told of the denial and goes on, as in every Codex that was released."""

    soft_deadline: float | None = setting(
        None, seconds(1, MONTH, zero="never"), "SECONDS", "return a longer call as running", shown="by client"
    )
    """Such a call returns `status: running`, and `codex_wait` collects its result."""

    on_client_timeout: OnClientTimeout = setting(
        OnClientTimeout.CONTINUE,
        one_of(OnClientTimeout),
        "|".join(OnClientTimeout),
        "what happens to a turn whose client has waited as long as it wants to",
    )
    """`continue`: the turn goes on, and `codex_wait` returns its answer. A cancel by a person stops it anyway."""

    max_answer_chars: int | None = setting(
        None, count(0, 1_000_000_000, zero="never"), "CHARS", "cut a longer answer after a line", shown="by client"
    )
    """The result says how to get the rest. By default 60,000 for Claude Code, 25,000 for Qwen Code, 18,000 for Copilot
    CLI, 6,000 for Cline and 36,000 for others. A character counts as the bytes that it takes in JSON. An answer with an
    `output-schema` is never cut."""

    prices: tuple[str, ...] = setting((), prices, "MODEL=INPUT/CACHED/OUTPUT", "what a million tokens of a model cost")
    """Then results, `codex_threads` and `codex_status` say what was spent. `*` stands for every other model."""

    progress_interval: float = setting(
        5, seconds(INSTANT, HOUR), "SECONDS", "send progress at least this often to clients that ask for it"
    )
    """Often enough that a person sees that the call is alive, and far below the shortest known idle limit of a client
    (60 s)."""

    unreachable_timeout: float = setting(
        300,
        seconds(INSTANT, DAY, zero="no limit"),
        "SECONDS",
        "fail a turn whose model has been unreachable for this long",
    )
    """Codex itself retries without end. Meanwhile, progress and `codex_wait` show the cause. A provider that restarts
    is back within five minutes."""

    interrupt_grace: float = setting(
        10, seconds(INSTANT, HOUR, zero="do not wait"), "SECONDS", "how long an interrupted turn may take to end"
    )
    """Then its call is answered without it. Codex kills commands at once; what takes time is a tool of another MCP
    server."""

    shutdown_grace: float = setting(
        30, seconds(INSTANT, DAY, zero="interrupt at once"), "SECONDS", "how long turns may go on when the server stops"
    )
    """It begins when the client closes stdin, or with SIGTERM. A turn that is about to end does so; a longer grace
    would look like a process that cannot be stopped. With a team it is at most 5, since agents must be asked for their
    summaries within ten seconds. If stdout is closed, turns are interrupted at once."""

    max_turns_waiting: int = setting(
        32, count(0, 10_000), "N", "prompts that may wait for one thread; more are refused"
    )
    """More than anyone queues on purpose, and it stops a client in a loop before it fills the memory."""

    outbox_bytes: int = setting(
        8 * MIB, size(65536), "BYTES", "unsent bytes beyond which a client's events are held back"
    )
    """Tens of thousands of deltas: a client so far behind does not read. Answers are never dropped."""

    finished_turns_kept: int = setting(256, count(1, 100_000), "N", "results kept until codex_wait collects them")
    """Beyond that the oldest result is dropped; it remains in the thread's history on disk."""

    thread_idle: float = setting(900, seconds(0.1, MONTH), "SECONDS", "unload a thread unused for this long")
    """That frees Codex's memory, and the thread is loaded again when it is needed. A person who reads an answer and
    thinks for a quarter of an hour does not have to wait."""

    threads_per_principal: int = setting(1000, count(1, 1_000_000), "N", "open threads of one principal")
    """Beyond that, the thread unused for longest is unloaded until it is needed again."""

    turns_per_principal: int = setting(
        64, count(1, 1_000_000), "N", "turns of one principal that run at once; more wait"
    )
    """Without tokens there is one principal, and no such limit."""

    queued_turns_per_principal: int = setting(
        1000, count(1, 1_000_000), "N", "turns of one principal that may wait, in all its threads; more are refused"
    )

    queued_bytes_per_principal: int = setting(
        128 * MIB, size(65536), "BYTES", "bytes that the prompts and images of those turns may hold"
    )
