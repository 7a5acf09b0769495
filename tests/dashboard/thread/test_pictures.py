"""Pictures of agents."""

import base64
import os
import struct
from pathlib import Path

import pytest

from codex_mcp.dashboard.thread.pictures import Pictures, kind_of, size_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WIDE = PNG[:16] + struct.pack(">II", 1000, 500) + PNG[24:]
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x10\x00\x20" + b"\0" * 20
GIF = b"GIF89a" + struct.pack("<HH", 7, 9) + b"\0" * 10
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0"


@pytest.mark.parametrize(
    ("body", "kind", "size"),
    [
        (PNG, "png", (1, 1)),
        (JPEG, "jpeg", (32, 16)),
        (GIF, "gif", (7, 9)),
        (WEBP, "webp", (10, 20)),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "", (0, 0)),
        (b"\x89PNG\r\n\x1a\n", "png", (0, 0)),
        (b"\xff\xd8\xff\xe0", "jpeg", (0, 0)),
    ],
)
def test_kinds_are_known_by_their_first_bytes(body: bytes, kind: str, size: tuple[int, int]) -> None:
    assert kind_of(body) == kind
    assert not kind or size_of(kind, body) == size


async def test_a_picture_is_served_while_it_is_the_one_that_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    path.write_bytes(WIDE)
    pictures = Pictures()
    await pictures.look([str(path)])
    shown = pictures.shown(str(path))
    assert shown is not None
    assert (shown.width, shown.height) == (320, 160)
    assert await pictures.read(shown.key, [str(path)]) == (b"image/png", WIDE)
    assert await pictures.read(shown.key, []) is None
    assert await pictures.read("another", [str(path)]) is None
    path.write_bytes(PNG)
    assert await pictures.read(shown.key, [str(path)]) is None


async def test_what_is_no_picture_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "text.png").write_text("<svg/>")
    paths = [str(tmp_path / "pipe.png"), str(tmp_path / "text.png"), str(tmp_path / "none.png"), "relative.png", "\0"]
    pictures = Pictures()
    await pictures.look(paths)
    assert [pictures.shown(path) for path in paths] == [None] * len(paths)
    assert pictures.unknown(paths) == []
