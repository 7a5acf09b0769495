"""What `mcp-server` and `serve` share: settings, logs, the scripted model, stdio or HTTP."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from codex_mcp.access.cluster_secret import cluster_key
from codex_mcp.access.server_secrets import secret_places, server_key, token_path
from codex_mcp.access.verdicts import SERVER_NAME
from codex_mcp.base.logs import logs_written
from codex_mcp.base.processes.orphans import adopt_orphans, call_ourselves
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.codex.binary import check_codex
from codex_mcp.codex.config.overrides import merged, parse_overrides
from codex_mcp.codex.config.permissions import allows_network
from codex_mcp.codex.config.profiles import check_user_config, read_user_config
from codex_mcp.codex.environments import Reach, reach_directly
from codex_mcp.codex.launch import launcher
from codex_mcp.codex.supervisor import Launcher
from codex_mcp.codex.versions.trials import Trials
from codex_mcp.config.load import Loaded, add_arguments, load
from codex_mcp.mcp.methods import Around
from codex_mcp.mcp.serve import serve_stdio
from codex_mcp.mcp.tools.product import MakeProduct

logger = logging.getLogger(__name__)

NETWORK_WARNING = (
    "agents have network access (sandbox_workspace_write.network_access), and this server listens on a port: it "
    "refuses the processes that agents start, but not what another program does for them, such as ssh or docker; "
    "see docs/security.md"
)


def add_serving_arguments(parser: argparse.ArgumentParser, *, with_team: bool = False) -> None:
    add_arguments(parser, with_team=with_team)
    group = parser.add_argument_group("features", "as in `codex mcp-server`; the same as -c features.NAME=…")
    group.add_argument("--enable", action="append", default=[], metavar="NAME", help="switch a feature of Codex on")
    group.add_argument("--disable", action="append", default=[], metavar="NAME", help="switch a feature of Codex off")


Choose: TypeAlias = Callable[[Loaded, Around | None], MakeProduct]
"""Choose the product for these settings, with this around every request."""

Fit: TypeAlias = Callable[[Loaded], contextlib.AbstractContextManager[Loaded]]
"""The settings as they can be used on this machine, as long as the server runs."""


def serve(
    arguments: argparse.Namespace,
    environment: Mapping[str, str],
    cwd: str,
    choose: Choose,
    fit: Fit = contextlib.nullcontext,
) -> int:
    switched = [f"features.{name}=true" for name in arguments.enable]
    switched += [f"features.{name}=false" for name in arguments.disable]
    arguments.overrides = [*(arguments.overrides or []), *switched] or None
    loaded = load(arguments, environment, cwd)
    settings = loaded.settings
    check_codex(settings.core, environment.get("PATH", os.defpath))
    check_user_config(settings.core.codex_home)
    adopt_orphans()
    call_ourselves(SERVER_NAME)
    with logs_written(settings.log, settings.core.codex_home):
        for warning in loaded.warnings:
            logger.warning("%s", warning)
        loops = _loop_factory(settings.http)
        with (
            fit(loaded) as fitting,
            _around(settings.log.otlp_endpoint) as around,
            asyncio.Runner(loop_factory=loops) as runner,
        ):
            runner.run(_serve(fitting.settings, environment, choose(fitting, around)))
    return 0


def _loop_factory(settings: HttpSettings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """With many clients, uvloop saves a fifth of the processor time; with one client on stdio, nothing."""
    if settings.port is None:
        return None
    from uvloop import new_event_loop  # noqa: PLC0415  stdio does not need it

    return new_event_loop


async def _serve(settings: Settings, environment: Mapping[str, str], make: MakeProduct) -> None:
    async with _model(settings.core.scripted) as overrides:
        core = replace(settings.core, overrides=(*settings.core.overrides, *overrides))
        settings = replace(settings, core=core)
        files = [settings.http.tokens, settings.http.tls_key, settings.team.cluster_secret]
        files += [each.token_file for each in core.environments.values()]
        hidden = partial(secret_places, core.codex_home, *files)
        async with contextlib.aclosing(Trials(core.codex_home, environment)) as trials:
            await _serve_clients(settings, launcher(core, environment, _reach(core), hidden, trials), make)


async def _serve_clients(settings: Settings, launch: Launcher, make: MakeProduct) -> None:
    if settings.http.port is None:
        await serve_stdio(sys.stdin.buffer, sys.stdout.buffer, settings, launch, make)
        return
    core = settings.core
    if allows_network(merged(read_user_config(core.codex_home) or {}, parse_overrides(core.overrides))):
        logger.warning("%s", NETWORK_WARNING)
    from codex_mcp.mcp.http.serve import serve_http  # noqa: PLC0415  takes longer to load than all of stdio

    secret = settings.team.cluster_secret
    key = server_key(core.codex_home) if secret is None else cluster_key(secret)
    await serve_http(settings, launch, key, partial(_announce, settings), make)


def _reach(core: CoreSettings) -> Reach:
    if not any(each.is_relayed for each in core.environments.values()):
        return reach_directly
    from codex_mcp.execclient.reach import reach  # noqa: PLC0415  few servers need it

    return reach


def _announce(settings: Settings, url: str) -> None:
    if settings.http.generate_token:
        path = token_path(settings.core.codex_home)
        print(f"codex-mcp: clients must send Authorization: Bearer TOKEN, with the token in {path}", file=sys.stderr)
    print(f"codex-mcp: serving MCP at {url}/mcp", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _around(otlp_endpoint: str | None) -> Iterator[Around | None]:
    if otlp_endpoint is None:
        yield None
        return
    try:
        from codex_mcp.mcp.tracing import traces_sent  # noqa: PLC0415  slow to load, and an extra that may be missing
    except ModuleNotFoundError as exc:
        logger.warning("cannot send traces: %s is not installed; run pip install 'codex-mcp[otel]'", exc.name)
        yield None
        return
    with traces_sent(otlp_endpoint) as tracing:
        yield tracing.around


@contextlib.asynccontextmanager
async def _model(script: str | None) -> AsyncIterator[Sequence[str]]:
    if script is None:
        yield ()
        return
    # Loading these takes a tenth of the time in which a client expects its first answer.
    from codex_mcp.scripted_model.load import load_script  # noqa: PLC0415  see above
    from codex_mcp.scripted_model.server import ScriptedModel  # noqa: PLC0415  see above

    async with ScriptedModel(load_script(script)) as model:
        yield model.codex_overrides()
