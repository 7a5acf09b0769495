"""Pure. The exec-server's protocol as Codex 0.166.0 speaks it: handshake, processes, environment, error codes.

JSON-RPC without a "jsonrpc" member; an error with id -1 answers an unreadable message. Bytes are sent as base64. In
messages of the server they are `bytes` here, and msgspec converts them; in messages to the server they are text,
because the server is stricter than msgspec (base64.py). Optional fields of requests are omitted when None; those of
results are sent as null.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from codex_mcp.wire.exec.sandbox import Sandbox

NOT_FOUND: Final = -32004
"""A path does not exist; other file errors are -32600 (denied, invalid) and -32603 (the rest)."""

ALREADY_ATTACHED: Final = -32010
"""Another connection still holds the session to resume; try again in a moment."""

UNREADABLE_ID: Final = -1
"""The id of the error that answers an unreadable message."""


class Initialize(Struct, frozen=True, rename="camel", omit_defaults=True):
    client_name: str
    resume_session_id: str | None = None


class Shell(Struct, frozen=True):
    name: str
    path: str


class Capabilities(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Optional features of a server, as far as we use them. Only those that are true are sent."""

    fs_watch_missing: bool = False
    sandboxed_file_streaming: bool = False
    file_write_streaming: bool = False
    # Our additions to 0.166.0:
    process_resize: bool = False
    process_close_stdin: bool = False


class EnvironmentInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to `environment/info`, and part of the answer to `initialize`. Paths are file: URIs."""

    shell: Shell
    executor_version: str | None = None
    cwd: str | None = None
    user_home_dir: str | None = None
    platform_os: str | None = None
    temporary_directories: list[str] = []
    temp_dir: str | None = None
    capabilities: Capabilities | UnsetType = UNSET


class Initialized(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Servers before 0.166 omit the environment."""

    session_id: str
    environment_info: EnvironmentInfo | None = None


class EnvironmentStatus(Struct, frozen=True):
    status: str = "ready"


class Inherit(StrEnum):
    ALL = "all"
    CORE = "core"
    NONE = "none"


class EnvPolicy(Struct, frozen=True, rename="camel"):
    """How the server's environment is filtered, before `env` is added."""

    inherit: Inherit
    ignore_default_excludes: bool
    exclude: list[str]
    set: dict[str, str]
    include_only: list[str]


class StartProcess(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Our server refuses the last four fields, which are features of the real one."""

    process_id: str
    argv: list[str]
    cwd: str
    env: dict[str, str]
    tty: bool
    pipe_stdin: bool = False
    arg0: str | None = None
    env_policy: EnvPolicy | None = None
    sandbox: Sandbox | None = None
    metadata: dict[str, object] | None = None
    enforce_managed_network: bool = False
    managed_network: dict[str, object] | None = None
    network_proxy: dict[str, object] | None = None
    shell_snapshot: dict[str, object] | None = None


class SandboxType(StrEnum):
    NONE = "none"
    MACOS_SEATBELT = "macosSeatbelt"
    LINUX_SECCOMP = "linuxSeccomp"
    WINDOWS_RESTRICTED_TOKEN = "windowsRestrictedToken"
    WINDOWS_MXC = "windowsMxc"


class ProcessStarted(Struct, frozen=True, rename="camel"):
    process_id: str
    sandbox_type: SandboxType = SandboxType.NONE


class ReadProcess(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Asks for output after a sequence number; `wait_ms` waits for some."""

    process_id: str
    after_seq: int | None = None
    max_bytes: int | None = None
    wait_ms: int | None = None


class OutputStream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"
    PTY = "pty"


class Chunk(Struct, frozen=True):
    seq: int
    stream: OutputStream
    chunk: bytes


class ProcessRead(Struct, frozen=True, rename="camel"):
    """Servers never set `failure`; clients set it for lost processes."""

    chunks: list[Chunk]
    next_seq: int
    exited: bool
    exit_code: int | None
    closed: bool
    failure: str | None = None
    sandbox_denied: bool = False


class WriteProcess(Struct, frozen=True, rename="camel"):
    """A repeated `write_id` is accepted but not written again. Without one, every request is written."""

    process_id: str
    chunk: str
    write_id: str | None = None


class WriteStatus(StrEnum):
    ACCEPTED = "accepted"
    UNKNOWN_PROCESS = "unknownProcess"
    STDIN_CLOSED = "stdinClosed"
    STARTING = "starting"


class ProcessWritten(Struct, frozen=True):
    status: WriteStatus


class Signal(StrEnum):
    INTERRUPT = "interrupt"


class SignalProcess(Struct, frozen=True, rename="camel"):
    """Signals the whole process group; an unknown process is not an error."""

    process_id: str
    signal: Signal


class TerminateProcess(Struct, frozen=True, rename="camel"):
    """Kills the whole process group."""

    process_id: str


class ProcessTerminated(Struct, frozen=True):
    """Whether the process was running."""

    running: bool


class ResizeProcess(Struct, frozen=True, rename="camel"):
    """`process/resize` (our addition) sets the terminal's size."""

    process_id: str
    rows: int
    cols: int


class CloseStdin(Struct, frozen=True, rename="camel"):
    """`process/closeStdin` (our addition) closes stdin after everything that has been written."""

    process_id: str


class Empty(Struct, frozen=True):
    """An empty answer."""


class ProcessOutput(Struct, frozen=True, rename="camel"):
    process_id: str
    seq: int
    stream: OutputStream
    chunk: bytes


class ProcessExited(Struct, frozen=True, rename="camel"):
    """The process itself ended; its children may still write to its output."""

    process_id: str
    seq: int
    exit_code: int
    sandbox_denied: bool = False


class ProcessClosed(Struct, frozen=True, rename="camel"):
    """The last event of a process."""

    process_id: str
    seq: int
