"""The server's own secrets, each in a file that only its user can read. Both survive a restart.

The key seals what clients carry for the server; the token lets clients in when the server generates it.
"""

from __future__ import annotations

import os
import secrets
from typing import Final

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private, make_private_folder, read_if_there, write_whole

KEY_FILE: Final = os.path.join("codex-mcp", "server.key")
TOKEN_FILE: Final = os.path.join("codex-mcp", "token")

TOKEN_BYTES: Final = 32


def server_key(codex_home: str) -> bytes:
    """The key of all servers with this home, created at first use. Raises Refused."""
    path = os.path.join(codex_home, KEY_FILE)
    try:
        key = read_if_there(path)
        if key is not None and len(key) == KEY_BYTES:
            return key
        make_private_folder(os.path.dirname(path))
        key = secrets.token_bytes(KEY_BYTES)
        write_whole(path, key)
    except OSError as exc:
        raise Refused(
            f"cannot store the server's key in {path}: {exc.strerror}; correct it, or choose another --codex-home"
        ) from exc
    return key


def token_path(codex_home: str) -> str:
    return os.path.join(codex_home, TOKEN_FILE)


def own_token(codex_home: str) -> str:
    """The generated token of all servers with this home, created at first use. Raises Refused."""
    path = token_path(codex_home)
    try:
        make_private_folder(os.path.dirname(path))
        make_private(path)
        kept = (read_if_there(path) or b"").decode("ascii", "replace").strip()
        if len(kept) >= TOKEN_BYTES:
            return kept
        token = secrets.token_urlsafe(TOKEN_BYTES)
        write_whole(path, f"{token}\n".encode())
    except OSError as exc:
        raise Refused(f"cannot store the server's token in {path}: {exc.strerror}; check its permissions") from exc
    return token


def secret_places(codex_home: str, *files: str | None) -> list[str]:
    """Existing paths with secrets of a server: our folder in Codex's home, once it has one, and these files."""
    names = [os.path.join(codex_home, name) for name in (KEY_FILE, TOKEN_FILE)]
    folders = {os.path.dirname(path) for path in names if os.path.exists(path)}
    found = [*folders, *(path for path in files if path is not None and os.path.exists(path))]
    return [os.path.realpath(path) for path in found]
