"""Pure. The `config.json` of a team: its members, read with tolerance, and changed.

A member may be an object with a name or, as early tools wrote it, a name alone. Other entries are skipped and counted.
Every byte that belongs to others stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.mail.address import is_agent_name
from codex_mcp.mail.files.json_text import after_blank, clean, decoded, encoded, value_at
from codex_mcp.mail.files.members import member_source, with_member
from codex_mcp.mail.files.records import salvaged

EXTERNAL: Final = "external"
"""`backendType` of members that Claude Code does not run."""


class ConfiguredMember(Struct, frozen=True):
    name: str
    agent_type: str | None = None
    is_external: bool = False
    """Another program than Claude Code reads its inbox."""


class TeamConfig(Struct, frozen=True):
    """`is_broken`: the file cannot be read as a team; its members are those that could be found."""

    members: tuple[ConfiguredMember, ...] = ()
    lead: str | None = None
    skipped: int = 0
    is_broken: bool = False

    def member(self, name: str) -> ConfiguredMember | None:
        return next((member for member in self.members if member.name == name), None)


NO_TEAM: Final = TeamConfig()


def config_in(data: bytes) -> TeamConfig:
    """What a file says about its team."""
    root = _root(data)
    entries = root.get("members", []) if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(entries, list):
        parts = [value_at(source, 0)[0] for source in salvaged(data, lambda value: member_in(value) is not None)]
        return TeamConfig(tuple(filter(None, map(member_in, parts))), is_broken=True)
    found: dict[str, ConfiguredMember] = {}
    for entry in entries:
        if member := member_in(entry):
            found.setdefault(member.name, member)
    lead = root.get("leadAgentId")
    lead_name = clean(lead).partition("@")[0] if isinstance(lead, str) else None
    return TeamConfig(tuple(found.values()), lead_name or None, skipped=len(entries) - len(found))


def with_members(data: bytes, change: Callable[[str], str]) -> bytes | None:
    """The file with its array of members changed, and every other byte as it was; None if the file is broken."""
    root, text = _root(data), decoded(data)
    if not isinstance(root, dict) or not isinstance(root.get("members", []), list):
        return None
    array = member_source(text, "members") or "[]"
    changed = change(array)
    return data if changed == array else encoded(with_member(text, ("members",), changed))


def _root(data: bytes) -> object:
    text = decoded(data)
    try:
        value, end = value_at(text, after_blank(text, 0))
    except ValueError:
        return None
    return value if after_blank(text, end) == len(text) else None


def member_in(entry: object) -> ConfiguredMember | None:
    """The member that an entry describes; None if it names none."""
    if isinstance(entry, str):
        return ConfiguredMember(entry) if is_agent_name(entry) else None
    if not isinstance(entry, Mapping):
        return None
    name, kind = entry.get("name"), entry.get("agentType")
    if not isinstance(name, str) or not is_agent_name(name):
        return None
    is_external = entry.get("backendType") == EXTERNAL or isinstance(entry.get("externalBackendType"), str)
    return ConfiguredMember(name, clean(kind) if isinstance(kind, str) else None, is_external)
