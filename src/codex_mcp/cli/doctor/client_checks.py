"""Pure. What the entries in the clients' configuration files mean."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from codex_mcp.cli.clients.everywhere.entry import Entry
from codex_mcp.cli.clients.known import CLIENTS, Scope
from codex_mcp.cli.clients.recognition.servers import Buried, Old, Ours, ServerKind
from codex_mcp.cli.doctor.facts import Clients, Finding, Group, Level

SHORT_TIMEOUT: Final = 300.0
"""Seconds. A server returns after 240 s at the latest to clients that have a limit of their own."""

GOOD_MILLISECONDS: Final = 3_600_000

ANSWERS: Final = "answers"


def judge_clients(clients: Clients) -> Iterator[Finding]:
    ours = [entry for entry in clients.entries if isinstance(entry.starts, Ours)]
    for file in clients.unreadable:
        text = f"{file.client}: cannot read {file.file}: {file.why}"
        yield Finding("clients.file", Group.CLIENTS, Level.WARNING, text, "correct the file; the client reads it too")
    old = [(entry, entry.starts) for entry in clients.entries if isinstance(entry.starts, Old | Buried)]
    for entry, starts in old:
        yield _old(entry, starts, clients)
    for entry in ours:
        yield from _ours(entry, clients)
    yield from _twice(ours)
    recorded = [entry for entry in clients.entries if entry.is_recorded]
    for entry in recorded:
        yield _address(entry, clients.addresses.get(entry.url or "", ANSWERS))
    if clients.tool_timeout is not None and clients.tool_timeout < SHORT_TIMEOUT:
        text = f"MCP_TOOL_TIMEOUT makes Claude Code stop each call and its turn after {clients.tool_timeout:g} s"
        fix = f"remove the variable, or set it to {GOOD_MILLISECONDS}"
        yield Finding("clients.timeout", Group.CLIENTS, Level.WARNING, text, fix)
    if not (ours or old or recorded):
        text = f"no client that we know runs codex-mcp yet; its command is `{clients.our_command} mcp-server`"
        yield Finding("clients", Group.CLIENTS, Level.OK, text)


def _address(entry: Entry, says: str) -> Finding:
    text = f"{entry.client}: the server {entry.name} in {entry.file} is at {entry.url}"
    if says == ANSWERS:
        return Finding("clients", Group.CLIENTS, Level.OK, f"{text}, which answers")
    fix = f"start the server, or run `{_uninstall(entry)}`"
    return Finding("clients.address", Group.CLIENTS, Level.ERROR, f"{text}, and {says}", fix)


def _uninstall(entry: Entry) -> str:
    """The command that removes it."""
    (client,) = [client.name for client in CLIENTS.values() if client.title == entry.client]
    scope = f" --scope {entry.scope}" if entry.scope not in ("", Scope.USER) else ""
    name = f" --name {entry.name}" if entry.name != "codex" else ""
    return f"codex-mcp uninstall {client}{scope}{name}"


def _twice(ours: Sequence[Entry]) -> Iterator[Finding]:
    """The plugin, and an entry of its own, in the same client."""
    plugins = [entry for entry in ours if entry.is_of_plugin]
    besides = [entry for entry in ours if not entry.is_of_plugin and plugins and entry.client == plugins[0].client]
    for entry in besides:
        text = f"{entry.client} has codex-mcp twice, as {entry.name} and as {plugins[0].name}: it sees every tool twice"
        fix = f"run `{_uninstall(entry)}`, or remove the plugin"
        yield Finding("clients.twice", Group.CLIENTS, Level.WARNING, text, fix)


def _old(entry: Entry, starts: Old | Buried, clients: Clients) -> Finding:
    through = f" through {starts.through}" if isinstance(starts, Buried) else ""
    where = f"{entry.client}: the server {entry.name} in {entry.file} runs"
    by_hand = f"change its command to `{clients.our_command} mcp-server`"
    if entry.is_of_plugin:
        by_hand = "update or disable the plugin"
    fix = by_hand if through or entry.is_of_plugin else f"run `codex-mcp migrate`, or {by_hand}"
    if starts.kind is not ServerKind.CODEX:
        text = f"{where} the {starts.kind} that codex-mcp replaces{through}"
        return Finding("clients.old-server", Group.CLIENTS, Level.WARNING, text, fix)
    where = f"{where} `codex mcp-server`{through}"
    if clients.is_path_codex_old and posixpath.basename(entry.words[0]) == "codex":
        text = f"{where}, which newer versions of Codex no longer have"
        return Finding("clients.old-server", Group.CLIENTS, Level.WARNING, text, fix)
    text = f"{where}, which Codex 0.154.0 removed: it fails with 'stdin is not a terminal'"
    return Finding("clients.old-server", Group.CLIENTS, Level.ERROR, text, fix)


def _ours(entry: Entry, clients: Clients) -> Iterator[Finding]:
    where = f"{entry.client}: the server {entry.name} in {entry.file}"
    if not entry.is_program_there:
        text = f"{where} runs {entry.program}, which does not exist or is not on PATH"
        fix = f"change its command to {clients.our_command}"
        if entry.is_of_plugin:
            fix = f"link {clients.our_command} into a folder of PATH: the plugin starts it from there"
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
