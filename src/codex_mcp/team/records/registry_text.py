"""Pure. The text of `registry.json`: the agents of a state folder, for people and for tools.

Written in version 2; version 1, in which a codex_id was called `agent_id`, is read as well. Unknown fields and
unreadable entries are skipped: one bad entry must not hide the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from codex_mcp.base.identity import why_invalid
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.timestamps import format_timestamp, parse_timestamp
from codex_mcp.team.agent import Agent

T = TypeVar("T")

VERSION: Final = 2

OLD_NAMES: Final = {"agent_id": "codex_id"}
"""Version 1's names of fields."""

NOT_SHOWN: Final = ("spec", "requests", "holder", "mail_since")
"""They may hold instructions, environments and ids that clients chose, which other readers must not see. Only servers
need the holder."""

HIGHEST_REVISION: Final = 10**15
"""Ten thousand writes a second for three thousand years. A higher one is not ours, and would block all writes."""

TIMES: Final = ("started_at", "last_active")

MASKED: Final = (
    *("cwd", "repo_root", "repo_name", "branch", "tag", "role", "agent_source", "principal", "last_error", "backend"),
)
"""Texts that come from outside. The other fields are ids and names of a fixed form, by which tools look for agents."""


class Registry(Struct, frozen=True):
    revision: int
    agents: tuple[Agent, ...]
    warnings: tuple[str, ...] = ()


class _Head(Struct):
    revision: Annotated[int, Meta(ge=0, le=HIGHEST_REVISION)] = 0


class _File(_Head):
    version: int = 1
    sessions: list[Raw] = msgspec.field(default_factory=list)


def registry_text(
    agents: Iterable[Agent], revision: int, now: float, entry: Callable[[Agent], bytes] | None = None
) -> bytes:
    """The contents of the file. The same agents give the same lines in the same order.

    `entry` is `entry_text`, or remembers what that has given.
    """
    ordered = sorted(agents, key=lambda agent: (agent.started_at, agent.codex_id))
    head = {"version": VERSION, "revision": revision, "written_at": format_timestamp(now), "sessions": []}
    before, _, after = msgspec.json.format(msgspec.json.encode(head), indent=2).rpartition(b"[]")
    entries = b",\n    ".join(map(entry or entry_text, ordered))
    return before + (b"[\n    " + entries + b"\n  ]" if entries else b"[]") + after + b"\n"


def entry_text(agent: Agent) -> bytes:
    """The lines of one agent."""
    return msgspec.json.format(msgspec.json.encode(_entry(agent)), indent=2).replace(b"\n", b"\n    ")


def _entry(agent: Agent) -> dict[str, object]:
    fields: dict[str, object] = msgspec.structs.asdict(agent)
    for name in NOT_SHOWN:
        del fields[name]
    fields["started_at"] = format_timestamp(agent.started_at)
    fields["last_active"] = format_timestamp(agent.last_active)
    for name in MASKED:
        if isinstance(value := fields[name], str):
            fields[name] = redact(value)
    return fields


def parse_registry(data: bytes) -> Registry:
    """Read a registry of version 1, 2 or later, as far as it is known. Raises ValueError if it is not a registry."""
    file = _decoded(data, _File)
    agents: dict[str, Agent] = {}
    warnings: list[str] = []
    for number, raw in enumerate(file.sessions, 1):
        try:
            agent = _agent(raw)
        except ValueError as error:
            warnings.append(f"entry {number} of the registry cannot be read and is skipped: {error}")
        else:
            agents[agent.codex_id] = agent  # if an id occurs twice, the later entry was added by hand, and counts
    return Registry(file.revision, tuple(agents.values()), tuple(warnings))


def revision_of(data: bytes) -> int:
    """The revision alone, without reading the entries. Raises ValueError if it is not a registry."""
    return _decoded(data, _Head).revision


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _agent(raw: Raw) -> Agent:
    found = _decoded(bytes(raw), dict[str, object])
    fields = {
        OLD_NAMES.get(key, key): value for key, value in found.items() if value is not None and key not in NOT_SHOWN
    }
    for name in TIMES:
        value = fields.get(name)
        if not isinstance(value, str):
            raise ValueError(f"its {name} is missing, or not a text")
        fields[name] = parse_timestamp(value)
    agent = msgspec.convert(fields, Agent)
    if reason := why_invalid(agent.identity):  # identities become paths, and the file may have been edited
        raise ValueError(reason)
    return agent
