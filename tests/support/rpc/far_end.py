"""The other end of a channel in memory, where a test speaks for a program."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.support.patience import PATIENCE
from tests.support.rpc.memory_channel import MemoryChannel

Json = dict[str, Any]


@dataclass(slots=True)
class FarEnd:
    """Hears what is said to the program, and speaks for it."""

    channel: MemoryChannel

    async def hear(self) -> Json:
        """The next message."""
        async with asyncio.timeout(PATIENCE):
            frames = await self.channel.receive()
        assert isinstance(frames[0], bytes)
        message: Json = msgspec.json.decode(frames[0])
        return message

    def say(self, **message: object) -> None:
        """Say this."""
        self.channel.send(msgspec.json.encode({"jsonrpc": "2.0", **message}))
