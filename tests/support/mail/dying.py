"""A process that is killed at a chosen step: `python -m tests.support.mail.dying SCENE FOLDER [REPEATED]`.

It runs a scene once for every step at which it can die: before each call that changes a file, and before each statement
that changes the database. Each run happens in a fork, in a folder `run-N` of its own, and ends with SIGKILL at step N;
the last run ends by itself. With REPEATED, each folder sees a second run that dies at another step.
"""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from codex_mcp.mail.files import exchange
from tests.support.mail.scenes import SCENES

CALLS = ("open", "write", "ftruncate", "fsync", "mkdir", "rmdir", "rename", "link", "unlink")
EXCHANGE = "_exchange"
"""The function that puts a draft in the place of a file, in one system call."""
READING = ("PRAGMA", "SELECT", "CREATE", "BEGIN")
FINISHED = 0


def changes_nothing(name: str, arguments: Sequence[object]) -> bool:
    """Whether a call leaves the disk as it was; the flags of a file, or the statement, are the second argument.

    Who dies before such a call leaves the same as who dies before the next step.
    """
    argument = arguments[1] if len(arguments) > 1 else None
    if name == "open" and isinstance(argument, int):
        return not argument & (os.O_CREAT | os.O_TRUNC)
    return isinstance(argument, str) and argument.startswith(READING)


class Steps:
    """Counts steps, and kills this process at one of them."""

    def __init__(self, deadly: int) -> None:
        self._left = deadly

    def step(self) -> None:
        """One step."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call with a step before it. The step after it is the next one's."""

        def stepping(*args: Any, **kwargs: Any) -> Any:
            if not changes_nothing(call.__name__, args):
                self.step()
            return call(*args, **kwargs)

        return stepping


def arm(steps: Steps) -> None:
    """From now on this process takes steps."""
    for name in CALLS:
        setattr(os, name, steps.before(getattr(os, name)))
    setattr(exchange, EXCHANGE, steps.before(getattr(exchange, EXCHANGE)))

    class Connection(sqlite3.Connection):
        execute = steps.before(sqlite3.Connection.execute)
        executemany = steps.before(sqlite3.Connection.executemany)

    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **kwargs: connect(*args, **kwargs, factory=Connection)  # type: ignore[assignment]


def run(scene: Callable[[Path], Awaitable[None]], folder: Path, deadly: int) -> bool:
    """Run a scene in a fork that dies at this step; False if it came to its end before."""
    pid = os.fork()
    if pid == 0:
        arm(Steps(deadly))
        asyncio.run(_awaited(scene(folder)))
        os._exit(FINISHED)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == FINISHED
    return False


async def _awaited(scene: Awaitable[None]) -> None:
    await scene


def main() -> None:
    """All runs."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    prepare, scene, recover = SCENES[name]
    number, has_died = 0, True
    while has_died:
        number += 1
        place = folder / f"run-{number:03}"
        place.mkdir()
        prepare(place)
        has_died = run(scene, place, number)
        if len(sys.argv) > 3 and has_died:
            recover(place)
            run(scene, place, number * 7 % 20 + 1)
    sys.stdout.write(f"{number}\n")


if __name__ == "__main__":
    main()
