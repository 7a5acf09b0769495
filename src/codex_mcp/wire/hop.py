"""Pure. Messages of the control socket by which one server of a folder answers for another.

The server that a client is connected to passes a request on, once, to the server that runs the agent, and passes back
what that one says meanwhile. Each of the client's sessions is a session there, too, with the same principal and caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Raw, Struct, field

from codex_mcp.wire import mcp
from codex_mcp.wire.control import Meta
from codex_mcp.wire.jsonrpc import NO_PARAMS, Id

FORWARD: Final = "control/forward"
WHOSE: Final = "control/whose"
CANCELLED: Final = "control/cancelled"
UNHEARD: Final = "control/unheard"
CALLER: Final = "control/caller"
END: Final = "control/end"
"""To the server that runs the agent."""

ASK: Final = "control/ask"
TOLD: Final = "control/told"
"""From it: a question to the client, and a notification for it."""

METHODS: Final = frozenset({"tools/call", "resources/read", "tasks/get", "tasks/update", "tasks/cancel"})
"""What is forwarded."""

ELSEWHERE: Final = -32016
"""A third server runs the agent by now: nothing was done."""
GONE: Final = -32017
"""The client that was to be asked is gone."""

MOST_REQUESTS: Final = 1024
"""Open requests of one server at another; those of its clients."""


class Origin(Struct, frozen=True, kw_only=True):
    """The session of the client that makes a request."""

    session: int
    """Its number at the server that forwards."""
    log_id: str
    caller: str
    client: mcp.ClientInfo | None = None
    capabilities: Mapping[str, object] = {}
    revision: str = ""
    is_stateless: bool = False
    """Each of its requests describes the client itself."""
    is_local: bool = False


class Forward(Struct, frozen=True, kw_only=True):
    meta: Meta = field(name="_meta")
    """For whom it is made."""
    origin: Origin
    id: Id
    """The client's id of the request."""
    method: str
    params: Raw


class Whose(Struct, frozen=True, kw_only=True):
    """Asks for a thread that is no agent's, and so is in no record: a review, for instance."""

    meta: Meta = field(name="_meta")
    thread: str


class Cancelled(Struct, frozen=True):
    """The client has cancelled a forwarded request, or hung up."""

    session: int
    id: Id
    reason: str | None = None
    hung_up: bool = False


class About(Struct, frozen=True):
    """A forwarded request: its client does not read questions about it any more."""

    session: int
    id: Id


class Ended(Struct, frozen=True):
    session: int


class CallerNews(Struct, frozen=True, kw_only=True):
    """What became of an answer to a caller, or of the caller's session."""

    kind: str
    caller: str
    id: Id = ""
    client: str = ""


LOST: Final = "answer_lost"
READ: Final = "answer_read"
LEFT: Final = "caller_left"
CAME: Final = "caller_came"
"""Kinds of `CallerNews`."""


class Ask(Struct, frozen=True):
    """`elicitation/create` for a client."""

    session: int
    about: Id
    params: Raw


class Told(Struct, frozen=True):
    session: int
    method: str
    params: Raw = NO_PARAMS
    about: Id | None = None
