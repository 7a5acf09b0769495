"""Starts the server: from command line flags (`run`), or inside another Python program (`run_main` on an address,
`run_remote_environment` behind a rendezvous).

Embedded, the program's event loop serves the clients. Commands are started from its process, whose working folder
becomes `/`, and do not inherit its open files. Unlike with `codex-mcp exec-server`, commands outlive a program that is
killed.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, Final

import uvloop
from msgspec import Struct

from codex_mcp.access.token_files import read_secret
from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import one_line
from codex_mcp.base.processes.linux_features import check_linux
from codex_mcp.base.secrets.client_variables import without_session
from codex_mcp.base.signals import STOP_SIGNALS, signals_handled
from codex_mcp.execserver.auth import CapabilityToken, SignedToken
from codex_mcp.execserver.connection import StreamServer
from codex_mcp.execserver.sandbox.confinement import Confinement, bubblewraps, temporary_folders
from codex_mcp.execserver.serve import (
    Address,
    AuthCheck,
    ExecServerListenUrlParseError,
    RunRemote,
    ServerConfig,
    parse_listen,
    serve,
    stop_when_stdin_ends,
    until_stopped,
)

__all__ = [
    "DEFAULT_LISTEN_URL",
    "ExecServerListenUrlParseError",
    "ExecServerRuntimePaths",
    "RemoteEnvironmentConfig",
    "run_main",
    "run_remote_environment",
]
"""What other programs import."""

logger = logging.getLogger(__name__)

DEFAULT_LISTEN_URL: Final = "ws://127.0.0.1:0"

MIN_SECRET_BYTES: Final = 32
"""Shorter secrets can be guessed."""

CLOCK_SKEW: Final = 30
"""Seconds by which the clocks of two machines may differ."""

SHA256_HEX_DIGITS: Final = 64


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str, lifeline: int | None) -> None:
    """Serve until told to stop. Raises Refused for invalid flags."""
    address = parse_listen(arguments.listen)
    if arguments.concurrent_requests < 1:
        raise Refused("cannot serve: --concurrent-requests must be 1 or more")
    if arguments.connect is not None or arguments.connect_token_file is not None:
        raise Refused("cannot use --connect here: it belongs to codex-mcp exec-server forward")
    is_remote = arguments.remote is not None
    ends_with_stdin = _ends_with_stdin(arguments, environment)
    if ends_with_stdin and not is_remote:
        raise Refused("cannot use --exit-on-stdin-close without --remote")
    config = ServerConfig(
        address=address,
        environment=without_session(environment),
        cwd=cwd,
        remote=remote_mode(arguments, environment) if is_remote else None,
        concurrent=arguments.concurrent_requests,
        refusal=auth_check(arguments, address),
        confinement=Confinement(bubblewraps(), temporary_folders(environment)),
        lifeline=lifeline,
        ends_with_stdin=ends_with_stdin,
    )
    # transports/stdio.py needs asyncio's own loop; uvloop is faster for sockets, but hardly for one client's pipes.
    uses_pipes = address.host is None and not is_remote
    with asyncio.Runner(loop_factory=None if uses_pipes else uvloop.new_event_loop) as runner:
        runner.run(serve(config, sys.stdin.buffer, sys.stdout.buffer))


def run_forward(arguments: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Register another exec-server and relay to it, until told to stop. Raises Refused for invalid flags."""
    # Only forwarding needs it.
    from codex_mcp.execserver.remote.forward import forwarder  # noqa: PLC0415

    if arguments.connect is None or arguments.remote is None:
        raise Refused("cannot forward: give --connect ws://HOST:PORT, --remote URL and --environment-id ID")
    token_file = arguments.connect_token_file
    passages = forwarder(arguments.connect, None if token_file is None else _read(token_file).decode())
    run_remote = remote_mode(arguments, environment)

    async def forward() -> None:
        stop = asyncio.Event()
        if _ends_with_stdin(arguments, environment):
            stop_when_stdin_ends(stop)
        with signals_handled(dict.fromkeys(STOP_SIGNALS, stop.set)):
            try:
                await until_stopped(run_remote(passages), stop)
            finally:
                await passages.aclose()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(forward())


def _ends_with_stdin(arguments: argparse.Namespace, environment: Mapping[str, str]) -> bool:
    variable = environment.get("CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE", "").lower()
    return bool(arguments.exit_on_stdin_close) or variable in ("1", "true")


def remote_mode(arguments: argparse.Namespace, environment: Mapping[str, str]) -> RunRemote:
    """How to serve through a rendezvous, as the flags say. Raises Refused."""
    # Only remote mode needs them: their cryptography takes 8 MB and 50 ms.
    from codex_mcp.execserver.remote.sign_in import registry_proof  # noqa: PLC0415
    from codex_mcp.relay.registry_client import check_address  # noqa: PLC0415

    if not arguments.environment_id:
        raise Refused("cannot register: give --environment-id, the name under which harnesses reach this machine")
    check_address(arguments.remote)  # before anything is signed for it
    return _through_rendezvous(
        RemoteEnvironmentConfig(
            base_url=arguments.remote,
            environment_id=arguments.environment_id,
            auth=registry_proof(arguments.token_file, environment, is_agent=arguments.use_agent_identity_auth),
            name=arguments.name or "",
            identity_file=arguments.identity_file,
            report=_report,
        )
    )


def _report(line: str) -> None:
    sys.stderr.write(f"codex-mcp exec-server: {one_line(line)}\n")
    sys.stderr.flush()


class RemoteEnvironmentConfig(Struct, frozen=True):
    """How an embedded server registers with a rendezvous."""

    base_url: str
    """The rendezvous: https://…, or http://… on this machine."""
    environment_id: str
    """The name under which harnesses reach this machine."""
    auth: str | Callable[[], Mapping[str, str]]
    """A bearer token; or a function that returns the headers which prove who registers, called for each request."""
    name: str = ""
    """For people."""
    identity_file: str | None = None
    """Keeps the identity key, so that the fingerprint stays the same after a restart."""
    report: Callable[[str], None] = logger.info
    """Called with one line for each change: fingerprint, registered, connected, connection lost."""


def _through_rendezvous(remote: RemoteEnvironmentConfig) -> RunRemote:
    """Raises Refused for an address that cannot be used."""
    from codex_mcp.execserver.remote.executor import RemoteConfig, RemoteExecutor  # noqa: PLC0415  see remote_mode
    from codex_mcp.relay.identity import kept_keys, new_keys  # noqa: PLC0415
    from codex_mcp.relay.registry_client import RegistryClient  # noqa: PLC0415

    path = remote.identity_file
    config = RemoteConfig(
        registry=RegistryClient(remote.base_url, remote.auth),
        environment_id=remote.environment_id,
        name=remote.name,
        keys=new_keys() if path is None else kept_keys(path),
        report=remote.report,
    )

    async def run_remote(server: StreamServer) -> None:
        await RemoteExecutor(server, config).run()

    return run_remote


class ExecServerRuntimePaths(Struct, frozen=True):
    """Programs that the embedded server needs."""

    codex_linux_sandbox_exe: str | None = None
    """The bubblewrap that confines commands. None: the system's, else the one that comes with Codex."""


async def run_main(
    listen_url: str,
    runtime_paths: ExecServerRuntimePaths,
    *,
    environment: Mapping[str, str] | None = None,
    stdout: IO[bytes] | None = None,
) -> None:
    """Serve on `ws://IP:PORT` inside this program, and print the address on stdout. Cancel the task to stop.

    Raises ExecServerListenUrlParseError for something else, and Refused for an address that other machines can reach:
    use `codex-mcp exec-server --ws-auth` for that. `environment` is what commands inherit; None is the program's own.
    """
    address = parse_listen(listen_url)
    if address.host is None:
        raise Refused("cannot embed an exec-server on stdio: give an address such as ws://127.0.0.1:0")
    if not address.is_local:
        raise Refused(f"cannot listen on {address.host}: other machines could run commands here; use 127.0.0.1")
    config = _embedded(address, runtime_paths, environment)
    await serve(config, sys.stdin.buffer, sys.stdout.buffer if stdout is None else stdout)


async def run_remote_environment(
    remote: RemoteEnvironmentConfig,
    runtime_paths: ExecServerRuntimePaths,
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Register with a rendezvous and serve its harnesses inside this program. Cancel the task to stop.

    Raises Refused if the address cannot be used, if the first registration is refused, and when another executor takes
    its place. `environment` is what commands inherit; None is the program's own.
    """
    if not remote.environment_id:
        raise Refused("cannot register: give an environment_id, the name under which harnesses reach this machine")
    config = _embedded(Address(None), runtime_paths, environment, _through_rendezvous(remote))
    await serve(config, sys.stdin.buffer, sys.stdout.buffer)


def _embedded(
    address: Address,
    runtime_paths: ExecServerRuntimePaths,
    environment: Mapping[str, str] | None,
    remote: RunRemote | None = None,
) -> ServerConfig:
    check_linux()
    inherited = dict(os.environ if environment is None else environment)  # noqa: TID251  there is no command line
    sandbox = runtime_paths.codex_linux_sandbox_exe
    candidates = bubblewraps() if sandbox is None else [sandbox]
    return ServerConfig(
        address=address,
        environment=inherited,
        cwd=os.getcwd(),
        concurrent=1,
        refusal=lambda _header: None,
        confinement=Confinement(candidates, temporary_folders(inherited)),
        remote=remote,
        takes_signals=False,
    )


def auth_check(arguments: argparse.Namespace, address: Address) -> AuthCheck:
    """The authentication that the flags ask for. Raises Refused."""
    _check_flags(arguments, address)
    if arguments.ws_auth == "capability-token":
        return CapabilityToken(_token_hash(arguments)).refusal
    if arguments.ws_auth == "signed-bearer-token":
        skew = CLOCK_SKEW if arguments.ws_max_clock_skew_seconds is None else arguments.ws_max_clock_skew_seconds
        if skew < 0:
            raise Refused(f"cannot use --ws-max-clock-skew-seconds {skew}: it must be 0 or more")
        token = SignedToken(_secret(arguments), arguments.ws_issuer, arguments.ws_audience, skew)
        return lambda header: token.refusal(header, time.time())
    return lambda _header: None


def _check_flags(arguments: argparse.Namespace, address: Address) -> None:
    if arguments.ws_auth is None and not address.is_local:
        raise Refused(
            f"cannot listen on {address.host}: other machines could run commands here; add --ws-auth or use 127.0.0.1"
        )
    if arguments.ws_auth is not None and address.host is None:
        raise Refused("cannot use --ws-auth with stdio: only the process that starts the server can be its client")
    flags = {
        "capability-token": ("ws_token_file", "ws_token_sha256"),
        "signed-bearer-token": ("ws_shared_secret_file", "ws_issuer", "ws_audience", "ws_max_clock_skew_seconds"),
    }
    for kind, names in flags.items():
        for name in names:
            if getattr(arguments, name) is not None and arguments.ws_auth != kind:
                flag = "--" + name.replace("_", "-")
                raise Refused(f"cannot use {flag}: it belongs to --ws-auth {kind}")


def _token_hash(arguments: argparse.Namespace) -> str:
    if (arguments.ws_token_file is None) == (arguments.ws_token_sha256 is None):
        raise Refused("cannot use --ws-auth capability-token: give either --ws-token-file or --ws-token-sha256")
    if arguments.ws_token_sha256 is not None:
        digest = str(arguments.ws_token_sha256).strip().lower()
        if len(digest) != SHA256_HEX_DIGITS or not set(digest) <= set("0123456789abcdef"):
            raise Refused("cannot use --ws-token-sha256: it must be 64 hexadecimal digits")
        return digest
    token = _read(arguments.ws_token_file)
    if not token:
        raise Refused(f"cannot use {arguments.ws_token_file}: the token is empty")
    return CapabilityToken.hash_of(token)


def _secret(arguments: argparse.Namespace) -> bytes:
    if arguments.ws_shared_secret_file is None:
        raise Refused("cannot use --ws-auth signed-bearer-token: give --ws-shared-secret-file")
    secret = _read(arguments.ws_shared_secret_file)
    if len(secret) < MIN_SECRET_BYTES:
        raise Refused(
            f"cannot use {arguments.ws_shared_secret_file}: the secret must have at least {MIN_SECRET_BYTES} bytes"
        )
    return secret


def _read(path: str) -> bytes:
    try:
        return read_secret(path, path).strip()
    except OSError as exc:
        raise Refused(f"cannot read {path}: {exc.strerror}") from exc
