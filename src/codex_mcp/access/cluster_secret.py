"""The secret of a cluster, in a file that only its user can read."""

from __future__ import annotations

import os

from codex_mcp.access.cluster import SHORTEST, key_of
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import opened

LONGEST = 4096


def cluster_key(path: str) -> bytes:
    """Raises Refused."""
    try:
        with opened(path) as file:
            secret = file.read(LONGEST + 1)
            is_open = os.fstat(file.fileno()).st_mode & 0o077
    except OSError as exc:
        raise Refused(f"cannot read the cluster secret {path}: {exc.strerror or exc}; correct cluster_secret") from exc
    if is_open:
        raise Refused(f"cannot use the cluster secret {path}: other users can read it; run `chmod 600 {path}`")
    if not SHORTEST <= len(secret.strip()) <= LONGEST:
        raise Refused(
            f"cannot use the cluster secret {path}: it must have {SHORTEST} to {LONGEST} bytes; make one with "
            "`openssl rand -hex 32`, and copy it to all servers"
        )
    return key_of(secret)
