"""Pure. Settings of Codex, of the place where its commands run, and of the log."""

from typing import Any

from msgspec import NODEFAULT, Struct

from codex_mcp.base.settings.environments import (
    EXEC_ENVIRONMENT,
    LOCAL_ENVIRONMENT,
    Environment,
    NamedEnvironments,
)
from codex_mcp.base.settings.kinds import (
    DAY,
    GIB,
    HOUR,
    MIB,
    Backend,
    LogLevel,
    assignments,
    count,
    fingerprint,
    group,
    level,
    one_of,
    path,
    place_of_commands,
    program,
    seconds,
    setting,
    size,
    switch,
    text,
)

REQUIRED: Any = NODEFAULT

NEWEST = "newest"
TESTED = "tested"


@group
class ExecSettings(Struct, frozen=True, kw_only=True):
    """Where the agents' commands run, if not on this machine."""

    exec_server: str | None = setting(
        None, place_of_commands, "URL|NAME", "run agents' commands on this exec-server (ws://…, relay+https://HOST/ID)"
    )
    """Or in this environment, if it is the name of one. Commands, patches and file reads of agents happen there, and
    the sandbox is that machine's. A call with `environment: "local"` stays here. While the exec-server does not answer,
    calls that need it fail."""

    exec_server_token: str | None = setting(
        None, path, "FILE", "a file that holds the bearer token for the exec-server"
    )

    exec_server_pin: str | None = setting(
        None, fingerprint, "FINGERPRINT", "refuse any other executor behind the rendezvous"
    )
    """For `relay+https://` addresses: whatever the rendezvous says, commands run only on the executor with this key."""


@group
class CoreSettings(Struct, frozen=True, kw_only=True):
    """Which Codex runs, and how."""

    codex_home: str = setting(
        REQUIRED, path, "DIR", "Codex's folder", variables=("CODEX_HOME",), shown="`$CODEX_HOME`, else `~/.codex`"
    )
    """It holds config.toml, the sign-in, the threads and the server's log. A folder that you name must exist. Servers
    that start in it at the same time wait for each other (`.codex-mcp.lock`). Its folder `shell_snapshots`, which holds
    your environment, is made readable by you alone."""

    codex_version: str = setting(
        NEWEST, program, "tested|newest|FILE", "the Codex to run: a tested one, the newest, or this program"
    )
    """With `newest`, the server runs the `codex` on PATH if it is one that codex-mcp was tested with, or a newer one
    that has passed the self-test on this machine (`codex-mcp doctor --self-test`); it tries a new one in the background
    when it meets it. Otherwise it runs the Codex that was installed with it. With `tested`, no version is used that
    codex-mcp was not tested with. A path, or a name on PATH, is run after it has passed the self-test."""

    codex_bin: str | None = setting(
        None, program, "FILE", "the older name of codex_version for a program", variables=("ATM_AGENT_MCP_CODEX_BIN",)
    )

    allow_untested_codex: bool = setting(False, switch, "", "run the named Codex without trying it first")
    """For a Codex that you have built yourself. Codex's behaviour changes between versions."""

    backend: Backend = setting(
        Backend.AUTO, one_of(Backend), "|".join(Backend), "run Codex as app-server or mcp-server"
    )
    """`mcp-server` runs an old Codex (0.103 to 0.153), which can do less. `auto` does so only if
    `codex_version` names one."""

    overrides: tuple[str, ...] = setting(
        (), assignments, "KEY=VALUE", "override a value of Codex's config.toml", flag="config", short="c"
    )
    """Repeat the flag, or write one per line in the variable. Overrides from all places add up, the nearer ones last.
    Only switches, names and addresses appear on Codex's command line, which every user of the machine can read. Keep
    secrets in a file of your own, not in a flag."""

    profile: str | None = setting(
        None, text, "NAME", "the profile of Codex's configuration for calls that name none", short="p"
    )

    scripted: str | None = setting(None, path, "FILE", "play this script instead of using a real model")
    """The scripted model runs on this machine and needs no account."""

    trust_repo_settings: bool = setting(
        False, switch, "", "let a repository's .atm.toml choose what runs and with which rights"
    )

    start_timeout: float = setting(30, seconds(0.1, HOUR), "SECONDS", "give up on a Codex that has not started by then")
    """Codex takes 0.1 s to start, longer from a cold disk or on a busy machine."""

    request_timeout: float = setting(
        120, seconds(0.1, DAY), "SECONDS", "stop a Codex that has not answered a request by then"
    )
    """Its calls and turns fail with that reason, and the next call starts a new Codex. Requests take milliseconds, but
    resuming a thread of a hundred megabytes reads it first. A turn is not a request: it has no limit."""

    max_requests_in_flight: int = setting(64, count(1, 128), "N", "requests to Codex at once; more wait")
    """Codex queues 128. Beyond some 200 it was measured to leave requests unanswered; half of its queue is a safe
    distance from that."""

    max_message_bytes: int = setting(
        64 * MIB, size(65536), "BYTES", "the longest message that is read, from a client or from Codex"
    )
    """Enough for several images in base64. A longer request of a client is refused. Of a longer message of Codex only
    the outline is read: the turn goes on if that is enough (a command's long output). Otherwise (an answer, or a
    question about a command or a patch, which is then declined) it fails with an error that names this setting."""

    exec: ExecSettings = ExecSettings()
    named: NamedEnvironments = NamedEnvironments()

    @property
    def named_codex(self) -> str | None:
        """The program that the user wants to run; None if the version decides."""
        return self.codex_bin or (None if self.codex_version in (NEWEST, TESTED) else self.codex_version)

    @property
    def environments(self) -> dict[str, Environment]:
        """Where commands can run besides this machine, by name."""
        found = {each.name: each for each in self.named.all}
        server = self.exec.exec_server
        if server is not None and "://" in server:
            token, pin = self.exec.exec_server_token, self.exec.exec_server_pin
            found[EXEC_ENVIRONMENT] = Environment(EXEC_ENVIRONMENT, server, token, pin)
        return found

    @property
    def default_environment(self) -> str | None:
        """Where the commands of a call run that names no place; None if there is only this machine."""
        server = self.exec.exec_server
        if server is not None:
            return EXEC_ENVIRONMENT if "://" in server else server
        return LOCAL_ENVIRONMENT if self.named.all else None


@group
class LogSettings(Struct, frozen=True, kw_only=True):
    """The log and traces."""

    log_level: LogLevel | None = setting(
        None,
        level,
        "LEVEL",
        "how much to log, in the file and on stderr",
        variables=("CODEX_MCP_LOG", "RUST_LOG"),
        shown="info in the file, warning on stderr",
    )

    log_file_bytes: int = setting(10 * MIB, size(4096, 1024 * GIB), "BYTES", "start a new log file at this size")
    """Some 80,000 lines, which any editor still opens."""

    log_files_kept: int = setting(3, count(0, 99), "N", "how many older log files to keep")
    """With the current one 40 MiB at most."""

    otlp_endpoint: str | None = setting(
        None, text, "URL", "send traces to this OpenTelemetry collector", variables=("OTEL_EXPORTER_OTLP_ENDPOINT",)
    )
    """OTLP over HTTP, such as `http://127.0.0.1:4318`. It needs the extra `otel`."""
