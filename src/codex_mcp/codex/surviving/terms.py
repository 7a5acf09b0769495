"""Pure. What a server says of a core that is to outlive it. Others load nothing of this package but this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.codex.core import CoreError


class Survival(Struct, frozen=True):
    """That a core may outlive its server."""

    state_dir: str
    seconds: int
    """How long."""


class Command(Struct, frozen=True):
    """How a new core is started."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    version: str
    patience: float


class CannotSurvive(CoreError):
    """No core can be started on a socket, or taken over; one over stdio may be started."""
