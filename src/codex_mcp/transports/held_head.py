"""The head of an answer goes out with the first piece of its body: one call of the kernel, and one packet, not two.

uvicorn writes each of them when it has it, and the event loop hands it to the kernel at once. So an application begins
the body together with the head, be it with an empty piece.
"""

from __future__ import annotations

import asyncio


class HeldHead:
    """What one answer is written to. The first that is written is its head."""

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Send a piece, or keep the head for the piece that follows."""
        if self._head is None:
            self._head = data
            return
        if self._head:
            data = self._head + data
            self._head = b""
        self._transport.write(data)

    def write_whole(self, data: bytes) -> None:
        """Send an answer in one piece, its head included."""
        self._head = b""
        self._transport.write(data)

    def is_closing(self) -> bool:
        """Will nothing more be sent?"""
        return self._transport.is_closing()

    def close(self) -> None:
        """Send what was written, and no more. A head whose body never came is not sent."""
        self._transport.close()
