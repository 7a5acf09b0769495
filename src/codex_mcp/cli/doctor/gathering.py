"""Collects the facts that files, folders and ports of this machine give. Nothing is judged here."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import fcntl
import os
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.errors import BadOverride, Explained, NoCodex, Notice
from codex_mcp.base.files import open_regular
from codex_mcp.base.ownership import chown_advice
from codex_mcp.base.processes import programs
from codex_mcp.base.processes.programs import our_path
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.http_access import ANSWERS, asked
from codex_mcp.cli.clients.surroundings import folders_here
from codex_mcp.cli.demo.sandbox import sandbox_trouble
from codex_mcp.cli.doctor import facts
from codex_mcp.cli.doctor.account_limits import account_limits
from codex_mcp.cli.doctor.provider import configured_provider
from codex_mcp.cli.state.folder import agents_in, readable
from codex_mcp.codex.binary import Binary, Origin, find_codex
from codex_mcp.codex.config.profiles import check_user_config
from codex_mcp.codex.starting.first_start import LOCK_FILE
from codex_mcp.codex.versions.measured import is_old, measured
from codex_mcp.codex.versions.verdicts import verdict_on
from codex_mcp.config.load import Loaded, load
from codex_mcp.execserver.sandbox.confinement import bubblewraps
from codex_mcp.state.embedded.flock import OPENING
from codex_mcp.state.embedded.opening import NAME as DATABASE
from codex_mcp.state.opening import check_state
from codex_mcp.team.agent import AgentStatus

LOGIN_PORT: Final = 1455
"""Where Codex waits for the browser."""

WHY: Final = {
    Origin.SETTING: "as codex_version says",
    Origin.PATH: "found on PATH",
    Origin.PACKAGE: "installed with codex-mcp",
}

KERNEL_SWITCHES: Final = (
    # file below /proc/sys, the value that forbids user namespaces, one that allows them
    ("user/max_user_namespaces", "0", "10000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)


def load_settings(
    arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str
) -> tuple[Loaded | None, facts.Configuration]:
    """The settings of a server that is started here; None if they cannot be used."""
    try:
        loaded = load(arguments, environment, cwd)
    except Explained as exc:
        return None, facts.Configuration(settings_error=exc.notice)
    home = loaded.settings.core.codex_home
    path = os.path.join(home, "config.toml")
    return loaded, facts.Configuration(
        warnings=loaded.warnings,
        config_path=path,
        has_config=os.path.exists(path),
        syntax_error=_syntax_error(home),
        provider=configured_provider(home, environment),
        has_openai_key=bool(environment.get("OPENAI_API_KEY")),
    )


def _syntax_error(codex_home: str) -> str:
    try:
        check_user_config(codex_home)
    except BadOverride as exc:
        return str(exc)
    return ""


def find(settings: CoreSettings, search_path: str) -> tuple[Binary | None, facts.Codex]:
    try:
        binary = find_codex(settings, search_path)
    except NoCodex as exc:
        return None, facts.Codex(error=exc.notice)
    return binary, facts.Codex(
        binary.full_version,
        binary.path,
        WHY[binary.origin],
        fitness=_fitness(binary, settings.codex_home),
        is_old=binary.is_old,
        unused=binary.notes[0] if binary.unused is not None else "",
        remedy=binary.unused.remedy if binary.unused is not None else "",
    )


def _fitness(binary: Binary, codex_home: str) -> facts.Fitness:
    if binary.is_fit:
        return facts.Fitness.TESTED
    if (row := measured(binary.version)) is not None and row.exceptions:
        return facts.Fitness.WITH_EXCEPTIONS
    verdict = verdict_on(binary.path, codex_home, binary.full_version)
    return facts.Fitness.UNTRIED if verdict is None or not verdict.is_fit else facts.Fitness.TRIED


def sandbox(binary: Binary, environment: Mapping[str, str]) -> facts.Sandbox:
    trouble = sandbox_trouble(binary.path, environment)
    if sys.platform != "linux":
        return facts.Sandbox(trouble, is_linux=False)
    blocked = (
        f"{name.replace('/', '.')}={allowing}"
        for name, forbidding, allowing in KERNEL_SWITCHES
        if _kernel(name) == forbidding
    )
    return facts.Sandbox(trouble, has_bubblewrap=bool(bubblewraps()), blocked_by=next(blocked, "") if trouble else "")


def _kernel(name: str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/sys/{name}", encoding="ascii") as file:
        return file.read().strip()
    return ""


def folders(settings: Settings) -> facts.Folders:
    home, state = settings.core.codex_home, settings.team.state_dir
    sign_in = os.path.join(home, "auth.json")
    locks = (os.path.join(home, LOCK_FILE), os.path.join(state, OPENING))
    return facts.Folders(
        (_folder("Codex's folder", "codex_home", home), _folder("the state folder", "state_dir", state)),
        sign_in if _is_open(sign_in) else "",
        tuple(path for path in locks if _is_held(path)),
        _damage(os.path.join(state, DATABASE)),
        *(("", None) if settings.team.state is None else _database(settings.team.state, state)),
    )


def _folder(purpose: str, setting: str, path: str) -> facts.Folder:
    place = path
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        return facts.Folder(purpose, setting, path, obstacle=f"{place} is not a folder")
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        remedy = chown_advice(path, os.path.expanduser("~"))
        return facts.Folder(purpose, setting, path, obstacle=f"you may not write to {place}", remedy=remedy)
    return facts.Folder(purpose, setting, path, shutil.disk_usage(place).free)


def _is_open(path: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.stat(path).st_mode & 0o077)
    return False


def _is_held(path: str) -> bool:
    try:
        descriptor = open_regular(path)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def _damage(path: str) -> str:
    if not os.path.exists(path):
        return ""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)) as database:
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:  # it is busy, or cannot be read without writing
        return ""
    except sqlite3.DatabaseError as exc:
        return str(exc)
    return "" if verdict == "ok" else str(verdict)


def _database(address: str, state_dir: str) -> tuple[str, Notice | None]:
    """What it is, or why it cannot be used."""
    try:
        seen = asyncio.run(check_state(address, state_dir))
    except Explained as exc:
        return "", exc.notice
    return f"{seen.address}, {seen.engine}", None


def clients(settings: Settings | None, codex_home: str, environment: Mapping[str, str], cwd: str) -> facts.Clients:
    search_path = environment.get("PATH", os.defpath)
    where = replace(folders_here(environment, cwd), codex=codex_home)
    found = list(read_clients(where, environment))
    entries = tuple(entry for entry in found if isinstance(entry, Entry))
    return facts.Clients(
        entries,
        # Codex's own file is a check of its own.
        tuple(file for file in found if isinstance(file, UnreadableFile) and file.client != "Codex"),
        _milliseconds(environment.get("MCP_TOOL_TIMEOUT")),
        settings.calls.soft_deadline if settings is not None else None,
        _is_path_codex_old(codex_home, search_path),
        our_path(search_path),
        {entry.url: ANSWERS[asked(entry.url, None)] for entry in entries if entry.is_recorded and entry.url},
    )


def _milliseconds(text: str | None) -> float | None:
    try:
        return float(text) / 1000 if text else None
    except ValueError:
        return None


def _is_path_codex_old(codex_home: str, search_path: str) -> bool:
    path = programs.find("codex", programs.places(search_path))
    if path is None:
        return False
    try:
        settings = CoreSettings(codex_home=codex_home, codex_bin=path, allow_untested_codex=True)
        return is_old(find_codex(settings, search_path).version)
    except NoCodex:
        return False


def ports(settings: Settings, *, needs_sign_in: bool) -> Iterator[facts.Port]:
    number = settings.http.port
    if number:
        problem = _port_problem(settings.http.host, number)
        yield facts.Port(number, "the server (setting port)", problem, "stop what uses it, or choose another port")
    if needs_sign_in:
        instead = "run `codex-mcp login --device`, which needs no port"
        yield facts.Port(LOGIN_PORT, "a sign-in with a browser", _port_problem("127.0.0.1", LOGIN_PORT), instead)


def _port_problem(host: str, port: int) -> str:
    try:
        with socket.create_server((host, port)):
            return ""
    except OSError as exc:
        in_use = "a running server or another program uses it"
        return in_use if exc.errno == errno.EADDRINUSE else str(exc.strerror)


def agents(state_dir: str, environment: Mapping[str, str]) -> facts.Agents:
    try:
        with readable(state_dir):
            found = agents_in(state_dir)
    except Explained as exc:
        return facts.Agents(error=exc.notice)
    stale = tuple(agent.identity for agent in found if agent.status is AgentStatus.STALE)
    limited = asyncio.run(account_limits(state_dir, environment))
    return facts.Agents(sum(agent.status is not AgentStatus.CLOSED for agent in found), stale, limited=limited)


def system() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.release()} {platform.machine()}"
