"""Pure. The permissions that Codex asks for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from codex_mcp.base.printable import one_line

Json: TypeAlias = Mapping[str, object]


def permission_lines(permissions: Json) -> list[str]:
    """Each permission on its own line: network, and each path with its access."""
    network, files = permissions.get("network"), permissions.get("fileSystem")
    lines = ["network access"] if isinstance(network, dict) and network.get("enabled") else []
    if not isinstance(files, dict):
        return lines
    if entries := files.get("entries"):
        return lines + [_entry(entry) for entry in entries if isinstance(entry, dict)]
    for access in ("read", "write"):
        lines += [f"{access} `{one_line(str(path))}`" for path in files.get(access) or []]
    return lines


def _entry(entry: Json) -> str:
    where = entry.get("path")
    place = where if isinstance(where, dict) else {}
    named = place.get("path") or place.get("pattern") or place.get("value") or where
    return f"{entry.get('access')} `{one_line(str(named))}`"
