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


class View(StrEnum):
    """What is shown of a thread."""

    TRANSCRIPT = ""
    ANSWER = "answer"
    DIFF = "diff"
    ROLLOUT = "rollout"


MIME: Final = {
    View.TRANSCRIPT: "text/markdown",
    View.ANSWER: "text/markdown",
    View.DIFF: "text/x-diff",
    View.ROLLOUT: "application/x-ndjson",
}

TITLES: Final = {
    View.TRANSCRIPT: "Transcript",
    View.ANSWER: "Last answer",
    View.DIFF: "Changed files",
    View.ROLLOUT: "Rollout file",
}

HAS_PARTS: Final = (View.ANSWER, View.ROLLOUT)
"""Can be read from a place in the middle on."""

DESCRIPTIONS: Final = {
    View.TRANSCRIPT: "What was asked, done and answered in the thread",
    View.ANSWER: "The last message of the agent",
    View.DIFF: "Every patch that the thread has applied, in order, as a unified diff",
    View.ROLLOUT: "Codex's own record of the thread, one JSON object per line",
}


class Address(Struct, frozen=True):
    thread_id: str
    view: View
    begin: int = 0
    """The first character of an answer, or the first byte of a rollout, that is wanted."""

    @property
    def uri(self) -> str:
        """Without `begin`."""
        return PREFIX + "/".join(filter(None, (self.thread_id, self.view)))


def parsed(uri: str) -> Address | None:
    """None if this is not the address of a resource."""
    found = _URI.fullmatch(uri)
    if found is None or (found[3] is not None and found[2] not in HAS_PARTS):
        return None
    return Address(plain_id(found[1]), View(found[2] or ""), int(found[3] or 0))


def listed(thread_id: str, about: str) -> dict[str, dict[str, object]]:
    """The resources of a thread by their addresses. `about`: a few words on the thread."""
    addresses = [Address(thread_id, view) for view in View]
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
    Address("{id}", view).uri: {
        "uriTemplate": Address("{id}", view).uri,
        "name": f"thread-{view or 'transcript'}",
        "title": TITLES[view],
        "description": DESCRIPTIONS[view],
        "mimeType": MIME[view],
    }
    for view in View
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
