"""A server that is killed at a chosen step of its mail: `python -m tests.support.team.dying_server serve ...`.

A step is a call that changes a file of the mail, a statement that changes its database, a message to the core, and a
message of the core, each just before it happens. Counting begins when the file that `DEADLY` names appears; it says at
which step the process kills itself (SIGKILL). The steps that were seen are added to `STEPS`.
"""

import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from codex_mcp.cli.main import main
from codex_mcp.mail.database import NAME
from codex_mcp.mail.files import exchange
from codex_mcp.rpc.channel import Frame
from codex_mcp.rpc.peer import Peer
from codex_mcp.transports.child import Child
from tests.support.mail.dying import CALLS, EXCHANGE, changes_nothing

DEADLY, STEPS = "DEADLY_STEP", "STEPS_SEEN"

MAIL_FOLDER = "/.claude/teams/"

write, open_file, is_file, link_target = os.write, os.open, os.path.exists, os.readlink


class Steps:
    """Counts steps once it is armed, and kills this process at one of them."""

    def __init__(self, deadly: str, log: str) -> None:
        self._deadly = deadly
        self._log = open_file(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._left: int | None = None
        self._one_at_a_time = threading.Lock()

    def step(self, name: str) -> None:
        """One step is about to be taken."""
        with self._one_at_a_time:
            if self._left is None:
                if not is_file(self._deadly):
                    return
                self._left = int(Path(self._deadly).read_text())
            self._left -= 1
            write(self._log, f"{name}\n".encode())
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def before_call(self, module: ModuleType, name: str) -> Callable[..., Any]:
        """A function for files with a step before it, if it is about the mail."""
        call = getattr(module, name)

        def stepping(target: object, *args: Any, **kwargs: Any) -> Any:
            if MAIL_FOLDER in _path(target) and not changes_nothing(name, (target, *args)):
                self.step(name)
            return call(target, *args, **kwargs)

        return stepping

    def before_statement(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a connection with a step before it."""

        def stepping(connection: object, statement: str, *args: Any) -> Any:
            if not changes_nothing("execute", (connection, statement)):
                self.step(" ".join(statement.split()[:4]))
            return execute(connection, statement, *args)

        return stepping


def _path(target: object) -> str:
    if isinstance(target, int):
        return link_target(f"/proc/self/fd/{target}")
    return str(target)


def arm_files(steps: Steps) -> None:
    """Steps for the files of the mail."""
    for module, name in [*((os, name) for name in CALLS), (exchange, EXCHANGE)]:
        setattr(module, name, steps.before_call(module, name))


def arm_database(steps: Steps) -> None:
    """Steps for the database of the mail."""

    class Connection(sqlite3.Connection):
        execute = steps.before_statement(sqlite3.Connection.execute)
        executemany = steps.before_statement(sqlite3.Connection.executemany)

    connect = sqlite3.connect

    def connected(path: str, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        more = {"factory": Connection} if Path(path).name == NAME else {}
        return connect(path, *args, **kwargs, **more)  # type: ignore[call-overload, no-any-return]

    sqlite3.connect = connected  # type: ignore[assignment]


def arm_core(steps: Steps) -> None:
    """Steps for what is said to the core, and for each message of the core before it is read."""
    send, received = Child.send, Peer.frame_received

    def sent(child: Child, frame: bytes, *args: Any) -> None:
        steps.step(f"to core: {_method(frame)}")
        send(child, frame, *args)

    def stepped(peer: Peer, frame: Frame) -> Awaitable[object] | None:
        if isinstance(peer._channel, Child):
            steps.step(f"from core: {_method(frame)}")
        return received(peer, frame)

    Child.send, Peer.frame_received = sent, stepped  # type: ignore[assignment, method-assign]


def _method(frame: Frame) -> str:
    return str(msgspec.json.decode(frame).get("method", "an answer")) if isinstance(frame, bytes) else "a message"


if __name__ == "__main__":
    taken = Steps(os.environ[DEADLY], os.environ[STEPS])
    for arm in (arm_files, arm_database, arm_core):
        arm(taken)
    sys.exit(main())
