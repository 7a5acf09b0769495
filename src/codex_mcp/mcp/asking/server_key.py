"""The key that seals what clients carry for us. It is kept, so that a restarted server knows its own seals again."""

from __future__ import annotations

import os
import secrets
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private_folder, read_if_there, write_whole
from codex_mcp.mcp.asking.seal import KEY_BYTES

KEY_FILE: Final = os.path.join("codex-mcp", "server.key")


def server_key(codex_home: str) -> bytes:
    """The key of servers with this home; made at the first use, readable by its owner alone. Raises Refused."""
    path = os.path.join(codex_home, KEY_FILE)
    try:
        return _kept(path)
    except OSError as exc:
        raise Refused(
            f"cannot keep the server's key in {path}: {exc.strerror}; fix that, or name another folder by --codex-home"
        ) from exc


def _kept(path: str) -> bytes:
    key = read_if_there(path)
    if key is not None and len(key) == KEY_BYTES:
        return key
    make_private_folder(os.path.dirname(path))
    key = secrets.token_bytes(KEY_BYTES)
    write_whole(path, key)
    return key
