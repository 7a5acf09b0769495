"""The key that seals what clients carry for us. It is stored, so that seals stay valid after a restart."""

from __future__ import annotations

import os
import secrets
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private_folder, read_if_there, write_whole
from codex_mcp.mcp.seal import KEY_BYTES

KEY_FILE: Final = os.path.join("codex-mcp", "server.key")


def server_key(codex_home: str) -> bytes:
    """The key of servers with this Codex home; created at first use, readable by its owner only. Raises Refused."""
    path = os.path.join(codex_home, KEY_FILE)
    try:
        return _stored(path)
    except OSError as exc:
        raise Refused(
            f"cannot store the server's key in {path}: {exc.strerror}; correct it, or choose another --codex-home"
        ) from exc


def _stored(path: str) -> bytes:
    key = read_if_there(path)
    if key is not None and len(key) == KEY_BYTES:
        return key
    make_private_folder(os.path.dirname(path))
    key = secrets.token_bytes(KEY_BYTES)
    write_whole(path, key)
    return key
