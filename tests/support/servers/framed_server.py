"""A server with a team, for a client that marks its messages off by Content-Length."""

import asyncio

import msgspec

from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer


class FramedServer(TeamServer):
    """Every message has a head, in both directions."""

    def send(self, message: object) -> None:
        """Write one message."""
        body = msgspec.json.encode(message)
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _next_message(self, stdout: asyncio.StreamReader) -> Json | None:
        try:
            head = await stdout.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        name, _, length = head.decode().strip().partition(": ")
        assert name == "Content-Length"
        message: Json = msgspec.json.decode(await stdout.readexactly(int(length)))
        return message
