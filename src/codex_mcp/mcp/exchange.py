"""One request, with everything that a handler may know and say about it while it works on the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.base.logs import Subject
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.session import LOGGED_CHARS, Session
from codex_mcp.wire.jsonrpc import Request

Params = TypeVar("Params")


class Exchange(Struct, frozen=True):
    """A request of a session, or one that stands for itself."""

    request: Request
    session: Session
    client: Client
    """As it described itself: at the handshake, or in this very request."""
    capabilities: Mapping[str, object]
    """What the server says that it can do."""
    instructions: str = ""
    """How it introduces itself to a model."""

    @property
    def subject(self) -> Subject:
        """The session, the principal and the request, for the log."""
        return self.session.subject._replace(request=str(self.request.id)[:LOGGED_CHARS])

    def params(self, kind: type[Params]) -> Params:
        """The parameters as a value. Raises MsgspecError, which becomes -32602."""
        return msgspec.json.decode(self.request.params, type=kind)

    def notify(self, method: str, params: object) -> None:
        """Tell the client something about this request."""
        self.client.notify(method, params, self.request.id)
