"""Remembers what came of trying a Codex on this machine, in a file of Codex's home.

A verdict belongs to one file: it counts until the file, or codex-mcp, changes. If only the file's place or time has
changed, its hash shows that it is the same Codex (`same_as_before`). A script can start another Codex than before, so
a verdict also belongs to the version that was found.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from codex_mcp import __version__
from codex_mcp.base.files import make_private_folder, read_if_there, write_whole
from codex_mcp.base.locks import locked
from codex_mcp.codex.versions.verdict import Identity, Verdict

FILE: Final = os.path.join("codex-mcp", "tried-codex.json")
LOCK: Final = os.path.join("codex-mcp", "tried-codex.lock")

KEPT: Final = 20
"""Verdicts, the newest. A new one comes with each release of Codex."""


def identity_of(path: str) -> Identity:
    """Raises OSError."""
    found = os.stat(path)
    return Identity(os.path.realpath(path), found.st_size, found.st_ctime_ns, found.st_ino)


def verdict_on(path: str, codex_home: str, version: str | None = None) -> Verdict | None:
    """What came of trying this file; None if it has not been tried, or was of another version than this one then."""
    try:
        identity = identity_of(path)
    except OSError:
        return None
    found = next((each for each in _all(codex_home) if each.identity == identity), None)
    return None if found is not None and version not in (None, found.version) else found


def same_as_before(identity: Identity, sha256: str, version: str, codex_home: str) -> Verdict | None:
    """The verdict on another file with the same contents and version, as one on this file."""
    found = next((each for each in _all(codex_home) if (each.sha256, each.version) == (sha256, version)), None)
    return None if found is None else replace(found, identity=identity)


@contextlib.contextmanager
def trying_alone(codex_home: str, patience: float) -> Iterator[None]:
    """Within this block no other process tries a Codex in this home: many servers start at once, and trials that run
    at once take each other's time. Blocks. Raises OSError."""
    path = os.path.join(codex_home, LOCK)
    make_private_folder(os.path.dirname(path))
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path, patience))
        except TimeoutError:
            raise
        except OSError:  # a file system without locks
            pass
        yield


def record(verdict: Verdict, codex_home: str) -> None:
    """Raises OSError."""
    path = os.path.join(codex_home, FILE)
    make_private_folder(os.path.dirname(path))
    others = [each for each in _all(codex_home) if each.identity.path != verdict.identity.path]
    write_whole(path, msgspec.json.encode([verdict, *others][:KEPT]))


def _all(codex_home: str) -> list[Verdict]:
    """The verdicts of this version of codex-mcp, the newest first. A file that cannot be read counts as empty."""
    try:
        data = read_if_there(os.path.join(codex_home, FILE))
        verdicts = [] if data is None else msgspec.json.decode(data, type=list[Verdict])
    except (OSError, msgspec.MsgspecError):
        return []
    return [each for each in verdicts if each.by == __version__]
