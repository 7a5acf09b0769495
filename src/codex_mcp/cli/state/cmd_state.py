"""`codex-mcp state`: check, migrate, export, import what servers keep of agents."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import BinaryIO, Final, TypeAlias

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.files import new_file, opened
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.output import SCHEMA, print_json, print_text
from codex_mcp.cli.state.folder import add_state_argument, state_settings
from codex_mcp.cli.state.moving import read_rows, write_rows
from codex_mcp.state.contract import Store
from codex_mcp.state.opening import check_state, database_address, open_state
from codex_mcp.state.rows import NotAState

DESCRIPTION: Final = (
    "Check what servers keep of agents, in the state folder or in PostgreSQL, and move it from one to the other."
)

Action: TypeAlias = Callable[[argparse.Namespace, TeamSettings], int]

STREAM: Final = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, (summary, _) in ACTIONS.items():
        action = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name == "check":
            action.add_argument("--json", action="store_true", help="print JSON")
        elif name == "export":
            action.add_argument("file", metavar="FILE", help="a new file, for you only; - is stdout")
        elif name == "import":
            action.add_argument("file", metavar="FILE", help="a file that `export` wrote; - is stdin")
        action.add_argument("--state", metavar="URL", help="the database (default: as in the settings)")
        add_state_argument(action)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    return ACTIONS[arguments.action][1](arguments, state_settings(arguments, environment, cwd))


def check(arguments: argparse.Namespace, settings: TeamSettings) -> int:
    seen = asyncio.run(check_state(settings.state, settings.state_dir))
    if arguments.json:
        print_json({"schema": SCHEMA, "state": seen.address, "engine": seen.engine, "version": seen.version})
    elif seen.version:
        print_text(f"{seen.address} can be used: {seen.engine}, tables of version {seen.version}")
    else:
        print_text(f"{seen.address} can be used: {seen.engine}, without tables; the first server makes them")
    return 0


def migrate(_: argparse.Namespace, settings: TeamSettings) -> int:
    async def open_once() -> None:
        async with _open(settings):
            pass

    asyncio.run(open_once())
    seen = asyncio.run(check_state(settings.state, settings.state_dir))
    print_text(f"{seen.address} has tables of version {seen.version}")
    return 0


def export(arguments: argparse.Namespace, settings: TeamSettings) -> int:
    async def write_dump(file: BinaryIO) -> int:
        async with _open(settings) as store:
            return await write_rows(store, file)

    if arguments.file == STREAM:
        asyncio.run(write_dump(sys.stdout.buffer))
        return 0
    with _new_file(arguments.file) as file:
        count = asyncio.run(write_dump(file))
    print_text(f"{count} rows of {database_address(settings.state, settings.state_dir)} written to {arguments.file}")
    return 0


def import_(arguments: argparse.Namespace, settings: TeamSettings) -> int:
    async def fill_store(file: BinaryIO) -> int:
        async with _open(settings) as store:
            return await read_rows(store, file)

    with _given(arguments.file) as file:
        try:
            count = asyncio.run(fill_store(file))
        except NotAState as exc:
            raise Refused(f"cannot import {arguments.file}: {exc}") from exc
    print_text(f"{count} rows of {arguments.file} are in {database_address(settings.state, settings.state_dir)}")
    return 0


@contextlib.asynccontextmanager
async def _open(settings: TeamSettings) -> AsyncIterator[Store]:
    store = await open_state(settings.state, settings.state_dir)
    try:
        yield store
    finally:
        await store.aclose()


@contextlib.contextmanager
def _new_file(path: str) -> Iterator[BinaryIO]:
    """A private file that did not exist; it is removed again if the block fails."""
    with _explained(f"cannot write {path}"), new_file(path) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            os.unlink(path)
            raise


@contextlib.contextmanager
def _given(path: str) -> Iterator[BinaryIO]:
    if path == STREAM:
        yield sys.stdin.buffer
        return
    with _explained(f"cannot read {path}"), opened(path) as file:
        yield file


class BadFile(Explained):
    """A file cannot be read or written."""


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise BadFile(f"{what}: {exc.strerror or exc}; name another file") from exc


ACTIONS: Final[Mapping[str, tuple[str, Action]]] = {
    "check": ("say whether the state can be used, and what to do if not; nothing is changed", check),
    "migrate": ("make the tables, or bring them to this version", migrate),
    "export": ("write all that is kept of agents to a file", export),
    "import": ("put the contents of such a file into an empty state", import_),
}
