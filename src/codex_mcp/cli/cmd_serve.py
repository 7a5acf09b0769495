"""`codex-mcp serve`: MCP with a team, whose agents have names and are recorded."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp.access.cluster import fingerprint
from codex_mcp.access.gate import LOOPBACK
from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Dashboard
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.cluster import checked_cluster
from codex_mcp.cli.serving import add_serving_arguments, serve
from codex_mcp.config.load import DEFAULT, Loaded, teams_folder
from codex_mcp.mcp.methods import Around
from codex_mcp.mcp.pages import Pages
from codex_mcp.mcp.tools.product import MakeProduct, Outside, team_product
from codex_mcp.state.contract import Store, Unavailable
from codex_mcp.state.opening import open_state
from codex_mcp.team.mail.claude_session import claude_session
from codex_mcp.team.mail.team_mail import MailPlace
from codex_mcp.team.resuming import ResumeFirst

logger = logging.getLogger(__name__)

SCRATCH: Final = (
    "cannot use state_dir = %s: you may not write to %s. The agents of this server are kept in %s and are gone when it "
    "ends; no other server and no command sees them. Allow writing there, or name another folder"
)
NO_FOLDER: Final = (
    "cannot use state_dir = {0!r}: you may not write to {1}, and no folder can be made in its place: {2}; allow it, or "
    "name another folder"
)

LAST_USED: Final = ""
"""`--resume` without a name."""

DESCRIPTION: Final = "Serve a team of Codex agents to an MCP client over stdin and stdout, or with --port over HTTP."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--resume",
        nargs="?",
        const=LAST_USED,
        metavar="ID",
        help="let the first call resume this agent (codex_id, identity or thread id); without ID, the one used last, "
        "of the name in --identity if given",
    )
    add_serving_arguments(parser, with_team=True)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    def team(loaded: Loaded, around: Around | None) -> MakeProduct:
        settings = loaded.settings.team
        cluster = checked_cluster(loaded.settings)
        secret = None if cluster is None else fingerprint(cluster.key)
        if settings.state is not None:
            _check_database(settings, secret)

        async def open_store() -> Store:
            return await open_state(settings.state, settings.state_dir, secret)

        resume = _resume(arguments.resume, loaded)
        mail = MailPlace(teams_folder(environment), claude_session(environment))
        return team_product(loaded.roles, open_store, mail, resume, Outside(around, _pages(loaded.settings), cluster))

    return serve(arguments, environment, cwd, team, _with_state_folder)


def _pages(settings: Settings) -> Pages | None:
    """The dashboard; None if this server has none. Raises Refused if it would be unsafe."""
    http, wanted = settings.http, settings.team.dashboard
    is_near = http.host in LOOPBACK
    if http.port is None or wanted is Dashboard.OFF or (wanted is None and not is_near):
        return None
    if not is_near and http.tls_cert is None:
        raise Refused(
            f"cannot show the dashboard on {http.host} without HTTPS: give --tls-cert FILE, listen on 127.0.0.1 behind "
            "a proxy that speaks HTTPS, or give --dashboard off"
        )
    from codex_mcp.dashboard.late import LatePages  # noqa: PLC0415  only a server with a port has pages

    return LatePages(settings.team.state_dir, settings.core.codex_home, view=wanted is Dashboard.READ_ONLY)


@contextlib.contextmanager
def _with_state_folder(loaded: Loaded) -> Iterator[Loaded]:
    """With a state folder that can be written: a scratch folder if the chosen one cannot. Raises Refused."""
    settings = loaded.settings
    folder = place = settings.team.state_dir
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise Refused(f"cannot use state_dir = {folder!r}: {place} is not a folder; remove it, or name another folder")
    if os.access(place, os.W_OK | os.X_OK):
        yield loaded
        return
    with contextlib.ExitStack() as stack:
        try:
            scratch = stack.enter_context(scratch_folder(settings.core.codex_home))
        except OSError as exc:
            raise Refused(NO_FOLDER.format(folder, place, exc.strerror)) from exc
        logger.warning(SCRATCH, repr(folder), place, scratch)
        yield replace(loaded, settings=replace(settings, team=replace(settings.team, state_dir=scratch)))


def _check_database(settings: TeamSettings, secret: str | None) -> None:
    """Raise Refused if the database can never be used. One that does not answer now may be back for the first call."""
    with contextlib.suppress(Unavailable):
        asyncio.run(_open_once(settings, secret))


async def _open_once(settings: TeamSettings, secret: str | None) -> None:
    await (await open_state(settings.state, settings.state_dir, secret)).aclose()


def _resume(asked: str | None, loaded: Loaded) -> ResumeFirst | None:
    """The agent to resume. If the settings name agents, it is the last used one of that name."""
    if asked is None:
        return None
    if asked != LAST_USED:
        return ResumeFirst(reference=asked)
    role = loaded.roles.get(loaded.settings.team.role or "")
    if role is not None and role.identity is not None:
        return ResumeFirst(identity=role.identity)
    is_chosen = loaded.sources["default_identity"].source != DEFAULT
    return ResumeFirst(identity=loaded.settings.team.default_identity if is_chosen else None)
