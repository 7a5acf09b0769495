"""Pure. The addresses of resources: `codex://threads/{id}`, and below it `answer`, `diff` and `rollout`.

`answer?from=CHARACTER` and `rollout?from=BYTE` are what follows there.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.identity import LONGEST
from codex_mcp.codex.core import plain_id

PREFIX: Final = "codex://threads/"

_URI: Final = re.compile(r"codex://threads/([0-9A-Za-z-]{1,64})(?:/(answer|diff|rollout)(?:\?from=([0-9]{1,15}))?)?")


class ThreadView(StrEnum):
    """What is shown of a thread."""

    TRANSCRIPT = ""
    ANSWER = "answer"
    DIFF = "diff"
    ROLLOUT = "rollout"


MIME: Final = {
    ThreadView.TRANSCRIPT: "text/markdown",
    ThreadView.ANSWER: "text/markdown",
    ThreadView.DIFF: "text/x-diff",
    ThreadView.ROLLOUT: "application/x-ndjson",
}

TITLES: Final = {
    ThreadView.TRANSCRIPT: "Transcript",
    ThreadView.ANSWER: "Last answer",
    ThreadView.DIFF: "Changed files",
    ThreadView.ROLLOUT: "Rollout file",
}

HAS_PARTS: Final = (ThreadView.ANSWER, ThreadView.ROLLOUT)
"""Can be read from a place in the middle on."""

DESCRIPTIONS: Final = {
    ThreadView.TRANSCRIPT: "What was asked, done and answered in the thread",
    ThreadView.ANSWER: "The last message of the agent",
    ThreadView.DIFF: "Every patch that the thread has applied, in order, as a unified diff",
    ThreadView.ROLLOUT: "Codex's own record of the thread, one JSON object per line",
}


class ResourceAddress(Struct, frozen=True):
    thread_id: str
    view: ThreadView
    begin: int = 0
    """The first character of an answer, or the first byte of a rollout, that is wanted."""

    @property
    def uri(self) -> str:
        """Without `begin`."""
        return PREFIX + "/".join(filter(None, (self.thread_id, self.view)))


def parsed(uri: str) -> ResourceAddress | None:
    """None if this is not the address of a resource."""
    found = _URI.fullmatch(uri)
    if found is None or (found[3] is not None and found[2] not in HAS_PARTS):
        return None
    return ResourceAddress(plain_id(found[1]), ThreadView(found[2] or ""), int(found[3] or 0))


def listed(thread_id: str, about: str) -> dict[str, dict[str, object]]:
    """The resources of a thread by their addresses. `about`: a few words on the thread."""
    addresses = [ResourceAddress(thread_id, view) for view in ThreadView]
    return {
        each.uri: {
            "uri": each.uri,
            "name": "-".join(filter(None, (thread_id, each.view))),
            "title": f"{TITLES[each.view]}: {about}" if about else TITLES[each.view],
            "description": DESCRIPTIONS[each.view],
            "mimeType": MIME[each.view],
        }
        for each in addresses
    }


TEMPLATES: Final[dict[str, dict[str, object]]] = {
    ResourceAddress("{id}", view).uri: {
        "uriTemplate": ResourceAddress("{id}", view).uri,
        "name": f"thread-{view or 'transcript'}",
        "title": TITLES[view],
        "description": DESCRIPTIONS[view],
        "mimeType": MIME[view],
    }
    for view in ThreadView
}
"""The templates by their addresses."""


MAIL_MIME: Final = "application/json"
MAIL_TITLE: Final = "Unread mail"
MAIL_DESCRIPTION: Final = "The unread messages of a name, urgent ones first; they stay unread"

_MAIL: Final = re.compile(rf"codex://mail/([a-z0-9-]{{1,{LONGEST}}})")


def mailbox_uri(identity: str) -> str:
    return f"codex://mail/{identity}"


def mailbox_in(uri: str) -> str | None:
    """Whose mailbox this is the address of; None if it is no such address."""
    found = _MAIL.fullmatch(uri)
    return None if found is None else found[1]


def listed_mailbox(identity: str) -> dict[str, object]:
    return {
        "uri": mailbox_uri(identity),
        "name": f"mail-{identity}",
        "title": f"{MAIL_TITLE}: {identity}",
        "description": MAIL_DESCRIPTION,
        "mimeType": MAIL_MIME,
    }


MAIL_TEMPLATE: Final[dict[str, dict[str, object]]] = {
    mailbox_uri("{name}"): {
        "uriTemplate": mailbox_uri("{name}"),
        "name": "mail",
        "title": MAIL_TITLE,
        "description": MAIL_DESCRIPTION,
        "mimeType": MAIL_MIME,
    }
}
