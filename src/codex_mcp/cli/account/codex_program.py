"""Runs a command of the Codex that a server would run here, in the place of this process.

Neither `make setup` nor `pip install` puts our own Codex on PATH, and another one may use another home.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import make_private_folder
from codex_mcp.codex.binary import Binary, find_codex
from codex_mcp.codex.config.command_line import visible_overrides
from codex_mcp.codex.config.overrides import parse_overrides
from codex_mcp.config.load import load


class CannotRun(Explained):
    """Codex or its home cannot be used."""


def add_codex_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--codex-home", metavar="DIR", help="Codex's folder (default: $CODEX_HOME, else ~/.codex)")
    parser.add_argument("--codex-bin", metavar="FILE", help="the Codex to run (default: as a server here would choose)")


class CodexHere(Struct, frozen=True):
    """The Codex of a server that is started here, its home and its environment."""

    binary: Binary
    home: str
    environment: Mapping[str, str]
    overrides: Sequence[str]
    """Words of its command line."""


def codex_here(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> CodexHere:
    """Raises Explained."""
    given = argparse.Namespace(codex_home=arguments.codex_home, codex_bin=arguments.codex_bin)
    loaded = load(given, environment, cwd)
    settings = loaded.settings.core
    search_path = environment.get("PATH", os.defpath)
    binary = find_codex(settings, search_path)
    for note in (*loaded.warnings, *binary.notes):
        print(f"codex-mcp: {note}", file=sys.stderr)
    overrides = [word for text in visible_overrides(parse_overrides(settings.overrides)) for word in ("-c", text)]
    codex_environment = {
        **environment,
        "CODEX_HOME": settings.codex_home,
        "PATH": binary.search_path(search_path),
    }
    try:
        make_private_folder(settings.codex_home)
    except OSError as exc:
        raise _cannot_run(binary, settings.codex_home, exc) from exc
    return CodexHere(binary, settings.codex_home, codex_environment, overrides)


def _cannot_run(binary: Binary, home: str, why: OSError) -> CannotRun:
    return CannotRun(f"cannot run {binary.path} with the home {home}: {why.strerror}; check both")


def replace_with_codex(
    words: Sequence[str], arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str
) -> NoReturn:
    """Become `codex WORDS`, with the home and the overrides of a server that is started here. Raises Explained."""
    codex = codex_here(arguments, environment, cwd)
    path = codex.binary.path
    try:
        sys.stderr.flush()
        os.execve(path, [path, *words, *codex.overrides], codex.environment)
    except OSError as exc:
        raise _cannot_run(codex.binary, codex.home, exc) from exc
