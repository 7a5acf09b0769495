"""Files in a home folder that belong to another user: most often to root, after a `sudo` that should not have been."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex


def chown_advice(path: str, home: str, uid: int | None = None) -> str:
    """The command that makes this file or folder the user's; empty if nothing of the path below `home` is another's."""
    mine = os.geteuid() if uid is None else uid
    inside = os.path.relpath(path, home)
    if inside.startswith(".."):
        return ""
    place = home
    for name in inside.split("/"):
        place = os.path.join(place, name)
        with contextlib.suppress(OSError):
            if os.lstat(place).st_uid != mine:
                return f"sudo chown -R {_name(mine)} {shlex.quote(place)}"
    return ""


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
