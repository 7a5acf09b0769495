"""Runs a command of the Codex that a server would run here, in the place of this process.

Neither `make setup` nor `pip install` puts our own Codex on PATH, and another one may use another home.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import make_private_folder
from codex_mcp.codex.binary import find_codex
from codex_mcp.codex.config.command_line import visible
from codex_mcp.codex.config.overrides import parse_overrides
from codex_mcp.config.load import load


class CannotRun(Explained):
    """Codex or its home cannot be used."""


def add_codex_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--codex-home", metavar="DIR", help="Codex's folder (default: $CODEX_HOME, else ~/.codex)")
    parser.add_argument("--codex-bin", metavar="FILE", help="the Codex to run (default: as a server here would choose)")


def replace_with_codex(
    words: Sequence[str], arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str
) -> NoReturn:
    """Become `codex WORDS`, with the home and the overrides of a server that is started here. Raises Explained."""
    given = argparse.Namespace(codex_home=arguments.codex_home, codex_bin=arguments.codex_bin)
    loaded = load(given, environment, cwd)
    settings = loaded.settings.core
    search_path = environment.get("PATH", os.defpath)
    binary = find_codex(settings, search_path)
    for note in (*loaded.warnings, *binary.notes):
        print(f"codex-mcp {words[0]}: {note}", file=sys.stderr)
    overrides = [word for text in visible(parse_overrides(settings.overrides)) for word in ("-c", text)]
    codex_environment = {
        **environment,
        "CODEX_HOME": settings.codex_home,
        "PATH": binary.search_path(search_path),
    }
    try:
        make_private_folder(settings.codex_home)
        sys.stderr.flush()
        os.execve(binary.path, [binary.path, *words, *overrides], codex_environment)
    except OSError as exc:
        raise CannotRun(
            f"cannot run {binary.path} with the home {settings.codex_home}: {exc.strerror}; check both"
        ) from exc
