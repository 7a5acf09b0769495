"""Pure. Settings of calls, turns and threads; and how long each client waits for a call."""

from typing import Annotated

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    DAY,
    HOUR,
    INSTANT,
    MIB,
    MONTH,
    Events,
    Protocol,
    Setting,
    count,
    one_of,
    seconds,
    size,
)


class CallSettings(Struct, frozen=True, kw_only=True):
    """Calls, their turns, and the threads that they use."""

    events: Annotated[Events, Setting(one_of(Events), "WHICH", "which codex/event notifications to send")] = (
        Events.STANDARD
    )
    """`full` adds item_* and raw_* events, several times the traffic; `none` sends none."""

    protocol: Annotated[Protocol, Setting(one_of(Protocol), "ERAS", "which eras of MCP to speak")] = Protocol.BOTH
    """`legacy` speaks only the revisions with a handshake, in case a client misbehaves with a newer one."""

    approval_timeout: Annotated[
        float,
        Setting(
            seconds(INSTANT, MONTH, zero="refuse at once"), "SECONDS", "deny a question that is unanswered by then"
        ),
    ] = 600
    """Ten minutes are long enough for a short break, and a forgotten question does not block a turn for a day."""

    soft_deadline: Annotated[
        float | None,
        Setting(seconds(1, MONTH, zero="never"), "SECONDS", "return a longer call as running", default="by client"),
    ] = None
    """Such a call returns `status: running`, and `codex_wait` collects its result."""

    progress_interval: Annotated[
        float,
        Setting(seconds(INSTANT, HOUR), "SECONDS", "send progress at least this often to clients that ask for it"),
    ] = 5
    """Often enough that a person sees that the call is alive, and far below the shortest known idle limit of a client
    (60 s)."""

    unreachable_timeout: Annotated[
        float,
        Setting(
            seconds(INSTANT, DAY, zero="no limit"),
            "SECONDS",
            "fail a turn whose model has been unreachable for this long",
        ),
    ] = 300
    """Codex itself retries without end. Meanwhile, progress and `codex_wait` show the cause. A provider that restarts
    is back within five minutes."""

    interrupt_grace: Annotated[
        float,
        Setting(seconds(INSTANT, HOUR, zero="do not wait"), "SECONDS", "how long an interrupted turn may take to end"),
    ] = 10
    """Then its call is answered without it. Codex kills commands at once; what takes time is a tool of another MCP
    server."""

    shutdown_grace: Annotated[
        float,
        Setting(
            seconds(INSTANT, DAY, zero="interrupt at once"), "SECONDS", "how long turns may go on when the server stops"
        ),
    ] = 30
    """It begins when the client closes stdin, or with SIGTERM. A turn that is about to end does so; a longer grace
    would look like a process that cannot be stopped. With a team it is at most 5, since agents must be asked for their
    summaries within ten seconds. If stdout is closed, turns are interrupted at once."""

    max_turns_waiting: Annotated[
        int, Setting(count(0, 10_000), "N", "prompts that may wait for one thread; more are refused")
    ] = 32
    """More than anyone queues on purpose, and it stops a client in a loop before it fills the memory."""

    outbox_bytes: Annotated[
        int, Setting(size(65536), "BYTES", "unsent bytes beyond which a client's events are held back")
    ] = 8 * MIB
    """Tens of thousands of deltas: a client so far behind does not read. Answers are never dropped."""

    finished_turns_kept: Annotated[
        int, Setting(count(1, 100_000), "N", "results kept until codex_wait collects them")
    ] = 256
    """Beyond that the oldest result is dropped; it remains in the thread's history on disk."""

    thread_idle: Annotated[float, Setting(seconds(0.1, MONTH), "SECONDS", "unload a thread unused for this long")] = 900
    """That frees Codex's memory, and the thread is loaded again when it is needed. A person who reads an answer and
    thinks for a quarter of an hour does not have to wait."""

    threads_per_principal: Annotated[int, Setting(count(1, 1_000_000), "N", "open threads of one principal")] = 1000
    """Beyond that, the thread unused for longest is unloaded until it is needed again."""

    turns_per_principal: Annotated[
        int, Setting(count(1, 1_000_000), "N", "turns of one principal that run at once; more wait")
    ] = 64
    """Without tokens there is one principal, and no such limit."""

    queued_turns_per_principal: Annotated[
        int,
        Setting(count(1, 1_000_000), "N", "turns of one principal that may wait, in all its threads; more are refused"),
    ] = 1000

    queued_bytes_per_principal: Annotated[
        int, Setting(size(65536), "BYTES", "bytes that the prompts and images of those turns may hold")
    ] = 128 * MIB


class Budget(Struct, frozen=True):
    """How long a client lets a call run; None means without limit."""

    with_progress: float | None
    without_progress: float | None


# The limits of the clients were measured with their latest version; a margin is left for the answer to arrive.
UNKNOWN_CLIENT = Budget(with_progress=240, without_progress=45)
"""Cursor and others give up at 300 s, with or without progress. A client that sends no progress token most likely uses
the TypeScript SDK's default of 60 s."""

CLIENT_BUDGETS: dict[str, Budget] = {
    # No limit while there is progress; silent calls over stdio end after 30 minutes.
    "claude-code": Budget(with_progress=None, without_progress=1500),
    # Claude Desktop has been seen to end calls at 60 s and at 240 s.
    "claude-ai": Budget(with_progress=45, without_progress=45),
    # Codex as a client: 300 s (`tool_timeout_sec`), progress or not.
    "codex-mcp-client": Budget(with_progress=240, without_progress=240),
}


def soft_deadline_for(client_name: str, settings: CallSettings, *, has_progress_token: bool) -> float | None:
    """After how many seconds a call of this client returns `status: running`; None means never."""
    if settings.soft_deadline is not None:
        return settings.soft_deadline or None
    budget = CLIENT_BUDGETS.get(client_name.lower(), UNKNOWN_CLIENT)
    return budget.with_progress if has_progress_token else budget.without_progress
