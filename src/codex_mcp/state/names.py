"""Pure. Whose a name of a team is: it belongs to the principal that used it first, with or without an agent.

the name                            this principal uses it        another principal uses it
----------------------------------  ----------------------------  ----------------------------------------------
was never used                      takes it                      takes it
belongs to this principal           keeps it                      is refused
was released by this principal      has it again, with its mail   takes it; mail sent before the release is hidden
"""

from __future__ import annotations

from msgspec.structs import replace

from codex_mcp.state.contract import Name


def used_by(found: Name | None, name: str, principal: str) -> Name | None:
    """The name after this principal has used it; None if it belongs to another one."""
    if found is None:
        return Name(name, principal)
    if found.principal == principal:
        return replace(found, released=None)
    return None if found.released is None else Name(name, principal, since=found.released)


def released_by(found: Name | None, principal: str, now: float) -> Name | None:
    """The name after this principal has given it up; None if it is not its own."""
    if found is None or found.principal != principal or found.released is not None:
        return None
    return replace(found, released=now)
