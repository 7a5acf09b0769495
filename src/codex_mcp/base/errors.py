"""Pure. Errors whose text is a sentence for a person: what cannot be done, why, and what to do about it.

Their text may be sent to a client or printed as it is. Every other exception is a bug or an error of a library, which
is mapped to one of these where it enters.
"""


class Explained(Exception):
    """An error whose text is shown as it is, without a traceback."""


class Refused(Explained):
    """A request that is refused; the text says why and what to do."""


class BadSetting(Refused):
    """A flag, an environment variable or a settings file holds a value that we cannot use."""


class BadOverride(Refused):
    """A `-c key=value` or a call's `config` cannot be applied to Codex's configuration."""


class UnknownProfile(Refused):
    """Codex's home has no profile of this name."""


class NoCodex(Refused):
    """No usable Codex was found, or only a version that we do not support."""
