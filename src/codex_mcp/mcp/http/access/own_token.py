"""The token that a server makes for itself, in a file that its user alone can read; it is the same after a restart."""

from __future__ import annotations

import os
import secrets
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private, make_private_folder, read_if_there, write_whole

TOKEN_FILE: Final = os.path.join("codex-mcp", "token")

TOKEN_BYTES: Final = 32


def token_path(codex_home: str) -> str:
    """Where it is kept."""
    return os.path.join(codex_home, TOKEN_FILE)


def own_token(codex_home: str) -> str:
    """The token of servers with this home; made at the first use. Raises Refused."""
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
        raise Refused(f"cannot keep the server's token in {path}: {exc.strerror}; check its permissions") from exc
    return token
