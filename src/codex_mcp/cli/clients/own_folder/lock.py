"""One command at a time changes the files of clients: two that read a file at once would lose an entry."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import make_private_folder
from codex_mcp.base.locks import flocked
from codex_mcp.cli.clients.config_files import explained
from codex_mcp.cli.clients.known import Folders

PATIENCE: Final = 300.0
"""Seconds: many commands may wait, each for the disk."""


def own_folder(where: Folders) -> str:
    return f"{where.codex}/codex-mcp"


@contextlib.contextmanager
def one_at_a_time(where: Folders) -> Iterator[None]:
    """Hold the lock within this block. Raises Explained."""
    folder = own_folder(where)
    with explained("make the folder", folder):
        make_private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with flocked(descriptor, PATIENCE):
            yield
    except TimeoutError as exc:
        raise Explained(f"cannot change the files of your clients: {exc} of {folder}; end it, and try again") from exc
    finally:
        os.close(descriptor)
