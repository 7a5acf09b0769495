"""Pure. The Codex that runs, and the one on PATH that does not: what to say if a configuration may need a newer one."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from codex_mcp.base.errors import Notice

UNKNOWN: Final = re.compile(
    r"(?:failed to load configuration|invalid configuration|failed to resolve feature override precedence): .*?"
    r"(?:Model provider `([^`]*)` not found|unknown (?:variant|field) `([^`]*)`"
    r"|invalid (?:type|value): |missing field `|did not match any variant)",
    re.DOTALL,
)
"""What Codex says of a configuration that another version may understand."""

IN_A_FILE: Final = re.compile(r"\.toml:\d+")


class Unused(Struct, frozen=True):
    """A `codex` on PATH that is not used."""

    why: str
    remedy: str
    """What to do so that it, or another one in its place, is used."""
    is_newer: bool = False
    """Than the one that is used."""
    path: str | None = None
    """Its path, if it would be used once it has passed a trial."""
    has_failed: bool = False
    """A trial. Servers do not try it again."""

    @property
    def untried(self) -> str | None:
        """Its path, if it has to be tried first."""
        return None if self.has_failed else self.path


class Release(Struct, frozen=True):
    """The Codex that runs."""

    version: str = ""
    unused: Unused | None = None

    def explained(self, refusal: str, asked: Mapping[str, Any]) -> Notice:
        """A refusal of Codex, with the version as its likely cause if a newer Codex may know what this one does not.

        `asked` is the configuration that came with the call: what it names itself, its sender can correct.
        """
        unknown = UNKNOWN.match(refusal)
        if unknown is None or not self.version:
            return Notice(refusal)
        said = refusal.strip().rstrip(".")
        if self.unused is not None and self.unused.is_newer:
            cause = f"the likely cause is that this is Codex {self.version}, while {self.unused.why}"
            return Notice(f"{said}: {cause}", f"{self.unused.remedy}, then start this server again")
        if not IN_A_FILE.search(refusal) and any(word in _values(asked) for word in unknown.groups() if word):
            return Notice(refusal)
        cause = f"the likely cause is that this is Codex {self.version}, and a newer one wrote or needs this setting"
        return Notice(f"{said}: {cause}", "name a newer Codex as codex_version, or correct the setting")


def _values(config: Mapping[str, Any]) -> set[str]:
    """All values, and the names of all keys, at any depth."""
    found: set[str] = set()
    for key, value in config.items():
        found |= {key, *key.split(".")}
        found |= _values(value) if isinstance(value, Mapping) else {str(value)}
    return found
