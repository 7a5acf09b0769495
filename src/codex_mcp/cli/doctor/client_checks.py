"""Pure. What the entries in the clients' configuration files mean."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from codex_mcp.cli.clients.old_servers import Kind, old_server
from codex_mcp.cli.doctor.facts import Clients, Entry, Finding, Group, Level

OUR_PROGRAMS: Final = ("codex-mcp", "codex-mcp-server")

OLD_COMMAND: Final = re.compile(r"(?<![\w./-])(?:\S*/)?codex(?:\s[^|;&]*)?\smcp-server(?![\w-])")
"""`codex … mcp-server` among other commands in a line for a shell."""

SHORT_TIMEOUT: Final = 300.0
"""Seconds. A server returns after 240 s at the latest to clients that have a limit of their own."""

GOOD_MILLISECONDS: Final = 3_600_000


def judge_clients(clients: Clients) -> Iterator[Finding]:
    ours = [entry for entry in clients.entries if is_ours(entry.words)]
    dead = [entry for entry in clients.entries if is_old_server(entry.words)]
    for file in clients.unreadable:
        text = f"{file.client}: cannot read {file.file}: {file.why}"
        yield Finding("clients.file", Group.CLIENTS, Level.WARNING, text, "correct the file; the client reads it too")
    for entry in dead:
        yield _dead(entry, clients)
    for entry in ours:
        yield from _ours(entry, clients)
    if clients.tool_timeout is not None and clients.tool_timeout < SHORT_TIMEOUT:
        text = f"MCP_TOOL_TIMEOUT makes Claude Code stop each call and its turn after {clients.tool_timeout:g} s"
        fix = f"remove the variable, or set it to {GOOD_MILLISECONDS}"
        yield Finding("clients.timeout", Group.CLIENTS, Level.WARNING, text, fix)
    if not ours and not dead:
        text = f"no client that we know runs codex-mcp yet; its command is `{clients.our_command} mcp-server`"
        yield Finding("clients", Group.CLIENTS, Level.OK, text)


def is_ours(words: Sequence[str]) -> bool:
    """Whether these words start a server of ours."""
    if not words:
        return False
    program, arguments = posixpath.basename(words[0]), words[1:]
    if program in OUR_PROGRAMS:
        return True
    return ("-m", "codex_mcp") in pairwise(arguments) or (program in ("uvx", "uv", "pipx") and "codex-mcp" in arguments)


def is_old_server(words: Sequence[str]) -> bool:
    """Whether these words start `codex mcp-server`, which Codex 0.154.0 removed, or its older name `codex mcp`."""
    old = old_server(words)
    if old is not None:
        return old.kind is Kind.CODEX
    return any(OLD_COMMAND.search(word) for word in words[1:] if " " in word)


def _dead(entry: Entry, clients: Clients) -> Finding:
    where = f"{entry.client}: the server {entry.name} in {entry.file} runs `codex mcp-server`"
    fix = f"run `codex-mcp migrate`, or change its command to `{clients.our_command} mcp-server`"
    if clients.is_path_codex_old and posixpath.basename(entry.words[0]) == "codex":
        text = f"{where}, which newer versions of Codex no longer have"
        return Finding("clients.old-server", Group.CLIENTS, Level.WARNING, text, fix)
    text = f"{where}, which Codex 0.154.0 removed: it fails with 'stdin is not a terminal'"
    return Finding("clients.old-server", Group.CLIENTS, Level.ERROR, text, fix)


def _ours(entry: Entry, clients: Clients) -> Iterator[Finding]:
    where = f"{entry.client}: the server {entry.name} in {entry.file}"
    if not entry.is_program_there:
        text = f"{where} runs {entry.words[0]}, which does not exist or is not on PATH"
        fix = f"change its command to {clients.our_command}"
        yield Finding("clients.program", Group.CLIENTS, Level.ERROR, text, fix)
        return
    deadline = _soft_deadline(entry.words) or clients.soft_deadline
    is_short = entry.timeout is not None and entry.timeout < SHORT_TIMEOUT
    if is_short and not (deadline is not None and deadline < (entry.timeout or 0)):
        text = f"{where} gets {entry.timeout:g} s for a call; then the client stops the call and its turn"
        fix = "raise its timeout to an hour, or add the flag --soft-deadline with fewer seconds"
        yield Finding("clients.timeout", Group.CLIENTS, Level.WARNING, text, fix)
        return
    yield Finding("clients", Group.CLIENTS, Level.OK, f"{where} runs codex-mcp")


def _soft_deadline(words: Sequence[str]) -> float | None:
    flag = "--soft-deadline"
    given = [after for word, after in pairwise(words) if word == flag]
    given += [word.partition("=")[2] for word in words if word.startswith(f"{flag}=")]
    try:
        return float(given[-1]) if given else None
    except ValueError:
        return None
