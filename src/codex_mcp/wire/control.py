"""Pure. Messages of the control socket: JSON-RPC, one object a line, beside the methods of an ordinary MCP session.

`control/hello` comes first. Whoever is admitted to the socket is the user of the server; `as` narrows the connection to
one principal, and `view` to reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

PROTOCOL: Final = 1
"""Both sides name theirs. Messages are only added to a protocol; another number means that something was changed."""

HELLO: Final = "control/hello"
FOLLOW: Final = "control/follow"
EVENT: Final = "control/event"
RESYNC: Final = "control/resync"

ACTS_FOR: Final = "codex-mcp/acts-for"
"""In the `_meta` of a request: the principal whose agents it is about, and who makes it."""

READ: Final = "read"
CONTROL: Final = "control"

OTHER_PROTOCOL: Final = -32010
HELLO_FIRST: Final = -32011
NOT_ALLOWED: Final = -32012
REFUSED_PEER: Final = -32013

AGENTS: Final = "agents"
THREAD: Final = "thread:"
"""Topics: all agents of the server, and what happens in one thread, named after the colon."""

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""Of a message to a server."""


class Hello(Struct, frozen=True, kw_only=True):
    protocol: int
    program: str = ""
    """What connects: `show`, `watch`, `dashboard`."""
    version: str = ""
    person: str = ""
    """Who uses it."""
    principal: str | None = field(default=None, name="as")
    view: bool = False


class Greeting(Struct, frozen=True, kw_only=True):
    """What a server says of itself."""

    protocol: int
    node: str
    pid: int
    host: str
    version: str
    team: str
    started_at: float
    generation: int
    """Of its Codex: how often it was started."""
    may: Sequence[str]


class ActsFor(Struct, frozen=True, kw_only=True):
    principal: str
    person: str = ""
    via: str = ""


class Meta(Struct, frozen=True):
    acts_for: ActsFor | None = field(default=None, name=ACTS_FOR)


class AnyParams(Struct, frozen=True):
    """The part of a request's params that says for whom it is made."""

    meta: Meta | None = field(default=None, name="_meta")


class Follow(Struct, frozen=True):
    topics: Sequence[str]


class Followed(Struct, frozen=True, kw_only=True):
    """How things are at `at`; what happens later comes as events."""

    at: str
    agents: Sequence[Mapping[str, object]] = ()
    """As the registry has them. Of a followed thread, its agent."""


class Event(Struct, frozen=True, kw_only=True):
    at: str
    topic: str
    kind: str
    """`turn`, `item.started`, `item.text`, `item.ended`, `usage`, `plan`, `agent`, or `event` for others."""
    data: Mapping[str, object]
    """Of a thread: the `msg` of the `codex/event`. Of an agent: its row."""
