"""Pure. Options for connecting to an exec-server, and for starting a process there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.execclient.recovery import RECOVERY_SECONDS
from codex_mcp.wire.exec.protocol import EnvPolicy, Inherit
from codex_mcp.wire.exec.sandbox import Sandbox


class ExecServerClientConnectOptions(Struct, frozen=True):
    """Identity and timeouts of a client."""

    client_name: str = "codex-mcp"
    resume_session_id: str | None = None
    """A session that another client has left; its processes can be adopted."""
    bearer_token: str | None = None
    """Sent as `Authorization: Bearer …`; through a rendezvous, the token for its registry."""
    pin: str | None = None
    """Through a rendezvous: the fingerprint that the executor must have (`sha256:…`)."""
    connect_timeout: float = 10.0
    """Seconds to open the connection; TCP alone would try for minutes."""
    initialize_timeout: float = 10.0
    """Seconds for the handshake, which takes a server milliseconds unless it is overloaded."""
    recovery_seconds: float = RECOVERY_SECONDS
    """How long to try to resume a lost connection before the session is given up."""


DEFAULT_OPTIONS: Final = ExecServerClientConnectOptions()


class RemoteExecServerConnectArgs(Struct, frozen=True):
    """An address and what its client needs, in one value: a program can take it from its own configuration."""

    websocket_url: str
    client_name: str = DEFAULT_OPTIONS.client_name
    connect_timeout: float = DEFAULT_OPTIONS.connect_timeout
    initialize_timeout: float = DEFAULT_OPTIONS.initialize_timeout
    resume_session_id: str | None = None

    @property
    def options(self) -> ExecServerClientConnectOptions:
        return ExecServerClientConnectOptions(
            client_name=self.client_name,
            resume_session_id=self.resume_session_id,
            connect_timeout=self.connect_timeout,
            initialize_timeout=self.initialize_timeout,
        )


INHERITED: Final = EnvPolicy(inherit=Inherit.ALL, ignore_default_excludes=False, exclude=[], set={}, include_only=[])
"""The server's own environment, without variables whose names suggest a secret."""


class StartOptions(Struct, frozen=True):
    """How a process is started, apart from its command line."""

    cwd: str | None = None
    """An absolute path or file: URI; None is the server's working folder."""
    env: Mapping[str, str] | None = None
    """Added to what `env_policy` leaves of the server's environment."""
    env_policy: EnvPolicy | None = INHERITED
    """None: the process gets `env` and nothing else."""
    tty: bool = False
    pipe_stdin: bool = False
    """Without a terminal: whether stdin can be written to. Otherwise it is /dev/null."""
    arg0: str | None = None
    sandbox: Sandbox | None = None
    process_id: str | None = None
    """The process's id in the session; None generates one."""


DEFAULT_START: Final = StartOptions()
