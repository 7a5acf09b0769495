"""The records of worktrees, one file each, in the folder where the worktrees are. Blocks."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Final

import msgspec

from codex_mcp.base.files import make_private_folder, read_if_there, remove_drafts, sync_folder, write_whole
from codex_mcp.git.worktree import Worktree

logger = logging.getLogger(__name__)

FOLDER: Final = ".worktrees"
"""In the state folder. No agent can have this name, so no summary is looked for in it."""

SUFFIX: Final = ".json"


def folder_of(state_dir: str) -> str:
    return os.path.join(state_dir, FOLDER)


def write_record(worktree: Worktree) -> None:
    """Raises OSError."""
    make_private_folder(os.path.dirname(worktree.record))
    write_whole(worktree.record + SUFFIX, msgspec.json.encode(worktree))


def delete_record(worktree: Worktree) -> None:
    remove_drafts(worktree.record + SUFFIX)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(worktree.record + SUFFIX)
        sync_folder(os.path.dirname(worktree.record))


def read_record(path: str) -> Worktree | None:
    """The record of the worktree at this path; None without one. One that cannot be read is logged."""
    try:
        data = read_if_there(path + SUFFIX)
        return None if data is None else msgspec.json.decode(data, type=Worktree)
    except (OSError, msgspec.MsgspecError) as exc:
        logger.warning("cannot read the record of the worktree %s: %s", path, exc)
        return None


def all_records(state_dir: str) -> list[Worktree]:
    return _records_in(folder_of(state_dir))


def beside(worktree: Worktree) -> list[Worktree]:
    """The records of all other worktrees in the same folder."""
    found = _records_in(os.path.dirname(worktree.record))
    return [each for each in found if each.record != worktree.record]


def _records_in(folder: str) -> list[Worktree]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = [os.path.join(folder, name.removesuffix(SUFFIX)) for name in names if name.endswith(SUFFIX)]
    return [record for path in paths if (record := read_record(path)) is not None]
