"""Pure. Errors whose text is a sentence for a person: what cannot be done, why, and what to do about it.

Their text may go on the wire and on the terminal as it is. Everything else that is raised is a bug or a foreign
error, and is mapped to one of these where it enters.
"""


class Explained(Exception):
    """An error that somebody is told in these words. From where in the code it came would explain nothing more."""


class Refused(Explained):
    """We will not or cannot do what was asked; the text says why and what to do."""


class BadSetting(Refused):
    """A flag, an environment variable or a settings file holds a value that we cannot use."""


class BadOverride(Refused):
    """A `-c key=value` or a call's `config` cannot be applied to Codex's configuration."""


class UnknownProfile(Refused):
    """A profile was asked for by name, and Codex's home has none of that name."""


class NoCodex(Refused):
    """There is no Codex that we can run: none was found, or not in a version that we know."""
