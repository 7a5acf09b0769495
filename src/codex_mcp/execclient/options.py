"""Pure. How to reach an exec-server, and how to start a process there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from codex_mcp.execclient.recovery import RECOVERY_SECONDS
from codex_mcp.wire.exec.protocol import EnvPolicy, Inherit
from codex_mcp.wire.exec.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class ExecServerClientConnectOptions:
    """How a client introduces itself, and how patient it is."""

    client_name: str = "codex-mcp"
    resume_session_id: str | None = None
    """A session that another client has left: its processes can be adopted."""
    bearer_token: str | None = None
    """Sent as `Authorization: Bearer …`, for servers that ask for it."""
    connect_timeout: float = 10.0
    """Seconds until an address where nobody answers counts as dead; TCP alone would try for minutes."""
    initialize_timeout: float = 10.0
    """Seconds for the handshake, which a server answers in milliseconds unless it is overwhelmed."""
    recovery_seconds: float = RECOVERY_SECONDS
    """How long a lost connection may take to come back before the session is given up."""


DEFAULT_OPTIONS: Final = ExecServerClientConnectOptions()

INHERITED: Final = EnvPolicy(inherit=Inherit.ALL, ignore_default_excludes=False, exclude=[], set={}, include_only=[])
"""The server's own environment, without what looks like a secret by its name."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process is started, beyond its command line."""

    cwd: str | None = None
    """An absolute path or file: URI; None is the server's own folder."""
    env: Mapping[str, str] | None = None
    """Laid over what `env_policy` leaves of the server's environment."""
    env_policy: EnvPolicy | None = INHERITED
    """None: the process has `env` and nothing else."""
    tty: bool = False
    pipe_stdin: bool = False
    """Without a terminal: may it be written to? Else it reads from /dev/null."""
    arg0: str | None = None
    sandbox: Sandbox | None = None
    process_id: str | None = None
    """Its name in the session; None makes one up."""


DEFAULT_LAUNCH: Final = Launch()
