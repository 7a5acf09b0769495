"""Pure. The requests that the load consists of, as bytes, in both eras of MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from codex_mcp.wire import mcp

REVISION = "2025-11-25"
STATELESS_REVISION = "2026-07-28"
CLIENT = {"name": "benchmarks", "version": "1"}
TEXT = "the quick brown fox jumps over the lazy dog"
"""What is echoed."""


class Era(StrEnum):
    """How the client speaks."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request, and where to."""

    port: int
    era: Era
    session: str = ""

    def post(self, method: str, params: Mapping[str, object], request_id: int | None, name: str = "") -> bytes:
        """A POST with one message; without an id it is a notification."""
        body = msgspec.json.encode(self._message(method, params, request_id))
        headers = [
            *self._headers("POST"),
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
        ]
        if self.era is Era.STATELESS:
            headers += [f"mcp-protocol-version: {STATELESS_REVISION}", f"mcp-method: {method}"]
            headers += [f"mcp-name: {name}"] if name else []
        return "\r\n".join([*headers, "", ""]).encode() + body

    def call(self, tool: str, arguments: Mapping[str, object], request_id: int) -> bytes:
        """`tools/call`, with a token for progress."""
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": request_id}}
        return self.post("tools/call", params, request_id, tool)

    def initialize(self) -> bytes:
        """The first words of a handshake."""
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": CLIENT}
        return self.post("initialize", params, 0)

    def listen(self) -> bytes:
        """A GET for the session's stream."""
        headers = [*self._headers("GET"), "accept: text/event-stream"]
        return "\r\n".join([*headers, "", ""]).encode()

    def _headers(self, verb: str) -> list[str]:
        lines = [f"{verb} /mcp HTTP/1.1", f"host: 127.0.0.1:{self.port}"]
        if self.session:
            lines += [f"mcp-session-id: {self.session}", f"mcp-protocol-version: {REVISION}"]
        return lines

    def _message(self, method: str, params: Mapping[str, object], request_id: int | None) -> dict[str, object]:
        if self.era is Era.STATELESS:
            given = params.get("_meta", {})
            assert isinstance(given, dict)
            about = {mcp.VERSION_KEY: STATELESS_REVISION, mcp.CAPABILITIES_KEY: {}, mcp.CLIENT_KEY: CLIENT}
            params = {**params, "_meta": {**given, **about}}
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        return message if request_id is None else {**message, "id": request_id}
