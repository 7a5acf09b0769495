"""Pure. The commands with which clients themselves add and remove a server.

None where a client has no such command, and for the files of a project, which people write by hand: the commands would
lay them out anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from codex_mcp.cli.clients.known import Place, Scope


def adding(place: Place, name: str, entry: Mapping[str, object]) -> list[str] | None:
    """The command that adds this entry. It may leave out fields that it does not know."""
    command = [str(word) for word in (entry.get("command"), *_words(entry.get("args"))) if word is not None]
    url = entry.get(place.client.url or "")
    if place.scope is Scope.PROJECT:
        return None
    match place.client.name:
        case "claude":
            return ["claude", "mcp", "add-json", "--scope", place.scope, name, json.dumps(entry)]
        case "codex":
            return ["codex", "mcp", "add", name, *(["--url", str(url)] if url else ["--", *command])]
        case "gemini":
            kind = ["--transport", "http"] if url else []
            limit = ["--timeout", str(entry["timeout"])]
            return ["gemini", "mcp", "add", "--scope", place.scope, *kind, *limit, name, *(command or [str(url)])]
        case "vscode":
            return ["code", "--add-mcp", json.dumps({"name": name, **entry})]
    return None


def removing(place: Place, name: str) -> list[str] | None:
    """The command that removes this entry."""
    if place.scope is Scope.PROJECT:
        return None
    match place.client.name:
        case "claude" | "gemini":
            return [place.client.name, "mcp", "remove", "--scope", place.scope, name]
        case "codex":
            return ["codex", "mcp", "remove", name]
    return None


def _words(args: object) -> list[object]:
    return list(args) if isinstance(args, list) else []
