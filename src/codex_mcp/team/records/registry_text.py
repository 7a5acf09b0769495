"""Pure. The text of `registry.json`: the agents of a state folder, for people and for tools.

We write version 2. We also read version 1, in which a codex_id was called `agent_id`. What we do not know is skipped,
field by field and entry by entry: one odd entry must not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
"""What version 1 called otherwise."""

NOT_SHOWN: Final = ("spec", "requests", "holder")
"""They may hold instructions, environments and ids that clients chose, which other readers must not see. The holder is
of use to servers alone."""

HIGHEST_REVISION: Final = 10**15
"""Ten thousand writes a second for three thousand years. A higher number is not ours, and would keep us out."""

TIMES: Final = ("started_at", "last_active")

MASKED: Final = (
    *("cwd", "repo_root", "repo_name", "branch", "tag", "role", "agent_source", "principal", "last_error", "backend"),
)
"""What others chose. Tools look for agents by the rest, which holds ids and names of a fixed form."""


class Registry(Struct, frozen=True):
    """What a registry says."""

    revision: int
    agents: tuple[Agent, ...]
    warnings: tuple[str, ...] = ()


class _Head(Struct):
    revision: Annotated[int, Meta(ge=0, le=HIGHEST_REVISION)] = 0


class _File(_Head):
    version: int = 1
    sessions: list[Raw] = msgspec.field(default_factory=list)


def registry_text(agents: Iterable[Agent], revision: int, now: float) -> bytes:
    """The whole file. The same agents give the same lines in the same order."""
    ordered = sorted(agents, key=lambda agent: (agent.started_at, agent.codex_id))
    whole = {
        "version": VERSION,
        "revision": revision,
        "written_at": format_timestamp(now),
        "sessions": [_entry(agent) for agent in ordered],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def _entry(agent: Agent) -> dict[str, object]:
    fields: dict[str, object] = msgspec.structs.asdict(agent)
    for name in NOT_SHOWN:
        del fields[name]
    fields["started_at"] = format_timestamp(agent.started_at)
    fields["last_active"] = format_timestamp(agent.last_active)
    return {name: _masked(name, value) for name, value in fields.items()}


def _masked(name: str, value: object) -> object:
    return redact(value) if name in MASKED and isinstance(value, str) else value


def parse_registry(data: bytes) -> Registry:
    """Read a registry of version 1 or 2, or of a later one as far as it goes. Raises ValueError if it is none."""
    file = _decoded(data, _File)
    agents: dict[str, Agent] = {}
    warnings: list[str] = []
    for number, raw in enumerate(file.sessions, 1):
        try:
            agent = _agent(raw)
        except ValueError as error:
            warnings.append(f"entry {number} of the registry cannot be read and is left out: {error}")
        else:
            agents[agent.codex_id] = agent  # of two with one id the later one was appended by somebody, and counts
    return Registry(file.revision, tuple(agents.values()), tuple(warnings))


def revision_of(data: bytes) -> int:
    """The revision alone, without reading the entries. Raises ValueError if it is no registry."""
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
        fields[name] = _time(fields, name)
    agent = msgspec.convert(fields, Agent)
    if reason := why_invalid(agent.identity):  # names become paths, and anybody may have edited this file
        raise ValueError(reason)
    return agent


def _time(fields: Mapping[str, object], name: str) -> float:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"its {name} is missing, or no text")
    return parse_timestamp(value)
