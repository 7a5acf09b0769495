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
from codex_mcp.base.printable import foreign
from codex_mcp.base.processes.programs import OURSELVES, on_path, own_path
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.cli.clients.known import CLIENTS, Folders
from codex_mcp.cli.clients.recognition.servers import Verdict, recognised

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


def folders(environment: Mapping[str, str], *, home: str, project: str, repository: str, is_macos: bool) -> Folders:
    """Relative paths in the environment are ignored."""

    def named(variable: str, default: str) -> str:
        value = environment.get(variable, "")
        return value.rstrip("/") or default if value.startswith("/") else default

    config = f"{home}/.config" if is_macos else named("XDG_CONFIG_HOME", f"{home}/.config")
    cline = named("CLINE_DATA_DIR", f"{named('CLINE_DIR', f'{home}/.cline')}/data")
    return Folders(
        home=home,
        project=project,
        repository=repository,
        config=config,
        support=f"{home}/Library/Application Support" if is_macos else config,
        claude=named("CLAUDE_CONFIG_DIR", home),
        codex=named("CODEX_HOME", f"{home}/.codex"),
        gemini=named("GEMINI_CLI_HOME", home),
        opencode=f"{named('XDG_CONFIG_HOME', f'{home}/.config')}/opencode",
        qwen=named("QWEN_HOME", f"{home}/.qwen"),
        copilot=named("COPILOT_HOME", f"{home}/.copilot"),
        cline=named("CLINE_MCP_SETTINGS_PATH", f"{cline}/settings/cline_mcp_settings.json"),
        continue_dev=named("CONTINUE_GLOBAL_DIR", f"{home}/.continue"),
        inspector=named("MCP_CATALOG_PATH", f"{home}/.mcp-inspector/mcp.json"),
    )


def client_named(word: str) -> str:
    """The name of the client that this word means. Raises Refused."""
    plain = word.lower()
    if plain in CLIENTS:
        return plain
    titles = {client.title.lower().replace(" ", "-"): client.name for client in CLIENTS.values()}
    meant = nearest(plain, [*CLIENTS, *titles])
    hint = f"; did you mean {titles.get(meant, meant)}?" if meant is not None else "."
    raise Refused(f"there is no client {foreign(word)}{hint} These are known: {', '.join(CLIENTS)}")


def roots(where: Folders) -> Iterable[str]:
    """The folders whose files may be changed."""
    return [str(folder) for folder in msgspec.structs.astuple(where)]


def our_program(started: str | None = None) -> Sequence[str]:
    """The absolute command that starts this program. Raises Refused if it will soon be gone."""
    path = own_path(started)
    if path is None:
        return OURSELVES
    _check_lasting(path)
    return [path]


def _check_lasting(path: str) -> None:
    if any(part in path for part in PASSING):
        raise Refused(
            f"cannot put {path} into a client's file: it belongs to an environment that is made for one start; install "
            "codex-mcp with `uv tool install` or `pipx install` first"
        )


def is_our_wrapper(word: str, environment: Mapping[str, str]) -> bool:
    """Whether a program is the `codex-mcp-server` that comes with codex-mcp, and not npm's of the same name."""
    path = on_path(word, environment.get("PATH", ""))
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
