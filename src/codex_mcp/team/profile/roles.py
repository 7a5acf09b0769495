"""Pure. Roles: named settings of agents, so that a call gives `reviewer` in place of five arguments.

A role is a table `[plugins.codex-mcp.roles.NAME]` of a settings file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.identity import EXPECTED, is_identity
from codex_mcp.base.settings.environments import fields_in
from codex_mcp.base.settings.kinds import ApprovalPolicy, Sandbox
from codex_mcp.codex.config.overrides import GOALS, SUBAGENTS


class Role(Struct, frozen=True, kw_only=True):
    """Settings of an agent; None where the role says nothing."""

    purpose: str | None = None
    """What agents with this role are for; the model that chooses a role reads it."""
    model: str | None = None
    reasoning_effort: str | None = None
    sandbox: Sandbox | None = None
    approval_policy: ApprovalPolicy | None = None
    instructions: str | None = None
    environment: str | None = None
    identity: str | None = None
    """The default identity of agents with this role."""
    auto_mail: bool | None = None
    worktree: bool | None = None
    goals: bool | None = None
    subagents: bool | None = None
    """False switches them off, unless the `config` of a call switches them on."""

    @property
    def config(self) -> dict[str, object]:
        """What Codex is told about the settings of these names."""
        off = {GOALS: self.goals, SUBAGENTS: self.subagents}
        return {key: False for key, choice in off.items() if choice is False}


def role_from(table: Mapping[str, object], role: str, source_of: Callable[[str], str]) -> Role:
    """The role in a table; errors name the role, and where the key comes from. Raises BadSetting."""
    fields = fields_in(table, KINDS, ("a role", f"the role {role}"), source_of)
    return Role(**fields)  # type: ignore[arg-type]  # each was made by its kind


def over(*layers: Role) -> Role:
    """The first value of each field, from the strongest layer to the weakest."""
    return Role(
        **{
            name: next((value for layer in layers if (value := getattr(layer, name)) is not None), None)
            for name in Role.__struct_fields__
        }
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def _one_of(kind: type[StrEnum]) -> Callable[[object], StrEnum]:
    def choose(value: object) -> StrEnum:
        if not isinstance(value, str) or value not in list(kind):
            raise ValueError(f"one of {', '.join(kind)}")
        return kind(value)

    return choose


def _identity(value: object) -> str:
    if not isinstance(value, str) or not is_identity(value):
        raise ValueError(EXPECTED)
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


KINDS: Final[dict[str, Callable[[object], object]]] = {
    "purpose": _text,
    "model": _text,
    "reasoning_effort": _text,
    "sandbox": _one_of(Sandbox),
    "approval_policy": _one_of(ApprovalPolicy),
    "instructions": _text,
    "environment": _text,
    "identity": _identity,
    "auto_mail": _switch,
    "worktree": _switch,
    "goals": _switch,
    "subagents": _switch,
}
"""What each key may hold. The reasoning efforts that exist depend on the model; Codex checks them. The
environment is checked when all files are read."""
