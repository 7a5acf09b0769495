"""`codex-mcp rendezvous`: where executors register, and where harnesses find them."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.cli.exec.stderr_log import log_to_stderr

DESCRIPTION: Final = "Let executors behind firewalls register, and relay what their harnesses send, without reading it."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, metavar="PORT", help="the port; 0 takes a free one")
    parser.add_argument(
        "--tokens", required=True, metavar="FILE", help="principals, their tokens, and what they may register and reach"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate chain (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", help="the private key of the certificate")
    parser.add_argument(
        "--insecure", action="store_true", help="listen beyond this machine without TLS: a proxy provides it"
    )
    parser.add_argument("--audit", metavar="FILE", help="append who registered and reached what, as JSON lines")
    parser.add_argument(
        "--log-level", choices=("error", "warning", "info", "debug"), default="warning", help="what is logged to stderr"
    )


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    if (arguments.tls_cert is None) != (arguments.tls_key is None):
        raise Refused("cannot speak HTTPS: give both --tls-cert and --tls-key")
    log_to_stderr(arguments.log_level)
    # Only this command needs them.
    from uvloop import new_event_loop  # noqa: PLC0415

    from codex_mcp.access.server_secrets import server_key  # noqa: PLC0415
    from codex_mcp.rendezvous.serve import RendezvousConfig, serve  # noqa: PLC0415

    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME") or "/", ".codex")
    config = RendezvousConfig(
        host=arguments.host,
        port=arguments.port,
        tokens=os.path.join(cwd, arguments.tokens),
        key=server_key(home),
        audit=arguments.audit and os.path.join(cwd, arguments.audit),
        tls_cert=arguments.tls_cert and os.path.join(cwd, arguments.tls_cert),
        tls_key=arguments.tls_key and os.path.join(cwd, arguments.tls_key),
        is_insecure=arguments.insecure,
    )
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(config, _announce))
    return 0


def _announce(url: str) -> None:
    print(url, flush=True)
