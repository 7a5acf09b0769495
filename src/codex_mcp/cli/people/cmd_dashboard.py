"""`codex-mcp dashboard`: a link to the pages of a server that serves them, else pages of our own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.cli.output import print_text
from codex_mcp.cli.people.finding import caller_of
from codex_mcp.cli.state.folder import add_state_argument, state_folder
from codex_mcp.config.load import load
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import control

DESCRIPTION: Final = (
    "Open the dashboard: every agent of every server of the state folder, who needs you, and your answers. The link "
    "works once, for one minute."
)

COMMAND: Final = "dashboard"

HIGHEST_PORT: Final = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, metavar="PORT", help="serve the pages here, on this port, and not from another server"
    )
    parser.add_argument("--open", action="store_true", help="open the link in your browser")
    parser.add_argument("--view", action="store_true", help="a link with which nothing can be answered or changed")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    caller = caller_of(COMMAND, environment)
    wish = control.SignIn(view=arguments.view, writes_as=environment.get("ATM_IDENTITY", "").strip())
    if arguments.port is None:
        url = asyncio.run(_link(folder, caller, wish))
        if url is not None:
            _tell(url)
            if arguments.open:
                _open(url)
            return 0
    settings = load(argparse.Namespace(state_dir=arguments.state_dir), environment, cwd).settings
    asyncio.run(_serve((folder, settings.core.codex_home), caller, wish, arguments))
    return 0


async def _link(folder: str, caller: Caller, wish: control.SignIn) -> str | None:
    """To the pages of a living server; None if none serves them."""
    for node in await in_thread(living_nodes, folder):
        with contextlib.suppress(CannotReach, RequestFailed):
            async with connect_server(folder, node, caller) as (server, greeting):
                if greeting.page:
                    return (await server.sign_in(view=wish.view, writes_as=wish.writes_as)).url
    return None


async def _serve(folders: tuple[str, str], caller: Caller, wish: control.SignIn, arguments: argparse.Namespace) -> None:
    """Serve pages of our own until a signal arrives."""
    from codex_mcp.cli.pages.own_pages import own_pages  # noqa: PLC0415  takes longer to load than all of the above

    async with own_pages(*folders, arguments.port or 0) as pages:

        def link() -> str:
            return pages.sign_in(caller.person, view=wish.view, writes_as=wish.writes_as)[0]

        url = link()
        _tell(url)
        print("It is served by this command until Ctrl-C; Enter prints another link.", file=sys.stderr, flush=True)
        if arguments.open:
            await in_thread(_open, url)
        await pages.until_stopped(lambda: _tell(link()))


def _tell(url: str) -> None:
    print_text(f"{url}\nThe link works once, for one minute. The code in it is {url.rpartition('=')[2]}.")


def _open(url: str) -> None:
    import webbrowser  # noqa: PLC0415  only for --open

    webbrowser.open(url)


def _port(text: str) -> int:
    if text.isdecimal() and 0 <= int(text) <= HIGHEST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"cannot use {text!r}: it must be a number from 0 to {HIGHEST_PORT}")
