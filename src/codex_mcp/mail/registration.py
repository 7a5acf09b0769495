"""Pure. The entries of our agents in the `config.json` of a team, each with a mark that says which server made it.

An entry makes an agent reachable by Claude Code's SendMessage. Every other byte of the file stays.

entry                                          what happens to it
---------------------------------------------  -----------------------------------------------------
without our mark                               stays; its name is taken
with the mark of this server, agent is here    stays
with the mark of this server, agent is gone    is removed
with the mark of a server that lives           stays; its name is taken
with the mark of a server that has ended       is removed
an agent is here and has no entry              one is added, unless its name is taken or not a name
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.mail.address import is_agent_name
from codex_mcp.mail.files.json_text import decoded, encoded
from codex_mcp.mail.files.records import Records, appended, records_in, without
from codex_mcp.mail.team_config import EXTERNAL, member_in, with_members

MARK: Final = "codexMcp"
"""The member of an entry that is our mark. Claude Code 2.1.325 keeps it when it rewrites the file."""


class Owner(Struct, frozen=True, rename="camel"):
    """A server process. Another one with the same pid has another start."""

    pid: int
    proc_start: str
    pid_space: str
    """Where the pid means something: a machine and, on Linux, a namespace of it."""


class NewMember(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent of this server, as Claude Code describes its own."""

    agent_id: str
    name: str
    agent_type: str
    model: str
    joined_at: int
    """Milliseconds since the epoch."""
    tmux_pane_id: str = ""
    cwd: str
    subscriptions: tuple[str, ...] = ()
    backend_type: str = EXTERNAL


class Registered(Struct, frozen=True):
    """The file as it should be, and the names that have an entry of this server in it."""

    data: bytes
    names: frozenset[str]


def owners_in(data: bytes) -> frozenset[Owner]:
    """The servers whose marks are in a file."""
    found: set[Owner] = set()

    def look(array: str) -> str:
        found.update(filter(None, (_mark(record.value) for record in _records(array).records)))
        return array

    with_members(data, look)
    return frozenset(found)


def registered(data: bytes, agents: Sequence[NewMember], us: Owner, ended: frozenset[Owner]) -> Registered | None:
    """The file with an entry for each of these agents of ours; None if it is broken. `ended` are servers that died."""
    names: frozenset[str] = frozenset()

    def change(array: str) -> str:
        nonlocal names
        records = _records(array)
        taken = {_name(record.value) for record in records.records if _mark(record.value) not in (us, *ended)}
        wanted = {agent.name: agent for agent in agents if is_agent_name(agent.name) and agent.name not in taken}
        names = frozenset(wanted)
        gone, missing = set[int](), dict(wanted)
        for index, record in enumerate(records.records):
            mark = _mark(record.value)
            if mark in ended or (mark == us and missing.pop(_name(record.value) or "", None) is None):
                gone.add(index)
        text = decoded(without(records, frozenset(gone))) if gone else array
        for agent in missing.values():
            text = decoded(appended(_records(text), _source(agent, us)))
        return text

    changed = with_members(data, change)
    return None if changed is None else Registered(changed, names)


def _name(entry: object) -> str | None:
    member = member_in(entry)
    return None if member is None else member.name


def _records(array: str) -> Records:
    records = records_in(encoded(array))
    assert records is not None, "it was parsed before"
    return records


def _source(agent: NewMember, us: Owner) -> str:
    entry = {**msgspec.to_builtins(agent), MARK: msgspec.to_builtins(us)}
    return json.dumps(entry, ensure_ascii=False, indent=2).replace("\n", "\n    ")


def _mark(entry: object) -> Owner | None:
    if not isinstance(entry, Mapping) or MARK not in entry:
        return None
    try:
        return msgspec.convert(entry[MARK], Owner)
    except msgspec.ValidationError:
        return None
