"""Pure. What a page that is open has to be sent, so that it shows what a fresh one would.

A page is made of parts, each with an id and its HTML, and of lists of parts, whose order may change. A part is sent
when it differs from what was sent last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct


class Parts(Struct, frozen=True):
    html: Mapping[str, str] = {}
    """By the id of the element that they fill."""
    lists: Mapping[str, Sequence[str]] = {}
    """The ids of the rows of a list, in their order, by the id of the list."""
    title: str = ""
    said: str = ""
    """Said to a screen reader, once, when it changes."""
    steps: Sequence[str] = ()
    """The ids of the newest steps of a transcript, in order. An open page keeps earlier ones."""
    turn: str = ""
    """Whose steps they are: for those of another turn, the transcript is fetched again."""


NOTHING = Parts()


class Patch(Struct, frozen=True, omit_defaults=True):
    html: Mapping[str, str] = {}
    lists: Mapping[str, Sequence[str]] = {}
    title: str = ""
    said: str = ""
    steps: Sequence[str] = ()
    turn: str = ""


def patch(before: Parts, now: Parts) -> Patch | None:
    """What has changed; None if nothing has."""
    found = Patch(
        html={key: html for key, html in now.html.items() if before.html.get(key) != html},
        lists={key: keys for key, keys in now.lists.items() if before.lists.get(key) != keys},
        title=now.title if now.title != before.title else "",
        said=now.said if before is not NOTHING and now.said != before.said else "",
        steps=now.steps if now.steps != before.steps or now.turn != before.turn else (),
        turn=now.turn if now.steps != before.steps or now.turn != before.turn else "",
    )
    return None if found == Patch() else found


def event(kind: str, data: object) -> bytes:
    """A server-sent event. JSON is always a single line."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))
