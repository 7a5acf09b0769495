"""What the commands that serve MCP have in common: settings, logs, the scripted model, stdio or HTTP."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from codex_mcp.base.logs import logs_written
from codex_mcp.base.processes.orphans import adopt_orphans
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.launch import launcher
from codex_mcp.config.load import Loaded, add_arguments, load
from codex_mcp.mcp.methods import Around
from codex_mcp.mcp.serve import serve_stdio
from codex_mcp.mcp.server_secrets import server_key, token_path
from codex_mcp.mcp.tools.product import MakeProduct

logger = logging.getLogger(__name__)


def add_serving_arguments(parser: argparse.ArgumentParser, *, with_team: bool = False) -> None:
    """Add the flags of every command that serves."""
    add_arguments(parser, with_team=with_team)
    group = parser.add_argument_group("features", "as `codex mcp-server` had them; the same as -c features.NAME=…")
    group.add_argument("--enable", action="append", default=[], metavar="NAME", help="switch a feature of Codex on")
    group.add_argument("--disable", action="append", default=[], metavar="NAME", help="switch a feature of Codex off")


Choose: TypeAlias = Callable[[Loaded, Around | None], MakeProduct]
"""What is served, with these settings and this around every request."""


def serve(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str, choose: Choose) -> int:
    """Serve until stdin ends or a signal comes."""
    arguments.overrides = [*(arguments.overrides or []), *_switched(arguments)] or None
    loaded = load(arguments, environment, cwd)
    adopt_orphans()
    with logs_written(loaded.settings):
        for warning in loaded.warnings:
            logger.warning("%s", warning)
        loops = _loop_factory(loaded.settings)
        with _around(loaded.settings) as around, asyncio.Runner(loop_factory=loops) as runner:
            runner.run(_serve(loaded.settings, environment, choose(loaded, around)))
    return 0


def _loop_factory(settings: Settings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Many clients gain from uvloop, a fifth of the processor's time; the pipes of one client do not."""
    # Not imported at the top: stdio does without it.
    return None if settings.port is None else importlib.import_module("uvloop").new_event_loop


def _switched(arguments: argparse.Namespace) -> list[str]:
    on = [f"features.{name}=true" for name in arguments.enable]
    off = [f"features.{name}=false" for name in arguments.disable]
    return on + off


async def _serve(settings: Settings, environment: Mapping[str, str], make: MakeProduct) -> None:
    async with _model(settings) as overrides:
        core = replace(settings.core, overrides=(*settings.core.overrides, *overrides))
        told = replace(settings, core=core)
        launch = launcher(told, environment)
        if settings.port is None:
            await serve_stdio(sys.stdin.buffer, sys.stdout.buffer, told, launch, make)
        else:
            # Not imported at the top: a web server takes longer to load than everything that stdio needs.
            serve_http = importlib.import_module("codex_mcp.mcp.http.serve").serve_http
            announce = partial(_announce, settings)
            await serve_http(told, launch, server_key(settings.codex_home), announce, make)


def _announce(settings: Settings, url: str) -> None:
    if settings.generate_token:
        path = token_path(settings.codex_home)
        print(f"codex-mcp: clients must send Authorization: Bearer TOKEN, with the token in {path}", file=sys.stderr)
    print(f"codex-mcp: serving MCP at {url}/mcp", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _around(settings: Settings) -> Iterator[Around | None]:
    """What sends a trace of every request, if somebody collects them."""
    if settings.otlp_endpoint is None:
        yield None
        return
    try:
        # Not imported at the top: few want it, it may not be there, and it is slow to load.
        traces_sent = importlib.import_module("codex_mcp.mcp.tracing").traces_sent
    except ModuleNotFoundError as exc:
        logger.warning("cannot send traces: %s is not installed; say pip install 'codex-mcp[otel]'", exc.name)
        yield None
        return
    with traces_sent(settings.otlp_endpoint) as tracing:
        yield tracing.around


@contextlib.asynccontextmanager
async def _model(settings: Settings) -> AsyncIterator[Sequence[str]]:
    """The scripted model, if one is asked for, and how Codex is told of it."""
    if settings.scripted is None:
        yield ()
        return
    # Not imported at the top: it costs a tenth of the time in which a client expects its first answer.
    server = importlib.import_module("codex_mcp.scripted_model.server")
    script = importlib.import_module("codex_mcp.scripted_model.load")
    async with server.ScriptedModel(script.load_script(settings.scripted)) as model:
        yield model.codex_overrides()
