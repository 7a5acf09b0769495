"""Pure. Every method that a client may call, on one page: the eras that have it, and where it is answered.

`methods` answers those of the server; those of features and conversations are loaded with the first request that needs
them, and their types stand beside their bodies (`features/service`, `conversations/methods`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

CACHE_HINTS: Final = {"ttlMs": 60_000, "cacheScope": "private"}
"""Tools change only with a release; a minute keeps a client from asking before every call."""

CHANGING: Final = {"ttlMs": 0, "cacheScope": "private"}
"""Prompts and threads change at any time; a client that wants to keep them subscribes."""


class Has(StrEnum):
    """The eras that have a method."""

    BOTH = "both"
    HANDSHAKE = "handshake"
    STATELESS = "stateless"


class Home(StrEnum):
    """Where a method is answered."""

    SERVER = "mcp/methods"
    FEATURES = "mcp/features"
    TASKS = "mcp/tools/tasks"
    CONVERSATIONS = "conversations"


class Row(Struct, frozen=True):
    home: Home
    has: Has = Has.BOTH
    cache: Mapping[str, object] = {}
    """Hints of its stateless answers."""


CONVERSATION: Final = Row(Home.CONVERSATIONS, Has.HANDSHAKE)
TASK: Final = Row(Home.TASKS, Has.STATELESS)

METHODS: Final[Mapping[str, Row]] = {
    "initialize": Row(Home.SERVER, Has.HANDSHAKE),
    "ping": Row(Home.SERVER, Has.HANDSHAKE),
    "shutdown": Row(Home.SERVER, Has.HANDSHAKE),
    "server/discover": Row(Home.SERVER, Has.STATELESS, CACHE_HINTS),
    "tools/list": Row(Home.SERVER, cache=CACHE_HINTS),
    "tools/call": Row(Home.SERVER),
    "prompts/list": Row(Home.FEATURES, cache=CHANGING),
    "prompts/get": Row(Home.FEATURES),
    "resources/list": Row(Home.FEATURES, cache=CHANGING),
    "resources/templates/list": Row(Home.FEATURES, cache=CACHE_HINTS),
    "resources/read": Row(Home.FEATURES, cache=CHANGING),
    "resources/subscribe": Row(Home.FEATURES, Has.HANDSHAKE),
    "resources/unsubscribe": Row(Home.FEATURES, Has.HANDSHAKE),
    "completion/complete": Row(Home.FEATURES),
    "logging/setLevel": Row(Home.FEATURES, Has.HANDSHAKE),
    "subscriptions/listen": Row(Home.FEATURES, Has.STATELESS),
    "tasks/get": TASK,
    "tasks/update": TASK,
    "tasks/cancel": TASK,
    "newConversation": CONVERSATION,
    "listConversations": CONVERSATION,
    "resumeConversation": CONVERSATION,
    "archiveConversation": CONVERSATION,
    "interruptConversation": CONVERSATION,
    "sendUserMessage": CONVERSATION,
    "sendUserTurn": CONVERSATION,
    "addConversationListener": CONVERSATION,
    "removeConversationListener": CONVERSATION,
    "getConversationSummary": CONVERSATION,
    "loginApiKey": CONVERSATION,
    "loginChatGpt": CONVERSATION,
    "cancelLoginChatGpt": CONVERSATION,
    "logoutChatGpt": CONVERSATION,
    "getAuthStatus": CONVERSATION,
    "getUserSavedConfig": CONVERSATION,
    "setDefaultModel": CONVERSATION,
    "userInfo": CONVERSATION,
    "gitDiffToRemote": CONVERSATION,
    "execOneOffCommand": CONVERSATION,
    "fuzzyFileSearch": CONVERSATION,
    "getUserAgent": CONVERSATION,
}

ANY: Final = Row(Home.SERVER)
"""A method of a server that is not this product."""


def answered_by(home: Home) -> list[str]:
    return [name for name, row in METHODS.items() if row.home is home]


def is_in_era(method: str, *, stateless: bool) -> bool:
    return METHODS.get(method, ANY).has is not (Has.HANDSHAKE if stateless else Has.STATELESS)


def cache_hints(method: str) -> Mapping[str, object]:
    return METHODS.get(method, ANY).cache
