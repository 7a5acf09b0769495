"""Pure. The token file of a rendezvous: who may register which environments, and who may reach them.

    # principal   token                    grants: one or both, each a list of patterns
    ci            sha256:9f86d081884c7d65… register=build-*
    alice         s3cr3t-token-of-alice    register=laptop-alice reach=build-*,laptop-alice

Two lines for one principal let it change its token without an interruption; their grants add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from codex_mcp.access.gate import parse_tokens

REGISTER: Final = "register="
REACH: Final = "reach="

NAME_CHARS: Final = 64


class ExecutorGrant(Struct, frozen=True):
    register: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()

    def may_register(self, environment_id: str) -> bool:
        return any(fnmatchcase(environment_id, pattern) for pattern in self.register)

    def may_reach(self, environment_id: str) -> bool:
        return any(fnmatchcase(environment_id, pattern) for pattern in self.reach)


class TokenFile(Struct, frozen=True):
    tokens: dict[bytes, str]
    """SHA-256 of each token → its principal."""
    grants: Mapping[str, ExecutorGrant]
    """By principal."""


def parse_token_file(text: str) -> TokenFile:
    """Raises ValueError that names the line, never the token."""
    grants: dict[str, ExecutorGrant] = {}
    plain: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            plain.append("")
            continue
        plain.append(" ".join(words[:2]))
        granted = _grant(words[2:], number)
        known = grants.get(words[0], ExecutorGrant())
        grants[words[0]] = ExecutorGrant(known.register + granted.register, known.reach + granted.reach)
    return TokenFile(parse_tokens("\n".join(plain)), grants)


def _grant(words: Sequence[str], number: int) -> ExecutorGrant:
    register: list[str] = []
    reach: list[str] = []
    for word in words:
        for prefix, patterns in ((REGISTER, register), (REACH, reach)):
            if word.startswith(prefix):
                patterns += [pattern for pattern in word.removeprefix(prefix).split(",") if pattern]
                break
        else:
            raise ValueError(f"line {number} must continue with register=PATTERN or reach=PATTERN")
    if not register and not reach:
        raise ValueError(f"line {number} grants nothing: add register=PATTERN, reach=PATTERN, or both")
    return ExecutorGrant(tuple(register), tuple(reach))


def is_environment_id(text: str) -> bool:
    """As Codex accepts them in its configuration."""
    return 0 < len(text) <= NAME_CHARS and text.isascii() and text.replace("-", "").replace("_", "").isalnum()
