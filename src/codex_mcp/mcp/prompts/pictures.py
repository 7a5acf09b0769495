"""The images of a prompt: files beside it that its Markdown shows, `![a mock-up](mockup.png)`."""

from __future__ import annotations

import base64
import logging
import os
import re
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.files import read_regular

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 5 * 1024 * 1024
"""The longest image; models take no longer ones."""

MAX_IMAGES: Final = 8
"""Images of one prompt; more stay mere Markdown."""

KINDS: Final = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}

_SHOWN: Final = re.compile(r"!\[[^\]\n]{0,200}\]\(([\w.-]{1,128}\.(png|jpe?g|gif|webp))\)", re.IGNORECASE)


def pictures(folder: str, body: str) -> Iterator[dict[str, object]]:
    """The content blocks of the images. Blocks. A file that cannot be read is skipped, and so is a link elsewhere."""
    inside = os.path.realpath(folder) + os.sep
    names = list(dict.fromkeys(found.groups() for found in _SHOWN.finditer(body)))
    for name, suffix in names[:MAX_IMAGES]:
        path = os.path.realpath(os.path.join(folder, name))
        try:
            if path.startswith(inside):
                yield {"type": "image", "data": _read(path), "mimeType": KINDS[suffix.lower()]}
        except OSError as exc:
            logger.warning("skipped the image %s of a prompt: %s", path, exc.strerror)


def _read(path: str) -> str:
    return base64.b64encode(read_regular(path, MAX_BYTES, links=False)).decode()
