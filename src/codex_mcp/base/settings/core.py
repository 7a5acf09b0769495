"""Pure. Settings of Codex, of the place where its commands run, and of the log."""

from typing import Annotated

from msgspec import Struct

from codex_mcp.base.settings.kinds import (
    DAY,
    GIB,
    HOUR,
    MIB,
    Backend,
    LogLevel,
    Setting,
    assignments,
    count,
    level,
    one_of,
    path,
    program,
    seconds,
    size,
    socket_address,
    switch,
    text,
)


class ExecSettings(Struct, frozen=True, kw_only=True):
    """Where the agents' commands run, if not on this machine."""

    exec_server: Annotated[
        str | None, Setting(socket_address, "URL", "run agents' commands on this exec-server (ws://…)")
    ] = None
    """Commands, patches and file reads of agents happen there, and the sandbox is that machine's. A call with
    `environment: "local"` stays here. While the exec-server does not answer, calls that need it fail."""

    exec_server_token: Annotated[
        str | None, Setting(path, "FILE", "a file that holds the bearer token for the exec-server")
    ] = None


class CoreSettings(Struct, frozen=True, kw_only=True):
    """Which Codex runs, and how."""

    codex_home: Annotated[
        str,
        Setting(path, "DIR", "Codex's folder", variables=("CODEX_HOME",), default="`$CODEX_HOME`, else `~/.codex`"),
    ]
    """It holds config.toml, the sign-in, the threads and the server's log. A folder that you name must exist. Servers
    that start in it at the same time wait for each other (`.codex-mcp.lock`). Its folder `shell_snapshots`, which holds
    your environment, is made readable by you alone."""

    codex_bin: Annotated[
        str | None,
        Setting(program, "FILE", "the Codex to run: a path, or a name on PATH", variables=("ATM_AGENT_MCP_CODEX_BIN",)),
    ] = None
    """Without it, the server runs the `codex` on PATH if its version is a tested one, else the Codex that was installed
    with the server."""

    allow_untested_codex: Annotated[bool, Setting(switch, "", "run a codex_bin of an untested version")] = False
    """Codex's behaviour changes between versions."""

    backend: Annotated[Backend, Setting(one_of(Backend), "WHICH", "run Codex as app-server or mcp-server")] = (
        Backend.AUTO
    )
    """`mcp-server` runs an old Codex (0.103 to 0.153), which can do less. `auto` does so only if `codex_bin` is one."""

    overrides: Annotated[
        tuple[str, ...],
        Setting(assignments, "KEY=VALUE", "override a value of Codex's config.toml", flag="config", short="c"),
    ] = ()
    """Repeat the flag, or write one per line in the variable. Overrides from all places add up, the nearer ones last.
    Only switches, names and addresses appear on Codex's command line, which every user of the machine can read. Keep
    secrets in a file of your own, not in a flag."""

    profile: Annotated[
        str | None, Setting(text, "NAME", "the profile of Codex's configuration for calls that name none", short="p")
    ] = None

    scripted: Annotated[str | None, Setting(path, "FILE", "play this script instead of using a real model")] = None
    """The scripted model runs on this machine and needs no account."""

    trust_repo_settings: Annotated[
        bool, Setting(switch, "", "let a repository's .atm.toml choose what runs and with which rights")
    ] = False

    start_timeout: Annotated[
        float, Setting(seconds(0.1, HOUR), "SECONDS", "give up on a Codex that has not started by then")
    ] = 30
    """Codex takes 0.1 s to start, longer from a cold disk or on a busy machine."""

    request_timeout: Annotated[
        float, Setting(seconds(0.1, DAY), "SECONDS", "stop a Codex that has not answered a request by then")
    ] = 120
    """Its calls and turns fail with that reason, and the next call starts a new Codex. Requests take milliseconds, but
    resuming a thread of a hundred megabytes reads it first. A turn is not a request: it has no limit."""

    max_requests_in_flight: Annotated[int, Setting(count(1, 128), "N", "requests to Codex at once; more wait")] = 64
    """Codex queues 128. Beyond some 200 it was measured to leave requests unanswered; half of its queue is a safe
    distance from that."""

    max_message_bytes: Annotated[
        int, Setting(size(65536), "BYTES", "the longest message that is read, from a client or from Codex")
    ] = 64 * MIB
    """Enough for several images in base64. A longer request of a client is refused. Of a longer message of Codex only
    the outline is read: the turn goes on if that is enough (a command's long output). Otherwise (an answer, or a
    question about a command or a patch, which is then declined) it fails with an error that names this setting."""

    exec: ExecSettings = ExecSettings()


class LogSettings(Struct, frozen=True, kw_only=True):
    """The log and traces."""

    log_level: Annotated[
        LogLevel | None,
        Setting(
            level,
            "LEVEL",
            "how much to log, in the file and on stderr",
            variables=("CODEX_MCP_LOG", "RUST_LOG"),
            default="info in the file, warning on stderr",
        ),
    ] = None

    log_file_bytes: Annotated[int, Setting(size(4096, 1024 * GIB), "BYTES", "start a new log file at this size")] = (
        10 * MIB
    )
    """Some 80,000 lines, which any editor still opens."""

    log_files_kept: Annotated[int, Setting(count(0, 99), "N", "how many older log files to keep")] = 3
    """With the current one 40 MiB at most."""

    otlp_endpoint: Annotated[
        str | None,
        Setting(text, "URL", "send traces to this OpenTelemetry collector", variables=("OTEL_EXPORTER_OTLP_ENDPOINT",)),
    ] = None
    """OTLP over HTTP, such as `http://127.0.0.1:4318`. It needs the extra `otel`."""
