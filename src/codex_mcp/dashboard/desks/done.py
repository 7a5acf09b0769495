"""Pure. What became of a form."""

from __future__ import annotations

from msgspec import Struct


class Done(Struct, frozen=True):
    """With a sentence, it was refused; without one, the browser goes to `location`."""

    status: int = 303
    sentence: str = ""
    location: str = "/ui/mail"
