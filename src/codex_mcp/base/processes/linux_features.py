"""Whether this system has the features of Linux that the exec-server needs."""

from __future__ import annotations

import os
from typing import Final

from codex_mcp.base.errors import Refused

NEEDED: Final = ("pidfd_open", "memfd_create", "O_PATH")
"""To signal a process without mistaking another for it, and to pin files that a sandbox mounts."""


def check_linux() -> None:
    """Raise Refused if this system lacks one of NEEDED."""
    missing = [name for name in NEEDED if not hasattr(os, name)]
    if missing:
        raise Refused(
            f"cannot run an exec-server here: this system lacks {', '.join(missing)}; use Linux, also in a container, "
            "a virtual machine or WSL 2"
        )
