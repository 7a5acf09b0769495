"""Where we are: the folders of the clients, and the program that a client must start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_beginning
from codex_mcp.base.git import checkout_around
from codex_mcp.base.processes.programs import OURSELVES
from codex_mcp.cli.clients.known import Folders, folders
from codex_mcp.cli.clients.recognition.servers import Verdict, recognised

PROGRAM: Final = "codex-mcp"

PASSING: Final = ("/uv/archive-", "/uv/builds-", "/.cache/pipx/", "/pipx/.cache/")
"""Parts of the paths of environments that `uvx` and `pipx run` make for one start."""


SCRIPT_BYTES: Final = 1024
"""Our own script is shorter."""


def folders_here(environment: Mapping[str, str], cwd: str) -> Folders:
    home = environment.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise Refused("cannot find the files of your clients: HOME is not set; set it to your home folder")
    return folders(
        environment,
        home=home.rstrip("/") or "/",
        project=cwd,
        repository=checkout_around(cwd).root or os.path.realpath(cwd),
        is_macos=sys.platform == "darwin",
    )


def roots(where: Folders) -> Iterable[str]:
    """The folders whose files may be changed."""
    return [str(folder) for folder in msgspec.structs.astuple(where)]


def our_program(started: str | None = None) -> Sequence[str]:
    """The absolute command that starts this program. Raises Refused if it will soon be gone."""
    started = os.path.abspath(started or sys.argv[0])
    beside = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    for path in (started, beside):
        if os.path.basename(path) == PROGRAM and os.access(path, os.X_OK):
            _check_lasting(path)
            return [path]
    return OURSELVES


def _check_lasting(path: str) -> None:
    if any(part in path for part in PASSING):
        raise Refused(
            f"cannot put {path} into a client's file: it belongs to an environment that is made for one start; install "
            "codex-mcp with `uv tool install` or `pipx install` first"
        )


def on_path(program: str, environment: Mapping[str, str]) -> str | None:
    """The program of this name on PATH."""
    for folder in environment.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, program)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def is_our_wrapper(word: str, environment: Mapping[str, str]) -> bool:
    """Whether a program is the `codex-mcp-server` that comes with codex-mcp, and not npm's of the same name."""
    path = word if os.path.isabs(word) else on_path(word, environment)
    if path is None or os.path.basename(path) != "codex-mcp-server":
        return False
    try:
        return b"from codex_mcp" in read_beginning(path, SCRIPT_BYTES)
    except OSError:
        return False


def started_by(words: Sequence[str], environment: Mapping[str, str]) -> Verdict | None:
    """What a command line of a client's file starts here."""
    return recognised(words, lambda word: is_our_wrapper(word, environment))


def short(path: str, home: str) -> str:
    """The path as people write it."""
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
