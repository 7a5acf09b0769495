"""Adds and removes our systemd user unit, and lets systemd start and stop it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.files import write_whole
from codex_mcp.base.processes.programs import on_path
from codex_mcp.cli import cmd_serve
from codex_mcp.cli.clients.config_files import explained, read_config
from codex_mcp.cli.clients.editing import diff
from codex_mcp.cli.clients.service_unit import is_ours, unit_text
from codex_mcp.cli.clients.surroundings import folders_here, our_program, short
from codex_mcp.cli.output import NOT_FOUND, print_text
from codex_mcp.cli.parser import Parser
from codex_mcp.cli.sentences import complain, say
from codex_mcp.config.load import load

NAME: Final = "codex-mcp.service"
PORT: Final = 3333
"""If the flags and settings name none: a service has no client on its stdin."""

KEPT: Final = ("PATH", "CODEX_HOME")
"""Variables that the agents' commands need, and that systemd does not take from a shell."""

PATIENCE: Final = 120.0
"""Seconds for systemctl: agents that are stopped sum up their work first."""


def install(flags: Sequence[str], environment: Mapping[str, str], cwd: str, *, dry_run: bool) -> int:
    _check_systemd(environment)
    kept = {name: environment[name] for name in KEPT if environment.get(name)}
    url, words = _serving(flags, {**kept, "HOME": folders_here(environment, cwd).home}, cwd)
    wanted = unit_text([*our_program(), "serve", *words], cwd, kept).encode()
    file, shown, before = _unit(environment, cwd)
    if dry_run:
        print_text(diff(shown, before, wanted) or f"{shown} would stay as it is.")
        return 0
    _write(file, before, wanted)
    try:
        _systemctl("daemon-reload", environment)
        _systemctl(f"enable {NAME}", environment)
        _systemctl(f"restart {NAME}", environment)
    except Explained:
        _undo(file, before, environment)
        raise
    say(f"{'Wrote' if before is None else 'Changed' if before != wanted else 'Kept'} {shown}")
    say(f"The server runs, and starts when you log in: {url}")
    say("Without a login, at boot: loginctl enable-linger. Its log: journalctl --user -u codex-mcp")
    say(f"Let a client use it: codex-mcp install claude --http {url}")
    return 0


def _undo(file: str, before: bytes | None, environment: Mapping[str, str]) -> None:
    """Nothing of an installation that failed is left, and an earlier service goes on."""
    if before is None:
        _remove(file)
        _failure("daemon-reload", environment)
    else:
        _write(file, None, before)
        _failure("daemon-reload", environment)
        _failure(f"restart {NAME}", environment)


def uninstall(environment: Mapping[str, str], cwd: str, *, dry_run: bool) -> int:
    file, shown, before = _unit(environment, cwd)
    if before is None:
        say(f"There is no service: {shown} does not exist.")
        return NOT_FOUND
    if dry_run:
        print_text(diff(shown, before, None))
        return 0
    failed = _failure(f"disable --now {NAME}", environment)
    _remove(file)
    if failed:
        complain("uninstall", f"{failed}; if the server still runs, end it yourself")
        say(f"Removed {shown}")
        return 0
    _systemctl("daemon-reload", environment)
    say(f"Stopped the server and removed {shown}")
    return 0


def _check_systemd(environment: Mapping[str, str]) -> None:
    if sys.platform == "darwin":
        raise Refused(
            "cannot manage a service on macOS: --service is for Linux with systemd; start codex-mcp serve --port "
            f"{PORT} yourself, for example from a launch agent"
        )
    if on_path("systemctl", environment.get("PATH", "")) is None:
        raise Refused("cannot manage a service: systemctl is not on PATH, so this system does not seem to use systemd")


def _serving(flags: Sequence[str], environment: Mapping[str, str], cwd: str) -> tuple[str, Sequence[str]]:
    """Where clients will reach the server, and its flags. Raises Refused for what `serve` would refuse."""
    parser = Parser("codex-mcp serve")
    cmd_serve.configure(parser)
    words = list(flags)
    settings = load(parser.read(words), environment, cwd).settings.http
    if settings.port is None:
        words += ["--port", str(PORT)]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return (
        f"{'https' if settings.tls_cert else 'http'}://{host}:{PORT if settings.port is None else settings.port}/mcp",
        words,
    )


def _unit(environment: Mapping[str, str], cwd: str) -> tuple[str, str, bytes | None]:
    """The unit's file, how to show it, and what it holds. Raises Refused if it is not ours."""
    where = folders_here(environment, cwd)
    file = os.path.join(where.config, "systemd", "user", NAME)
    shown = short(file, where.home)
    before = read_config(file)
    if before is not None and not is_ours(before.decode(errors="replace")):
        raise Refused(f"cannot change {shown}: codex-mcp did not write it; move it away first")
    return file, shown, before


def _write(file: str, before: bytes | None, wanted: bytes) -> None:
    if before == wanted:
        return
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        write_whole(file, wanted)
    except OSError as exc:
        raise Explained(f"cannot write {file}: {exc.strerror or exc}") from exc


def _remove(file: str) -> None:
    """The unit, and the link by which systemd starts it."""
    link = os.path.join(os.path.dirname(file), "default.target.wants", NAME)
    for path in (link, file):
        with explained("remove", path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)


def _systemctl(words: str, environment: Mapping[str, str]) -> None:
    """Run `systemctl --user`. Raises Explained with what it said."""
    failed = _failure(words, environment)
    if failed:
        raise Explained(f"{failed}; put that right, then run the same command again")


def _failure(words: str, environment: Mapping[str, str]) -> str:
    """Run `systemctl --user`; return why it failed, else nothing."""
    command = f"systemctl --user {words}"
    program = on_path("systemctl", environment.get("PATH", ""))
    if program is None:
        return "systemctl is not on PATH"
    try:
        ended = subprocess.run(
            [program, "--user", *words.split()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env=dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return f"cannot run `{command}`: {exc}"
    said = ended.stderr.decode(errors="replace").strip() or "it said nothing"
    return f"`{command}` failed: {said}" if ended.returncode else ""
