"""Pure. The exec-server's protocol as Codex 0.166.0 speaks it: handshake, processes, environment, error codes.

JSON-RPC without a "jsonrpc" member; an error with id -1 answers what could not be read at all. Files are in
exec_files.py, the sandbox object in exec_sandbox.py. Bytes travel as base64: in what the server sends they are `bytes`
here, and msgspec translates; in what it receives they are text, because what is accepted is stricter than msgspec
(exec_base64.py). Optional fields of requests are left out when they are None; those of results are sent as null.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from codex_mcp.wire.exec.sandbox import Sandbox

DEFAULT_LISTEN_URL: Final = "ws://127.0.0.1:0"

NOT_FOUND: Final = -32004
"""A path that does not exist; the other file errors are -32600 (denied, invalid) and -32603 (the rest)."""

ALREADY_ATTACHED: Final = -32010
"""The session to resume is still held by another connection; try again in a moment."""

UNREADABLE_ID: Final = -1
"""The id of the error that answers a message whose own id could not be read."""


class Initialize(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`initialize`."""

    client_name: str
    resume_session_id: str | None = None


class Shell(Struct, frozen=True):
    """The shell that commands should be given to."""

    name: str
    path: str


class Capabilities(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an executor can do beyond the basics. Absent is false, so only what is true is sent."""

    network_proxy_launch: bool = False
    network_proxy_review_domains: bool = False
    credential_masking: bool = False
    credential_masking_custom_providers: bool = False
    capability_discovery_sandbox: bool = False
    fs_watch_missing: bool = False
    capability_discovery_v2: bool = False
    environment_config_read: bool = False
    http_header_env_vars: bool = False
    sandboxed_file_streaming: bool = False
    file_write_streaming: bool = False
    shell_snapshot_v2: bool = False
    windows_mxc: bool = False
    linux_root_write_preserves_devices: bool = False
    linux_approved_root_write_preserves_restrictions: bool = False
    # Ours, beyond 0.166.0:
    process_resize: bool = False
    process_close_stdin: bool = False


class EnvironmentInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`environment/info`, and part of the answer to `initialize`. Paths are file: URIs."""

    shell: Shell
    executor_version: str | None = None
    provider_id: str | None = None
    cwd: str | None = None
    user_home_dir: str | None = None
    platform_os: str | None = None
    prepend_path_dirs: list[str] = []
    temporary_directories: list[str] = []
    temp_dir: str | None = None
    capabilities: Capabilities | UnsetType = UNSET


class Initialized(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to `initialize`. Executors before 0.166 leave the environment out."""

    session_id: str
    environment_info: EnvironmentInfo | None = None


class EnvironmentStatus(Struct, frozen=True):
    """`environment/status`."""

    status: str = "ready"


class Inherit(StrEnum):
    """How much of the server's own environment a process starts with."""

    ALL = "all"
    CORE = "core"
    NONE = "none"


class EnvPolicy(Struct, frozen=True, rename="camel"):
    """How the server's environment becomes the process's, before `env` is laid over it."""

    inherit: Inherit
    ignore_default_excludes: bool
    exclude: list[str]
    set: dict[str, str]
    include_only: list[str]


class StartProcess(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`process/start`. The last five fields are features of the real server that may be asked for and be refused."""

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
    """What confines a process."""

    NONE = "none"
    MACOS_SEATBELT = "macosSeatbelt"
    LINUX_SECCOMP = "linuxSeccomp"
    WINDOWS_RESTRICTED_TOKEN = "windowsRestrictedToken"
    WINDOWS_MXC = "windowsMxc"


class ProcessStarted(Struct, frozen=True, rename="camel"):
    """The answer to `process/start`."""

    process_id: str
    sandbox_type: SandboxType = SandboxType.NONE


class ReadProcess(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`process/read`: output after a sequence number, waiting for some if there is none."""

    process_id: str
    after_seq: int | None = None
    max_bytes: int | None = None
    wait_ms: int | None = None


class OutputStream(StrEnum):
    """Where output came from."""

    STDOUT = "stdout"
    STDERR = "stderr"
    PTY = "pty"


class Chunk(Struct, frozen=True):
    """A piece of output with its place in the process's one sequence."""

    seq: int
    stream: OutputStream
    chunk: bytes


class ProcessRead(Struct, frozen=True, rename="camel"):
    """The answer to `process/read`. `failure` is never set by a server; clients fill it in for lost processes."""

    chunks: list[Chunk]
    next_seq: int
    exited: bool
    exit_code: int | None
    closed: bool
    failure: str | None = None
    sandbox_denied: bool = False


class WriteProcess(Struct, frozen=True, rename="camel"):
    """`process/write`. The same `write_id` again is accepted and not written again."""

    process_id: str
    chunk: str
    write_id: str


class WriteStatus(StrEnum):
    """What became of a write."""

    ACCEPTED = "accepted"
    UNKNOWN_PROCESS = "unknownProcess"
    STDIN_CLOSED = "stdinClosed"
    STARTING = "starting"


class ProcessWritten(Struct, frozen=True):
    """The answer to `process/write`, and to `process/closeStdin`."""

    status: WriteStatus


class Signal(StrEnum):
    """The one signal that can be asked for by name."""

    INTERRUPT = "interrupt"


class SignalProcess(Struct, frozen=True, rename="camel"):
    """`process/signal`: to the whole process group; an unknown process is no error."""

    process_id: str
    signal: Signal


class TerminateProcess(Struct, frozen=True, rename="camel"):
    """`process/terminate`: kill the whole process group now."""

    process_id: str


class ProcessTerminated(Struct, frozen=True):
    """The answer to `process/terminate`: did it still run?"""

    running: bool


class ResizeProcess(Struct, frozen=True, rename="camel"):
    """`process/resize` (ours): the terminal's new size."""

    process_id: str
    rows: int
    cols: int


class CloseStdin(Struct, frozen=True, rename="camel"):
    """`process/closeStdin` (ours): after what has been written, the process reads the end of its input."""

    process_id: str


class Empty(Struct, frozen=True):
    """An answer with nothing in it."""


class ProcessOutput(Struct, frozen=True, rename="camel"):
    """`process/output`, to the client."""

    process_id: str
    seq: int
    stream: OutputStream
    chunk: bytes


class ProcessExited(Struct, frozen=True, rename="camel"):
    """`process/exited`, to the client: the process itself has ended; others may still hold its output."""

    process_id: str
    seq: int
    exit_code: int
    sandbox_denied: bool = False


class ProcessClosed(Struct, frozen=True, rename="camel"):
    """`process/closed`, to the client: no event comes after it."""

    process_id: str
    seq: int
