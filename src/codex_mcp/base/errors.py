"""Pure. Errors whose text is a sentence for a person: what cannot be done, why, and what to do about it.

Their text may be sent to a client or printed as it is. Every other exception is a bug or an error of a library, which
is mapped to one of these where it enters.
"""

from __future__ import annotations

from msgspec import Struct


class Notice(Struct, frozen=True):
    """What is wrong, and what to do about it, as far as that is known. Its text has both."""

    problem: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.fix}" if self.fix else self.problem


class Explained(Exception):
    """An error whose text is shown as it is, without a traceback. With a `fix`, its text ends with that."""

    def __init__(self, problem: str = "", fix: str = "") -> None:
        self.notice = Notice(problem, fix)
        super().__init__(str(self.notice))


class Refused(Explained):
    """A request that is refused; the text says why and what to do."""


class NotFound(Refused):
    """There is no such thing as the one that was named. A command ends with an exit code of its own."""


class BadSetting(Refused):
    """A flag, an environment variable or a settings file holds a value that we cannot use."""


class BadOverride(Refused):
    """A `-c key=value` or a call's `config` cannot be applied to Codex's configuration."""


class UnknownProfile(Refused):
    """Codex's home has no profile of this name."""


class NoCodex(Refused):
    """No usable Codex was found, or only a version that we do not support."""
