"""Pure. What a frame of a server begins with, and whether the message of a text frame is text."""

from __future__ import annotations

from typing import Final

FIN: Final = 0x80


def frame_header(size: int, opcode: int, fin: int = FIN) -> bytes:
    """The header of a frame from server to client, which is never masked."""
    if size < 126:
        return bytes((fin | opcode, size))
    if size < 1 << 16:
        return bytes((fin | opcode, 126)) + size.to_bytes(2, "big")
    return bytes((fin | opcode, 127)) + size.to_bytes(8, "big")


def is_utf8(message: bytes) -> bool:
    if message.isascii():
        return True
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
