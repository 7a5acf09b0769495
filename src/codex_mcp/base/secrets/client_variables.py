"""Pure. Variables of the MCP client that has started us. Clients pass their environment on; our children do not get it.

With those of its session a program can speak to Claude Code in the name of its own child.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

SESSION: Final = ("CLAUDE_CODE_MESSAGING_", "CLAUDE_CODE_SESSION_", "CLAUDE_SESSION_")
"""Prefixes of variables of a client's session. No child ever gets them."""

SECRETS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_")
"""Prefixes of variables that a child gets only if a setting of Codex names them."""


def is_of_session(name: str) -> bool:
    return name.startswith(SESSION)


def without_session(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not is_of_session(name)}


def without_client_secrets(environment: Mapping[str, str], overrides: Sequence[str]) -> dict[str, str]:
    """The environment without the client's own secrets, unless an override names them."""
    named = " ".join(overrides)
    rest = without_session(environment)
    return {name: value for name, value in rest.items() if name in named or not name.startswith(SECRETS)}
