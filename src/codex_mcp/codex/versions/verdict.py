"""Pure. What came of trying a Codex on this machine."""

from msgspec import Struct


class Identity(Struct, frozen=True):
    """Which file it was, without reading it."""

    path: str
    size: int
    changed: int
    """Nanoseconds: when its contents, name or rights last changed. Nobody can set it back."""
    inode: int


class Verdict(Struct, frozen=True, kw_only=True):
    identity: Identity
    sha256: str
    version: str
    by: str
    """The version of codex-mcp that tried it."""
    failed: str = ""
    """The check that failed; empty if all passed."""
    why: str = ""

    @property
    def is_fit(self) -> bool:
        return not self.failed
