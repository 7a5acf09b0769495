"""`codex-mcp update`: how to update codex-mcp, for the way it was installed."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp import __version__
from codex_mcp.base.file_uris import path_from_uri
from codex_mcp.base.printable import foreign
from codex_mcp.cli.output import print_text

DESCRIPTION: Final = "Show the command that updates codex-mcp, for the way in which it was installed here."

FILE: Final = "FILE"

NEWER: Final = "FILE is a newer one than {}, which it was installed from. "

AFTERWARDS: Final = "Then restart your MCP clients: until then they use the servers that run."


class Folder(Struct, frozen=True):
    editable: bool = False


class Source(Struct, frozen=True):
    """What pip writes into `direct_url.json` if a package did not come from an index."""

    url: str = ""
    dir_info: Folder | None = None
    archive_info: dict[str, object] | None = None
    """It was a wheel or a source distribution."""
    vcs_info: dict[str, object] | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """There is nothing to say."""


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    said = distribution("codex-mcp").read_text("direct_url.json") or "{}"
    source = msgspec.json.decode(said, type=Source)
    way = update_command(Path(sys.prefix), sys.executable, source)
    newer = NEWER.format(foreign(os.path.basename(source.url))) if way.endswith(f" {FILE}") else ""
    print_text(f"codex-mcp {__version__}. To update it, run:\n\n  {way}\n\n{newer}{AFTERWARDS}")
    return 0


def update_command(prefix: Path, python: str, source: Source) -> str:
    """The command, by what each installer leaves in its environment."""
    folder = None if source.dir_info is None else shlex.quote(path_from_uri(source.url))
    if folder is not None and source.dir_info is not None and source.dir_info.editable:
        return f"git -C {folder} pull && make -C {folder} setup"
    if "Cellar" in prefix.parts:
        return "brew upgrade codex-mcp"
    if (prefix / "uv-receipt.toml").exists():
        again, upgrade = "uv tool install --reinstall", "uv tool upgrade codex-mcp"
    elif (prefix / "pipx_metadata.json").exists():
        again, upgrade = "pipx install --force", "pipx upgrade codex-mcp"
    else:
        again = f"{shlex.quote(python)} -m pip install"
        upgrade = f"{again} --upgrade {'codex-mcp' if source.vcs_info is None else shlex.quote(f'git+{source.url}')}"
    if source.archive_info is not None:  # an index need not have it, and an upgrade would take the same file again
        return f"{again} {FILE}"
    return upgrade if folder is None else f"git -C {folder} pull && {again} {folder}"
