"""Pictures that agents have looked at or made: files of this machine, served by a hash of what they hold."""

from __future__ import annotations

import hashlib
import os
import struct
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.files import read_regular

LONGEST: Final = 8 * 1024 * 1024
"""Bytes of a picture."""

MOST: Final = 500
"""Pictures that are remembered."""

AT_ONCE: Final = 40
"""Of one page."""

SHOWN: Final = 320
"""Pixels of the longer side."""

LARGEST: Final = 32_768

TYPES: Final = {"png": b"image/png", "jpeg": b"image/jpeg", "gif": b"image/gif", "webp": b"image/webp"}

JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class Shown(Struct, frozen=True):
    key: str
    kind: str
    width: int
    height: int


class Pictures:
    """`None` is remembered for a file that is no picture that can be shown."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, Shown | None] = OrderedDict()
        self._paths: dict[str, str] = {}

    def shown(self, path: str) -> Shown | None:
        return self._of.get(path)

    def unknown(self, paths: Iterable[str]) -> list[str]:
        return [path for path in dict.fromkeys(paths) if path not in self._of][:AT_ONCE]

    async def look(self, paths: Iterable[str]) -> None:
        for path in self.unknown(paths):
            self._of[path] = found = await in_thread(_look, path)
            if found is not None:
                self._paths[found.key] = path
            while len(self._of) > MOST:
                _, gone = self._of.popitem(last=False)
                if gone is not None:
                    self._paths.pop(gone.key, None)

    async def read(self, key: str, paths: Iterable[str]) -> tuple[bytes, bytes] | None:
        """The type and the bytes of a picture among these files; None if it is another one by now."""
        path = self._paths.get(key)
        if path is None or path not in set(paths):
            return None
        body = await in_thread(_read, path)
        if body is None or _key(body) != key:
            return None
        return TYPES[kind_of(body)], body


def _look(path: str) -> Shown | None:
    body = _read(path)
    kind = "" if body is None else kind_of(body)
    if body is None or not kind:
        return None
    width, height = size_of(kind, body)
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        return None
    scale = min(1.0, SHOWN / max(width, height))
    return Shown(_key(body), kind, max(1, round(width * scale)), max(1, round(height * scale)))


def _read(path: str) -> bytes | None:
    if not os.path.isabs(path):
        return None
    try:
        return read_regular(path, LONGEST)
    except (OSError, ValueError):
        return None


def _key(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def kind_of(body: bytes) -> str:
    """By the first bytes; empty for anything else, and for SVG, which can act."""
    if body.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if body.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if body.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if body.startswith(b"RIFF") and body[8:12] == b"WEBP" else ""


def size_of(kind: str, body: bytes) -> tuple[int, int]:
    """Width and height; zeros if they cannot be read."""
    try:
        match kind:
            case "png":
                return struct.unpack(">II", body[16:24])
            case "gif":
                return struct.unpack("<HH", body[6:10])
            case "jpeg":
                return _size_of_jpeg(body)
            case _:
                return _size_of_webp(body)
    except struct.error:
        return 0, 0


def _size_of_jpeg(body: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(body) and body[at] == 0xFF:
        if body[at + 1] in JPEG_SIZES:
            height, width = struct.unpack(">HH", body[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(body[at + 2 : at + 4], "big")
    return 0, 0


def _size_of_webp(body: bytes) -> tuple[int, int]:
    match body[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(body[24:27], "little"), 1 + int.from_bytes(body[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(body[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            width, height = struct.unpack("<HH", body[26:30])
            return width & 0x3FFF, height & 0x3FFF
