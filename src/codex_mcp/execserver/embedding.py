"""The exec-server inside another Python program: `await run_main(url, paths)` serves until its task is cancelled.

The program's event loop serves the clients. Commands are started from its process, whose working folder becomes `/`,
and whose open files are closed in commands. Unlike with `codex-mcp exec-server`, commands outlive a program that is
killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Final

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.sandbox.confinement import Confinement, bubblewraps
from codex_mcp.execserver.serve import Plan, parse_listen, serve
from codex_mcp.execserver.starting import bundled_bubblewrap

DEFAULT_LISTEN_URL: Final = "ws://127.0.0.1:0"


@dataclass(frozen=True, slots=True)
class ExecServerRuntimePaths:
    """Programs that the server needs while it runs."""

    codex_linux_sandbox_exe: str | None = None
    """The bubblewrap that confines commands. None: the system's own, else the one that comes with Codex."""


async def run_main(
    listen_url: str,
    runtime_paths: ExecServerRuntimePaths,
    *,
    environment: Mapping[str, str] | None = None,
    stdout: IO[bytes] | None = None,
) -> None:
    """Serve on `ws://IP:PORT`, and print the address as a line on stdout. Cancel the task to stop.

    Raises Refused for an address that cannot be used: one that other machines can reach is for `codex-mcp exec-server
    --ws-auth`. `environment` is what commands inherit; None is the program's own.
    """
    address = parse_listen(listen_url)
    if address.host is None:
        raise Refused("cannot embed an exec-server on stdio: give an address such as ws://127.0.0.1:0")
    if not address.is_local:
        raise Refused(f"cannot listen on {address.host}: others could run commands here; listen on 127.0.0.1")
    inherited = dict(os.environ if environment is None else environment)  # noqa: TID251  there is no command line
    sandbox = runtime_paths.codex_linux_sandbox_exe
    candidates = bubblewraps(bundled_bubblewrap()) if sandbox is None else [sandbox]
    temporary = inherited.get("TMPDIR", "")
    plan = Plan(
        address=address,
        environment=inherited,
        cwd=os.getcwd(),
        concurrent=1,
        refusal=lambda _header: None,
        confinement=Confinement(candidates, [temporary] if os.path.isabs(temporary) else []),
        takes_signals=False,
    )
    await serve(plan, sys.stdin.buffer, sys.stdout.buffer if stdout is None else stdout)
