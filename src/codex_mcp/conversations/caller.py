"""The client of a request, as the conversation methods see it."""

from __future__ import annotations

from typing import Protocol

from codex_mcp.base.logs import Subject
from codex_mcp.rpc.peer import PendingCall


class Caller(Protocol):
    """One session. After a reconnect, another `Caller` has the same `owner`."""

    @property
    def owner(self) -> str:
        """Whom its conversations belong to."""

    @property
    def principal(self) -> str: ...

    @property
    def subject(self) -> Subject:
        """For the log."""

    @property
    def is_local(self) -> bool:
        """It started the server, and the sign-in is its own."""

    @property
    def sees_history(self) -> bool:
        """It may see all conversations on disk, and not only those of its principal."""

    def may_administer(self) -> bool:
        """Whether it may change the sign-in and the default model, at this moment."""

    def notify(self, method: str, params: object) -> None: ...

    def ask(self, method: str, params: object) -> PendingCall: ...

    def withdraw(self, pending: PendingCall, reason: str) -> None: ...
