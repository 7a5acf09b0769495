"""Pure. What the control socket tells of an agent that a server runs."""

from __future__ import annotations

from msgspec import Struct


class LiveRow(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a row says beside the record of the agent."""

    task: str = ""
    """What it was asked last."""
    doing: str = ""
    """What it does now, while it is busy."""
    said: str = ""
    """How it answered, or why it failed."""
    since: float | None = None
    """When it began that; times are seconds since 1970."""
    heard: float | None = None
    """About when it last gave a sign of life."""
    closing: bool = False
    waiting: int = 0
    """Prompts that wait for it."""
    added: int = 0
    removed: int = 0
    """Lines that its last turn has changed."""
    mail: int = 0
    held_mail: int = 0
    """Unread messages, and those of them that are held back."""
    paused: str = ""
    paused_until: float | None = None
    environment: str = ""
    """Where its commands run, if not on this machine."""
    context: int | None = None
    """Percent of the model's context that its newest request has filled, once Codex has told it."""
