"""One watch of the inbox files for everyone who waits for mail. It begins with the first who does."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Protocol

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address
from codex_mcp.team.mail.team_mail import TeamMail


class InboxFollower(Protocol):
    def watched(self) -> Collection[Address]:
        """The inboxes that matter now."""

    async def inboxes_changed(self, inboxes: frozenset[Address]) -> None:
        """Some of them have changed, or are seen for the first time. It must not raise."""


class InboxWatch:
    def __init__(self, mail: TeamMail, poll: float) -> None:
        """`poll`: seconds between two looks without an event."""
        self._mail = mail
        self._poll = poll
        self._followers: list[InboxFollower] = []
        self._tasks = TaskSet()
        self._is_running = False
        self._is_closed = False

    def add(self, follower: InboxFollower) -> None:
        """Followers are told in the order in which they were added, each when the one before is done."""
        self._followers.append(follower)

    def begin(self) -> None:
        if not self._is_running and not self._is_closed:
            self._is_running = True
            self._tasks.spawn(self._run(), name="watch of the mail")

    async def aclose(self) -> None:
        self._is_closed = True
        await self._tasks.aclose()

    async def _run(self) -> None:
        try:
            while not self._mail.has_folder:
                await self._mail.folder_may_have_come(self._poll)
            from codex_mcp.mail.watch import changes  # noqa: PLC0415  only for a team that has mail

            async with contextlib.aclosing(changes(self._mail.files.layout, self._watched, self._poll)) as changed:
                async for inboxes in changed:
                    for follower in self._followers:
                        await follower.inboxes_changed(inboxes)
        finally:
            self._is_running = False

    def _watched(self) -> Collection[Address]:
        return [address for follower in self._followers for address in follower.watched()]
